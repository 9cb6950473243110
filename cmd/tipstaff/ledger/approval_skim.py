"""Ordinary lines of an approval store, taken into the fold by their form alone, which is several times as fast.

What is taken here is what ``read_event`` would take, to the byte; every other line is left to it. Texts with escapes,
large numbers and keys beyond ASCII are such others.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import from_json, to_json

from tipstaff.documents.base import INSTANT, KEY_PREFIX, SHA256
from tipstaff.documents.strict_json import MAX_DEPTH
from tipstaff.ledger.approval_fold import Fold

_MAX_INTEGER = 2**53 - 1
# Between these every reader and writer of JSON gives a number that is not whole the same digits.
_SMALLEST, _LARGEST = 1e-5, 1e15
_SIMPLE = {str, bool, type(None)}

_TEXT = r'"[^"\\\x00-\x1f]*"'
_NAME = r'"[^"\\\x00-\x1f]{1,256}"'
_TEXTS = rf"\[{_TEXT}(?:,{_TEXT})*\]"
_INSTANT = rf'"({INSTANT})"'
_KEY = rf'"((?:{KEY_PREFIX})?{SHA256})"'
_ACTOR = rf'\{{"id":{_NAME},"type":(?:"human"|"agent"|"ci"|null)\}}'
_before_evidence = re.compile(
    rf'\{{"alternatives":{_TEXTS},"bundle_revision":{_TEXT},"confirm_within_s":[1-9]\d{{0,14}}'
    rf',"confirmations":([12]),"created_at":{_INSTANT},"decision_id":{_NAME}'
    rf',"digest":"({SHA256})","event":"request","evidence":',
    re.ASCII,
).match
_AFTER = ',"expires_at":"'
_after_evidence = re.compile(
    rf',"expires_at":{_INSTANT},"key":{_KEY},"kind":{_TEXT},"requested_by":{_ACTOR},"risk":{_TEXT}'
    rf',"schema_version":1,"urgency":"(?:immediate|normal|low)","what":{_TEXT},"why":{_TEXTS}\}}',
    re.ASCII,
).fullmatch
_decision = re.compile(
    rf'\{{"at":{_INSTANT},"by":(?:null|({_ACTOR})),"event":"decision","key":{_KEY}'
    rf',"mac":(?:null|"{SHA256}"),"note":(?:null|{_TEXT}),"schema_version":1'
    r',"status":"(approved|rejected|expired|consumed)"\}',
    re.ASCII,
).fullmatch


def skim(line: bytes, fold: Fold) -> bool:
    """Take the line, newline excluded, where it is surely a canonical event; whether it was.

    Raises ``ContractError`` as ``Fold.add`` does.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return False
    if found := _decision(text):
        at, by, key, status = found.groups()
        fold.decide(key, status, at, is_by=by is not None, line=line)
        return True
    before, cut = _before_evidence(text), text.rfind(_AFTER)
    after = _after_evidence(text, cut) if before and cut > 0 else None
    if before is None or after is None or not _is_canonical(text[before.end() : cut]):
        return False
    confirmations, created_at, digest = before.groups()
    expires_at, key = after.groups()
    fold.take_request(key, digest, (created_at, expires_at), int(confirmations), line)
    return True


def _is_canonical(text: str) -> bool:
    """Whether a text is surely the canonical form of one JSON object."""
    try:
        value = from_json(text)
    except ValueError:
        return False
    return type(value) is dict and _is_plain(value, 1) and to_json(value).decode() == text


def _is_plain(value: Any, depth: int) -> bool:
    """Whether every way of writing this in the order it has is the canonical one."""
    if depth > MAX_DEPTH:
        return False
    if type(value) is dict:
        names = list(value)
        if names != sorted(names) or not "".join(names).isascii():
            return False
        value = value.values()
    for item in value:
        kind = type(item)
        if kind in _SIMPLE:
            continue
        if kind is int:
            is_plain = -_MAX_INTEGER <= item <= _MAX_INTEGER
        elif kind is float:
            is_plain = not item.is_integer() and _SMALLEST < abs(item) < _LARGEST
        else:
            is_plain = _is_plain(item, depth + 1)
        if not is_plain:
            return False
    return True
