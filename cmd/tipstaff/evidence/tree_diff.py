"""What differs between two trees, as git's plumbing says it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tipstaff.errors import EvidenceError

RAW = ("diff-tree", "-r", "-z", "--raw", "-M", "-l1000", "--no-abbrev", "--ignore-submodules=none")
LINES = (
    *("diff-tree", "-r", "-p", "-U0", "--inter-hunk-context=0", "-M", "-l1000", "--minimal"),
    *("--text", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
ABSENT = "000000"
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class RawChange:
    """One path that differs: git's status letter, modes, object ids, path, and the old path of a rename."""

    status: str
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str
    path: bytes
    old_path: bytes | None = None


@dataclass(frozen=True)
class LineChange:
    """How many lines a file lost, and the numbers (from 1) of the lines that it gained."""

    removed: int
    added: tuple[int, ...]


def parse_raw(out: bytes) -> list[RawChange]:
    """The changes in the output of ``RAW``."""
    fields = iter(out.split(b"\0")[:-1])
    changes = []
    for facts in fields:
        old_mode, new_mode, old_oid, new_oid, status = facts.decode("ascii").lstrip(":").split(" ")
        first = next(fields)
        if status[0] in "RC":
            modes = (status[0], old_mode, new_mode, old_oid, new_oid)
            changes.append(RawChange(*modes, path=next(fields), old_path=first))
        else:
            changes.append(RawChange(status[0], old_mode, new_mode, old_oid, new_oid, first))
    return changes


def parse_lines(out: bytes) -> list[LineChange]:
    """The line changes in the output of ``LINES``, in git's order: that of ``RAW``."""
    lines = out.split(b"\n")
    position = 0
    found: list[tuple[list[int], list[int]]] = []
    while position < len(lines):
        hunk = _HUNK.match(lines[position])
        if lines[position].startswith(b"diff --git "):
            found.append(([], []))
        elif hunk and found:
            old, start, new = (1 if part is None else int(part) for part in hunk.groups())
            found[-1][0].append(old)
            found[-1][1].extend(range(start, start + new))
            position += _body(lines, position + 1, old + new)
        position += 1
    return [LineChange(sum(removed), tuple(added)) for removed, added in found]


def _body(lines: list[bytes], position: int, count: int) -> int:
    start = position
    while count:
        if position >= len(lines):
            raise EvidenceError(
                "git.output",
                "git's own diff ends inside a hunk",
                fix="run git fsck, then try again",
            )
        count -= not lines[position].startswith(b"\\")
        position += 1
    return position - start
