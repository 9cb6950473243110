"""The walk along a trail's lines that every reader shares: contents, order, links, anchors and torn regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, BinaryIO

from tipstaff.errors import ContractError
from tipstaff.ledger.record import MAX_LINE, ZERO_HASH, Link, read_link, read_record


@dataclass(frozen=True)
class Problem:
    """Something wrong with a trail. ``line`` counts from 1, ``seq`` is the one that belongs there; 0 means none."""

    line: int
    seq: int
    code: str
    message: str


@dataclass
class Region:
    """Bytes that are no record: from which line, how many, and their hash."""

    line: int
    size: int = 0
    contents: Any = field(default_factory=sha256)

    def take(self, data: bytes) -> None:
        """Add bytes to the region."""
        self.size += len(data)
        self.contents.update(data)

    def detail(self) -> dict[str, Any]:
        """The region as the detail of a ``torn-tail`` record. The newline that ends it is not part of it."""
        return {"bytes": self.size, "line": self.line, "sha256": self.contents.hexdigest()}


class Chain:
    """Feed it lines in order; it collects problems and knows the head.

    ``anchors`` are hashes known to belong to a ``seq``. Lines beyond ``trusted`` must also be canonical and valid
    against the record's model; for the others the chain to a signed head proves the same. Lines are counted from where
    it starts, and only where that is the whole file's first one (``is_whole``) must a torn region's line number fit.
    """

    def __init__(
        self,
        *,
        seq: int = 0,
        head: str = ZERO_HASH,
        is_whole: bool = True,
        anchors: Mapping[int, str] | None = None,
        trusted: int = 0,
    ) -> None:
        self.seq, self.hash, self.line = seq, head, 0
        self.records = 0
        self.good_bytes = 0
        self.problems: list[Problem] = []
        self.region: Region | None = None
        self._anchors = anchors or {}
        self._trusted = trusted
        self._bytes = 0
        self._record_line = 0
        self._is_whole = is_whole
        self._after_damage = False
        self._doubt: tuple[Problem, Problem, str] | None = None

    def feed(self, line: bytes) -> bool:
        """Take one line with its newline; whether it is a record."""
        self.line += 1
        self._bytes += len(line)
        link = read_link(line)
        if link is None:
            self._malformed(line)
            return False
        if self.region is not None:
            self._close_region(line, link)
        self._settle(link)
        complaint = self._complaint(line, link)
        if complaint is not None:
            self.problems.append(complaint)
        self._after_damage = complaint is not None
        self.seq, self.hash = link.seq, link.hash
        self._record_line = self.line
        self.records += 1
        self.good_bytes = self._bytes
        return True

    def finish(self, torn: bytes = b"") -> None:
        """Take what follows the last newline, and settle what is still open."""
        if torn:
            self.tear(torn)
            assert self.region is not None  # noqa: S101  tear() opens one
            message = f"{self.region.size} bytes of an unfinished record end the file"
            self._report(self.region.line, "trail.torn", message)
        elif self.region is not None:
            self._report(self.region.line, "trail.malformed", "not a record")
        self.region = None

    def tear(self, torn: bytes) -> None:
        """Take bytes that no newline ends into the open region, or a new one."""
        if self.region is None:
            self.region = Region(self.line + 1)
        else:
            torn = b"\n" + torn
        self.region.take(torn)

    def _complaint(self, line: bytes, link: Link) -> Problem | None:
        due = self.seq + 1
        if not link.intact:
            return self._problem("trail.altered", "the contents don't have the hash they claim")
        if not self._after_damage:
            if link.seq > due:
                return self._problem("trail.order", f"record {due} is missing; {link.seq} follows")
            if link.seq < due:
                return self._problem("trail.order", f"record {link.seq} stands out of order")
            if link.prev != self.hash:
                return self._unlinked(link)
        anchor = self._anchors.get(link.seq)
        if anchor is not None and anchor != link.hash:
            message = "the witness saw another record here: it or an earlier one was rewritten"
            return self._problem("trail.rewritten", message)
        if link.seq > self._trusted:
            try:
                read_record(line)
            except ContractError as error:
                return self._problem("trail.malformed", error.message)
        return None

    def _unlinked(self, link: Link) -> Problem:
        if link.seq == 1:
            return self._problem("trail.order", "the first record follows another one")
        earlier = f"altered: record {link.seq} was chained to other contents"
        blamed = Problem(self._record_line, link.seq - 1, "trail.altered", earlier)
        here = self._problem("trail.altered", f"chained to another record than {link.seq - 1}")
        if self._anchors.get(link.seq, link.hash) != link.hash:
            return here
        self._doubt = (blamed, here, link.hash)
        return blamed

    def _settle(self, link: Link) -> None:
        """Of two records that do not fit, the later one was altered if its own successor does not fit it either."""
        if self._doubt is None:
            return
        blamed, here, expected = self._doubt
        self._doubt = None
        if link.prev != expected and blamed in self.problems:
            self.problems[self.problems.index(blamed)] = here

    def _malformed(self, line: bytes) -> None:
        if self.region is None:
            self.region = Region(self.line)
            self.region.take(line[:-1])
        else:
            self.region.take(b"\n" + line[:-1])

    def _close_region(self, line: bytes, link: Link) -> None:
        region, self.region = self.region, None
        if region is None or (link.intact and self._tells_of(region, line)):
            return
        self._report(region.line, "trail.malformed", "not a record")
        self._after_damage = True

    def _tells_of(self, region: Region, line: bytes) -> bool:
        try:
            record = read_record(line)
        except ContractError:
            return False
        told, found = record.detail, region.detail()
        if not self._is_whole:
            found["line"] = told.get("line")
        return record.decision == "torn-tail" and told == found

    def _problem(self, code: str, message: str) -> Problem:
        return Problem(self.line, self.seq + 1, code, message)

    def _report(self, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(line, self.seq + 1, code, message))


def read_lines(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines in the next ``size`` bytes of a file, the last perhaps without its newline.

    A line longer than any record comes in pieces without one, and what follows the first piece is not read.
    """
    left = size
    while left > 0:
        line = file.readline(min(left, MAX_LINE + 1))
        if not line:
            return
        left -= len(line)
        yield line
        if not line.endswith(b"\n"):
            return
