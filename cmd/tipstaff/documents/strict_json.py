"""Reading and writing JSON so that every reader sees one value.

Reading refuses duplicate keys, keys that are not in normal form C, NaN and infinities, integers beyond 2**53 - 1, lone
surrogates, documents deeper than 64 levels or larger than 1 MiB, and anything after the document. Writing is RFC 8785
(JCS).
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from math import isinf
from pathlib import Path
from typing import Any, NoReturn
from unicodedata import is_normalized

import rfc8785
from pydantic_core import from_json

from tipstaff.errors import ContractError

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
_MAX_INTEGER = 2**53 - 1
_sorted_compact = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode
# A float or an integer of 16 digits (a clock time in a string is neither).
_delicate_number = re.compile(r"[:,\[](?<!\d:)-?(?:\d+[.e]|\d{16})").search
# Characters at which UTF-16 sorts unlike code points.
_delicate_character = re.compile(r"[\ud800-\U0010ffff]").search


def loads(
    data: bytes,
    *,
    file: str | None = None,
    max_bytes: int = MAX_BYTES,
    any_form: bool = False,
) -> Any:
    """Parse one JSON document strictly; raises ``ContractError`` with a code ``json.*``.

    ``any_form`` takes keys in any normal form, where they are somebody else's names and only looked at.
    """
    if len(data) > max_bytes:
        _refuse("json.too_large", f"larger than {max_bytes} bytes", file)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("json.encoding", f"not UTF-8 at byte {error.start}", file)
    if text.startswith("\ufeff"):
        _refuse("json.encoding", "starts with a byte order mark", file)

    try:
        value = json.loads(
            text,
            object_pairs_hook=partial(_pairs, file, any_form),
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_real,
        )
    except json.JSONDecodeError as error:
        _refuse("json.syntax", f"{error.msg} at line {error.lineno} column {error.colno}", file)
    except RecursionError:
        _refuse("json.too_deep", f"nested deeper than {MAX_DEPTH} levels", file)
    try:
        _check(value, 1, file)
    except _WrongNumber as wrong:
        _refuse("json.number", str(wrong), file, field=_place(value, wrong))
    return value


def load(path: Path, *, max_bytes: int = MAX_BYTES, any_form: bool = False) -> Any:
    """Parse one file strictly; an unreadable file is a ``ContractError`` too."""
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        raise ContractError(
            "file.unreadable",
            error.strerror or str(error),
            file=str(path),
            fix="name a readable file",
        ) from error
    return loads(data, file=str(path), max_bytes=max_bytes, any_form=any_form)


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a JSON value."""
    quick = _quick(value)
    if quick is not None:
        return quick
    try:
        return bytes(rfc8785.dumps(value))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ContractError(
            "json.not_canonical", str(error), fix="use JSON values with integers below 2^53"
        ) from error


def joined(*parts: bytes) -> bytes:
    """The canonical bytes of one object with the members of these canonical objects.

    Each one's keys must sort behind all of the one before it.
    """
    return b"{" + b",".join(part[1:-1] for part in parts if part != b"{}") + b"}"


def digest(value: Any, *, domain: str) -> str:
    """SHA-256 over a domain tag and the canonical bytes, in lower-case hex."""
    return hashlib.sha256(domain.encode() + b"\0" + canonical(value)).hexdigest()


def _quick(value: Any) -> bytes | None:
    """The canonical bytes where the standard encoder is known to write the same, else None."""
    if not isinstance(value, dict):
        return None
    try:
        text = _sorted_compact(value)
        if _delicate_number(text) or not (text.isascii() or _delicate_character(text) is None):
            return None
        data = text.encode()
        return data if from_json(data) == value else None
    except (TypeError, ValueError, RecursionError):
        return None


def _pairs(file: str | None, any_form: bool, items: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(items)
    if len(result) != len(items):
        names = [key for key, _ in items]
        twice = next(name for name in names if names.count(name) > 1)
        _refuse("json.duplicate_key", "the key appears twice", file, field=twice)
    for name in () if any_form else result:
        if not (name.isascii() or is_normalized("NFC", name)):
            _refuse("json.encoding", "a key is not in Unicode's normal form C", file, field=name)
    return result


class _WrongNumber(Exception):
    """Stands in a document where a number is none, until it is known which member that is."""


def _constant(name: str) -> _WrongNumber:
    return _WrongNumber(f"{name} is not a JSON number")


def _integer(digits: str) -> int | _WrongNumber:
    if len(digits) > 17 or abs(int(digits)) > _MAX_INTEGER:
        return _WrongNumber(f"{digits[:20]} is beyond ±(2^53 - 1)")
    return int(digits)


def _real(digits: str) -> float | _WrongNumber:
    value = float(digits)
    is_nothing = value == 0 and any(digit in "123456789" for digit in digits.lower().split("e")[0])
    if isinf(value) or is_nothing:
        return _WrongNumber(f"{digits[:20]} is out of range")
    return value


def _place(value: Any, wrong: _WrongNumber) -> str | None:
    """The member that holds it, as ``modification.risk``; None where it is the whole document."""
    if not isinstance(value, dict | list):
        return None
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        if item is wrong:
            return str(name)
        if (below := _place(item, wrong)) is not None:
            return f"{name}.{below}"
    return None


def _check(value: Any, depth: int, file: str | None) -> None:
    if depth > MAX_DEPTH:
        _refuse("json.too_deep", f"nested deeper than {MAX_DEPTH} levels", file)
    if isinstance(value, dict):
        for key, item in value.items():
            _check(key, depth, file)
            _check(item, depth + 1, file)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth + 1, file)
    elif isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            _refuse("json.encoding", "a string holds a lone surrogate", file)
    elif isinstance(value, _WrongNumber):
        raise value


def _refuse(code: str, message: str, file: str | None, *, field: str | None = None) -> NoReturn:
    raise ContractError(
        code, message, file=file, field=field, fix="write one plain JSON document in UTF-8"
    )
