"""What somebody may do to a trail's file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from random import Random

import rfc8785


def rechained(lines: list[bytes], start: int) -> list[bytes]:
    """The lines with everything from index ``start`` on chained anew."""
    done = lines[:start]
    prev = json.loads(lines[start - 1])["hash"] if start else "0" * 64
    for line in lines[start:]:
        value = json.loads(line)
        del value["hash"]
        value["prev"], value["seq"] = prev, len(done) + 1
        prev = hashlib.sha256(rfc8785.dumps(value)).hexdigest()
        done.append(rfc8785.dumps({**value, "hash": prev}) + b"\n")
    return done


def rehashed(line: bytes, **changes: object) -> bytes:
    """One line with other contents and the hash that fits them."""
    value = {**json.loads(line), **changes}
    del value["hash"]
    value["hash"] = hashlib.sha256(rfc8785.dumps(value)).hexdigest()
    return rfc8785.dumps(value) + b"\n"


def _delete(lines: list[bytes], index: int) -> tuple[list[bytes], int]:
    return [*lines[:index], *lines[index + 1 :]], index + 1


def _double(lines: list[bytes], index: int) -> tuple[list[bytes], int]:
    return [*lines[: index + 1], *lines[index:]], index + 2


def _swap(lines: list[bytes], index: int) -> tuple[list[bytes], int]:
    return [*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]], index + 1


def _insert(lines: list[bytes], index: int) -> tuple[list[bytes], int]:
    new = rehashed(lines[index], target="inserted")
    return [*lines[: index + 1], new, *lines[index + 1 :]], index + 2


def _edit(lines: list[bytes], index: int) -> tuple[list[bytes], int]:
    return [*lines[:index], rehashed(lines[index], target="edited"), *lines[index + 1 :]], index + 1


def _relink(lines: list[bytes], index: int) -> tuple[list[bytes], int]:
    return [*lines[:index], rehashed(lines[index], prev="7" * 64), *lines[index + 1 :]], index + 1


def _move(lines: list[bytes], index: int) -> tuple[list[bytes], int]:
    rest = [*lines[:index], *lines[index + 1 :]]
    return [*rest, lines[index]], index + 1


Edit = Callable[[list[bytes], int], tuple[list[bytes], int]]
# Each gives the edited lines and the first line that no longer holds, counted from 1.
EDITS: dict[str, Edit] = {
    "delete": _delete,
    "double": _double,
    "swap": _swap,
    "insert": _insert,
    "edit": _edit,
    "relink": _relink,
    "move": _move,
}


def flipped(data: bytes, dice: Random) -> tuple[bytes, int]:
    """The bytes with one bit flipped, and in which line."""
    offset, bit = dice.randrange(len(data)), dice.randrange(8)
    changed = bytearray(data)
    changed[offset] ^= 1 << bit
    return bytes(changed), data.count(b"\n", 0, offset) + 1
