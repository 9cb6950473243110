"""Blocks marked in a Markdown file, found line by line; what stands between the markers is data and stays bytes.

A marker is an HTML comment alone on its line, outside fenced and indented code::

    <!-- tipstaff:block id=count-words class=deterministic-candidate confidence=0.90 -->
    …
    <!-- /tipstaff:block -->

A line that looks like a marker and is none is an error, so that no block gets lost by a slip.
"""

from __future__ import annotations

import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from tipstaff.errors import ContractError
from tipstaff.healing.augment.fences import Fences

CLASSES = ("deterministic-candidate", "judgment-required", "script")
END = "<!-- /tipstaff:block -->"
MAX_BYTES = 1 << 20
_MENTION = re.compile(r"<!--\s*(?:/\s*)?tipstaff\b", re.IGNORECASE)
_START = re.compile(r"<!-- tipstaff:block((?: [^\s=]+=[^\s=]+)*) -->")
_TICKS = re.compile(r"`+")
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_CONFIDENCE = re.compile(r"0\.[0-9]{1,3}|1\.0{1,3}|[01]")
_KEYS = ("id", "class", "confidence")


@dataclass(frozen=True)
class Block:
    """One block: the lines of its markers, counted from 1, what its marker says, and the bytes in it and around it.

    ``confidence_permille`` is None where none is stated. ``text`` is the whole file, and ``places`` are where in it
    each marker begins and ends.
    """

    id: str
    class_: str
    confidence_permille: int | None
    first_line: int
    last_line: int
    text: bytes = field(repr=False)
    places: tuple[int, int, int, int]

    @property
    def before(self) -> bytes:
        """What stands above the block."""
        return self.text[: self.places[0]]

    @property
    def start(self) -> bytes:
        """The line of its first marker."""
        return self.text[self.places[0] : self.places[1]]

    @property
    def prose(self) -> bytes:
        """What stands between the markers."""
        return self.text[self.places[1] : self.places[2]]

    @property
    def end(self) -> bytes:
        """The line of its last marker."""
        return self.text[self.places[2] : self.places[3]]

    @property
    def after(self) -> bytes:
        """What stands below the block."""
        return self.text[self.places[3] :]

    @property
    def prose_sha256(self) -> str:
        """The digest of the prose between the markers, byte for byte."""
        return hashlib.sha256(self.prose).hexdigest()

    @property
    def outside_sha256(self) -> str:
        """The digest of the file without the block and its markers."""
        around = (hashlib.sha256(part).digest() for part in (self.before, self.after))
        return hashlib.sha256(b"".join(around)).hexdigest()


def scan(data: bytes, *, file: str) -> list[Block]:
    """The blocks of a file, in order.

    Raises ``ContractError`` (``augment.markers``, ``augment.skill``) with file, line and remedy for a marker that is
    malformed, unknown, unclosed, nested or a duplicate, and for what is no text.
    """
    return _Scan(data, file).blocks()


@dataclass(frozen=True)
class _Marker:
    line: int
    begins: int
    ends: int
    values: Mapping[str, str] | None


class _Scan:
    def __init__(self, data: bytes, file: str) -> None:
        self._data = data
        self._file = file

    def blocks(self) -> list[Block]:
        found: dict[str, Block] = {}
        opened: _Marker | None = None
        for marker in self._markers():
            if marker.values is not None:
                if opened is not None:
                    complaint = f"a block begins inside the block of line {opened.line}"
                    self._refuse(marker.line, complaint, f"end that one first, with {END}")
                opened = marker
                continue
            if opened is None:
                self._refuse(marker.line, "no block is open here", "remove the end, or add a start")
            block = self._block(opened, marker)
            if block.id in found:
                complaint = f"the id {block.id} is that of line {found[block.id].first_line}, too"
                self._refuse(block.first_line, complaint, "give each block an id of its own")
            found[block.id] = block
            opened = None
        if opened is not None:
            self._refuse(opened.line, "the block is not closed", f"put {END} on a line below")
        return list(found.values())

    def _markers(self) -> list[_Marker]:
        self._demand_text()
        found = []
        fences = Fences()
        hidden = False
        begins = 0
        for number, line in enumerate(self._data.split(b"\n"), start=1):
            ends = min(begins + len(line) + 1, len(self._data))
            if number == 1 and line.startswith(BOM_UTF8):
                begins = len(BOM_UTF8)
            text = self._data[begins:ends].decode("utf-8").removesuffix("\n").removesuffix("\r")
            if fences.cover(text):
                hidden = fences.is_open and (hidden or bool(_MENTION.search(text)))
            elif _MENTION.search(text) and _MENTION.search(_without_code(text)):
                found.append(_Marker(number, begins, ends, self._read(text.strip(" \t"), number)))
            begins = ends
        if hidden:
            fix = f"close it with {fences.mark}"
            self._refuse(
                fences.line, "a code fence is not closed, and hides a marker below it", fix
            )
        return found

    def _demand_text(self) -> None:
        file, complaint = self._file, None
        if len(self._data) > MAX_BYTES:
            complaint = f"larger than {MAX_BYTES} bytes"
        elif b"\0" in self._data:
            complaint = "contains a NUL byte"
        else:
            try:
                self._data.decode("utf-8")
            except UnicodeDecodeError as error:
                line = self._data.count(b"\n", 0, error.start) + 1
                file = f"{file}:{line}"
                complaint = f"not UTF-8 at byte {error.start}"
        if complaint is not None:
            fix = "name a Markdown file in UTF-8"
            raise ContractError("augment.skill", complaint, file=file, fix=fix)

    def _read(self, text: str, line: int) -> Mapping[str, str] | None:
        """What a starting marker says, or None for an end."""
        if text == END:
            return None
        match = _START.fullmatch(text)
        if match is None:
            fix = (
                "write <!-- tipstaff:block id=… class=… confidence=… --> "
                f"or {END}, alone on its line, or put it into a code span"
            )
            self._refuse(line, "it looks like a marker and is none", fix)
        values: dict[str, str] = {}
        for part in match[1].split():
            key, _, value = part.partition("=")
            if key not in _KEYS:
                self._refuse(line, f"{key!r} is unknown in a marker", f"use {', '.join(_KEYS)}")
            if key in values:
                self._refuse(line, f"{key} is given twice", "give it once")
            values[key] = value
        self._check(values, line)
        return values

    def _check(self, values: Mapping[str, str], line: int) -> None:
        if not _ID.fullmatch(values.get("id", "")):
            fix = "give id= of lower-case letters, digits and hyphens, at most 64"
            self._refuse(line, "the block has no proper id", fix)
        if values.get("class") not in CLASSES:
            said = f"{values['class']!r} is no class" if "class" in values else "no class is given"
            self._refuse(line, said, f"give class= as one of {', '.join(CLASSES)}")
        if "confidence" in values and not _CONFIDENCE.fullmatch(values["confidence"]):
            complaint = f"{values['confidence']!r} is no confidence"
            self._refuse(line, complaint, "write 0 to 1 with up to three decimals, such as 0.75")

    def _block(self, start: _Marker, end: _Marker) -> Block:
        prose = self._data[start.ends : end.begins]
        if not prose.strip():
            self._refuse(start.line, "the block is empty", "put its prose between the markers")
        values = start.values or {}
        return Block(
            id=values["id"],
            class_=values["class"],
            confidence_permille=_permille(values.get("confidence")),
            first_line=start.line,
            last_line=end.line,
            text=self._data,
            places=(start.begins, start.ends, end.begins, end.ends),
        )

    def _refuse(self, line: int, complaint: str, fix: str) -> NoReturn:
        raise ContractError("augment.markers", complaint, file=f"{self._file}:{line}", fix=fix)


def _permille(text: str | None) -> int | None:
    """A decimal of up to three places in thousandths; no float is made of it."""
    if text is None:
        return None
    whole, _, decimals = text.partition(".")
    return int(whole) * 1000 + int(decimals.ljust(3, "0"))


def _without_code(line: str) -> str:
    """A line without its code spans, in a time that grows with its length only."""
    ticks = [match.span() for match in _TICKS.finditer(line)]
    last = {end - begin: number for number, (begin, end) in enumerate(ticks)}
    kept, place, number = [], 0, 0
    while number < len(ticks):
        begin, end = ticks[number]
        closing = number
        if last[end - begin] > number:
            closing += 1
            while ticks[closing][1] - ticks[closing][0] != end - begin:
                closing += 1
            kept.append(line[place:begin])
            place = ticks[closing][1]
        number = closing + 1
    return "".join((*kept, line[place:]))
