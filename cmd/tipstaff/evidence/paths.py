"""Repository paths: their one spelling in documents, and the spellings that are refused.

Git's paths are bytes. In a document a path is its UTF-8 text, except that a backslash is written ``\\\\`` and each
byte that is not UTF-8 is written ``\\xNN``; so two paths never share one spelling, and nothing is lost.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")
# HFS+ ignores these code points when it compares names, so ".g<U+200C>it" opens ".git" there.
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT_FOLDER = re.compile(r"(?:\.git|git~\d+)[ .]*\Z")


def shown(path: bytes) -> str:
    """The document's spelling of a path of git's."""
    text = path.decode("utf-8", "surrogateescape").replace("\\", "\\\\")
    return "".join(_letter(character) for character in text)


def raw(path: str) -> bytes:
    """The bytes behind a document's spelling; the inverse of ``shown``."""
    plain = _ESCAPE.sub(_character, path)
    return plain.encode("utf-8", "surrogateescape")


def refusal(path: bytes) -> str | None:
    """Why no change may carry this path, or None if it may."""
    if path.startswith(b"/") or re.match(rb"[A-Za-z]:[\\/]", path):
        return "is an absolute path"
    if b"\0" in path:
        return "contains a NUL byte"
    for part in re.split(rb"[/\\]", path):
        if part == b"..":
            return "names .. (a folder above)"
        if is_git_folder(part):
            return "lies in a .git folder"
    if any(part in (b"", b".") for part in path.split(b"/")):
        return "has an empty or a . component"
    return None


def is_git_folder(name: bytes) -> bool:
    """Whether some file system opens git's own folder by this name."""
    text = _IGNORED.sub("", name.decode("utf-8", "surrogateescape")).casefold()
    return bool(_GIT_FOLDER.match(text.split(":")[0]))


def _letter(character: str) -> str:
    code = ord(character)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else character


def _character(match: re.Match[str]) -> str:
    return chr(0xDC00 + int(match[1], 16)) if match[1] else "\\"
