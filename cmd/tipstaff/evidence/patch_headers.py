"""The headers of a unified diff, read before git sees it.

The scan refuses what git would quietly repair (an absolute path loses its first component), and what no change may
hold. It decides no fact: ``diff.read`` takes those from the trees, and refuses a diff whose changed paths this scan
did not see. Lines inside a hunk are content and are never taken for headers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from tipstaff.errors import ContractError
from tipstaff.evidence import paths

MAX_BYTES = 8 << 20
MAX_FILES = 5000
MAX_BINARY_BYTES = 32 << 20
_REGULAR = frozenset({b"100644", b"100755", b"100664"})
_HUNK = re.compile(rb"@@ -\d{1,10}(?:,(\d{1,10}))? \+\d{1,10}(?:,(\d{1,10}))? @@")
_MODE = re.compile(rb"(old mode|new mode|new file mode|deleted file mode) ([0-7]+)\s*$")
_INDEX = re.compile(rb"(index) [0-9a-f]+\.\.[0-9a-f]+ ([0-7]+)\s*$")
_EXACT = re.compile(rb"(rename|copy) (?:from|to) (.*)$", re.DOTALL)
_BINARY = re.compile(rb"(?:literal|delta) (\d+)\s*$")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_STAMP = re.compile(rb"\s+\d{2,4}-\d\d-\d\d[ T].*$", re.DOTALL)
_LETTERS = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13}
_NULL = b"/dev/null"


@dataclass
class Headers:
    """What the headers name.

    ``prefixed`` are names as written in front of which folders may be stripped, ``exact`` those of renames and
    copies. ``pairs`` holds the rest of each ``diff --git`` line.
    """

    prefixed: set[bytes] = field(default_factory=set)
    exact: list[bytes] = field(default_factory=list)
    pairs: list[bytes] = field(default_factory=list)
    plain: int = 0

    def strips(self) -> tuple[int, ...]:
        """How many leading folders to cut; of two, both must agree if both apply."""
        renames = {b" ".join(pair) for pair in zip(self.exact[::2], self.exact[1::2], strict=False)}
        bare = all(pair in renames or _halves(pair, 0) for pair in self.pairs)
        if any(name.startswith((b"a/", b"b/")) for name in self.prefixed):
            return (1, 0) if bare and self.pairs else (1,)
        if not self.pairs:
            return (1, 0)
        return (0,) if bare else (1,)

    def covered(self, strip: int) -> frozenset[bytes]:
        """The paths that the headers name once ``strip`` folders are cut."""
        cut = {name.split(b"/", strip)[-1] for name in self.prefixed if name.count(b"/") >= strip}
        return frozenset(cut.union(self.exact))


def scan(diff: bytes) -> Headers:
    """Read the headers; raises ``ContractError`` (``diff.*``) naming what may not be, and where."""
    if len(diff) > MAX_BYTES:
        refuse("diff.too_large", f"larger than {MAX_BYTES} bytes", "split the diff")
    if not diff.strip():
        refuse("diff.empty", "the diff is empty", "make one with git diff")
    headers = Headers()
    lines = diff.split(b"\n")
    position = 0
    count = 0
    while position < len(lines):
        position += _step(headers, lines, position)
        count = max(len(headers.pairs), headers.plain)
        if count > MAX_FILES:
            refuse("diff.too_many_files", f"more than {MAX_FILES} files", "split the diff")
    if not count:
        refuse(
            "diff.not_a_diff",
            "no line of it starts a file's changes (diff --git, or --- and +++)",
            "give a unified diff, as git diff writes it",
        )
    return headers


def refuse(code: str, message: str, fix: str, *, path: bytes | None = None) -> NoReturn:
    """Raise the ``ContractError`` for something a diff may not hold."""
    raise ContractError(code, message, fix=fix, file=None if path is None else paths.shown(path))


def check_path(path: bytes) -> None:
    """Raise ``ContractError`` (``diff.path``) for a path that no change may carry."""
    why = paths.refusal(path)
    if why is not None:
        refuse(
            "diff.path",
            f"the path {paths.shown(path)!r} {why}",
            "name files by their path inside the repository only",
            path=path,
        )


def check_mode(mode: str, path: bytes) -> None:
    """Raise ``ContractError`` (``diff.mode``) for anything that is not a regular file."""
    if mode.encode() in _REGULAR:
        return
    kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(mode, "no regular file")
    where = f" {paths.shown(path)!r}" if path else ""
    refuse(
        "diff.mode",
        f"the diff makes or changes{where} mode {mode}, which is {kind}",
        "change regular files only; make links and submodules by hand",
        path=path or None,
    )


def _step(headers: Headers, lines: list[bytes], position: int) -> int:
    """Read one header, or one hunk whole; returns how many lines that took."""
    line = lines[position]
    hunk = _HUNK.match(line)
    if hunk:
        return 1 + _skip_hunk(lines, position + 1, *(int(part or 1) for part in hunk.groups()))
    if line.startswith(b"diff --git "):
        _pair(headers, line.removeprefix(b"diff --git ").rstrip(b"\r"))
    elif line.startswith(b"--- ") and lines[position + 1 : position + 2]:
        below = lines[position + 1]
        if below.startswith(b"+++ "):
            headers.plain += 1
            _name(headers, line[4:])
            _name(headers, below[4:])
            return 2
    else:
        _extended(headers, line)
    return 1


def _skip_hunk(lines: list[bytes], position: int, old: int, new: int) -> int:
    start = position
    while position < len(lines) and (old > 0 or new > 0):
        mark = lines[position][:1]
        if mark not in (b"+", b"-", b" ", b"\\", b"", b"\r"):
            break
        old -= mark not in (b"+", b"\\")
        new -= mark not in (b"-", b"\\")
        position += 1
    return position - start


def _extended(headers: Headers, line: bytes) -> None:
    mode = _MODE.match(line) or _INDEX.match(line)
    if mode and not (mode[1] == b"deleted file mode" and mode[2] == b"120000"):
        check_mode(mode[2].decode("ascii"), _latest(headers))
    size = _BINARY.match(line)
    if size and (len(size[1]) > 12 or int(size[1]) > MAX_BINARY_BYTES):
        message = f"a binary file of more than {MAX_BINARY_BYTES} bytes"
        refuse("diff.too_large", message, "commit it by hand", path=_latest(headers) or None)
    exact = _EXACT.match(line)
    if exact:
        name = _unquoted(exact[2].rstrip(b"\r"))
        check_path(name)
        headers.exact.append(name)


def _pair(headers: Headers, rest: bytes) -> None:
    headers.pairs.append(rest)
    first = _QUOTED.match(rest)
    last = re.search(rb' ("(?:[^"\\]|\\.)*")$', rest, re.DOTALL)
    if first:
        names = [_plain(first[1]), _unquoted(rest[first.end() + 1 :])]
    elif last:
        names = [rest[: last.start()], _unquoted(last[1])]
    else:
        names = list(_halves(rest, 0) or _halves(rest, 1) or ())
        names += [rest] if rest.startswith(b"/") else []
    for name in names:
        _keep(headers, name)


def _halves(rest: bytes, strip: int) -> tuple[bytes, bytes] | None:
    """Both names of an unquoted ``diff --git`` line, if they are equal once ``strip`` folders are cut."""
    middle = len(rest) // 2
    first, second = rest[:middle], rest[middle + 1 :]
    cut = [name.split(b"/", strip)[-1] for name in (first, second)]
    parted = rest[middle : middle + 1] == b" " and cut[0] == cut[1]
    return (first, second) if parted and first.count(b"/") >= strip else None


def _name(headers: Headers, text: bytes) -> None:
    text = text.removesuffix(b"\r")
    if text.startswith(b'"'):
        _keep(headers, _unquoted(text))
        return
    name = text.split(b"\t", 1)[0]
    _keep(headers, name)
    if _STAMP.search(name):
        _keep(headers, _STAMP.sub(b"", name))


def _keep(headers: Headers, name: bytes) -> None:
    if name != _NULL:
        check_path(name)
        headers.prefixed.add(name)


def _unquoted(text: bytes) -> bytes:
    match = _QUOTED.match(text)
    return _plain(match[1]) if match else text


def _plain(quoted: bytes) -> bytes:
    return _ESCAPE.sub(_letter, quoted)


def _letter(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return bytes([_LETTERS[code]]) if code in _LETTERS else code


def _latest(headers: Headers) -> bytes:
    if not headers.pairs:
        return b""
    half = _halves(headers.pairs[-1], 1) or _halves(headers.pairs[-1], 0)
    return half[1].split(b"/", 1)[-1] if half else b""
