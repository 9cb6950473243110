"""Looking at a trail from its end: where the witnessed record is, what the last one is, which line that is."""

from __future__ import annotations

import os

from tipstaff.documents.audit import Checkpoint
from tipstaff.errors import ContractError
from tipstaff.ledger.chain import Chain, read_lines
from tipstaff.ledger.record import MAX_LINE, read_link, read_record

__all__ = ["count_lines", "is_next", "last_seq", "locate", "read_lines"]

_BLOCK = 1 << 16


def locate(descriptor: int, size: int, anchor: Checkpoint) -> int | None:
    """The offset after the anchor's record, searched from the end; None where it is not there intact."""
    if anchor.seq == 0:
        return 0
    wanted = b'"hash":"' + anchor.hash.encode() + b'"'
    end = size
    while end > 0:
        found = _find_last(descriptor, wanted, end)
        if found is None:
            return None
        start, line = _line_around(descriptor, found, size)
        link = read_link(line)
        if link and link.intact and (link.seq, link.hash) == (anchor.seq, anchor.hash):
            return start + len(line)
        end = found
    return None


def last_seq(descriptor: int, size: int) -> int:
    """The ``seq`` of the last complete record, 0 where there is none."""
    end = size
    while (newline := _find_last(descriptor, b"\n", end)) is not None:
        _, line = _line_around(descriptor, newline, size)
        link = read_link(line)
        if link is not None:
            return link.seq
        end = newline
    return 0


def count_lines(descriptor: int, size: int) -> int:
    """How many lines end in the first ``size`` bytes."""
    lines = offset = 0
    while offset < size:
        block = os.pread(descriptor, min(1 << 20, size - offset), offset)
        if not block:
            break
        lines += block.count(b"\n")
        offset += len(block)
    return lines


def is_next(line: bytes, chain: Chain) -> bool:
    """Whether the line is a whole, valid record that continues the chain."""
    link = read_link(line)
    if link is None or not link.intact or (link.seq, link.prev) != (chain.seq + 1, chain.hash):
        return False
    try:
        read_record(line)
    except ContractError:
        return False
    return True


def _find_last(descriptor: int, wanted: bytes, end: int) -> int | None:
    """Where the last occurrence that starts before ``end`` and lies before it begins."""
    while end > 0:
        start = max(0, end - _BLOCK)
        block = os.pread(descriptor, end - start, start)
        found = block.rfind(wanted)
        if found >= 0:
            return start + found
        if start == 0:
            return None
        end = start + len(wanted) - 1
    return None


def _line_around(descriptor: int, offset: int, size: int) -> tuple[int, bytes]:
    """The line that the byte at ``offset`` belongs to, newline included, and where it starts."""
    before = _find_last(descriptor, b"\n", offset)
    start = 0 if before is None else before + 1
    block = os.pread(descriptor, min(MAX_LINE, size - start), start)
    end = block.find(b"\n")
    return start, block if end < 0 else block[: end + 1]
