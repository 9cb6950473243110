"""The bytes of a bundle file: exactly one sequence for one set of files.

The file is a gzipped tar that any OPA reads, in gzip's stored form (no compression), so that no byte of it is free:
whatever is not what ``pack`` writes is refused before anything in it is believed.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

MAX_BYTES = 32 << 20
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_BLOCK = 65535
_RECORD = 512


def pack(files: Mapping[str, bytes]) -> bytes:
    """The one file that holds these files; names are relative, with slashes."""
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            archive.addfile(entry, io.BytesIO(files[name]))
    return _store(buffer.getvalue())


def unpack(data: bytes) -> dict[str, bytes]:
    """The files in it; raises ``ValueError`` unless the bytes are exactly what ``pack`` makes of them."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    files = _entries(_restore(data))
    if pack(files) != data:
        raise ValueError("not in the one form that tipstaff writes")
    return files


def canonical(document: bytes) -> bytes:
    """A JSON document in the form that OPA hashes: sorted keys, no space, numbers as they are written."""
    value = json.loads(document, parse_int=_Number, parse_float=_Number)
    return _write(value).encode()


def pruned(document: bytes, *path: str) -> bytes:
    """A JSON object in its canonical form, without the member at a path of keys; raises ``KeyError`` without it."""
    value = json.loads(document, parse_int=_Number, parse_float=_Number)
    *above, last = path
    inner = value
    for key in above:
        inner = inner[key]
    del inner[last]
    return _write(value).encode()


class _Number(str):
    """The digits of a number, kept as written."""

    __slots__ = ()


def _write(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        members = (f"{_write(key)}:{_write(value[key])}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    # Go escapes these two separators in every string.
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _store(data: bytes) -> bytes:
    blocks = [data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK)]
    parts = [_GZIP_HEADER]
    for number, block in enumerate(blocks, start=1):
        is_last = number == len(blocks)
        parts += (struct.pack("<BHH", is_last, len(block), len(block) ^ 0xFFFF), block)
    parts.append(struct.pack("<II", zlib.crc32(data), len(data)))
    return b"".join(parts)


def _restore(data: bytes) -> bytes:
    place = len(_GZIP_HEADER)
    parts = []
    is_last = 0
    while not is_last:
        if place + 5 > len(data):
            raise ValueError("the file is cut short")
        is_last, size, _ = struct.unpack_from("<BHH", data, place)
        parts.append(data[place + 5 : place + 5 + size])
        place += 5 + size
    return b"".join(parts)


def _entries(data: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    place = 0
    while place + _RECORD <= len(data) and data[place]:
        header = data[place : place + _RECORD]
        prefix, name = header[345:500].rstrip(b"\0"), header[:100].rstrip(b"\0")
        size = int(header[124:135].decode("ascii"), 8)
        if size < 0 or place + _RECORD + size > len(data):
            raise ValueError("an entry's size is out of range")
        path = (prefix + b"/" + name if prefix else name).decode("utf-8")
        files[path] = data[place + _RECORD : place + _RECORD + size]
        place += _RECORD + -(-size // _RECORD) * _RECORD
    return files
