"""The files in which names are looked for: what the base commit holds of text that people wrote, of bounded size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tipstaff.documents.contract import SUFFIX
from tipstaff.evidence import extraction, paths
from tipstaff.evidence.repository import Repository

MAX_FILE_BYTES = 1 << 20
MAX_TOTAL_BYTES = 128 << 20
_BATCH_BYTES = 16 << 20
_PINS = "contracts/"
_FOLDERS = {
    *("node_modules", "vendor", "vendored", "third_party", "site-packages", "dist", "build"),
    *(".venv", "venv", ".tox", "__pycache__", ".git", ".tipstaff"),
}
_GENERATED = re.compile(
    r"\.min\.(js|css)|\.map|_pb2(_grpc)?\.pyi?|\.pb\.go|\.lock|-lock\.(json|yaml)|\.svg|\.snap|go\.sum"
)
_MARKED = re.compile(rb"@generated\b|\bDO NOT EDIT\b")
_HEAD = 1024


@dataclass(frozen=True)
class Source:
    """One file: its repository path, as documents spell it, and its text."""

    path: str
    text: str


@dataclass
class Skipped:
    """What was not read, by reason, and how many files were."""

    reasons: Counter[str] = field(default_factory=Counter)
    read: int = 0

    def told(self) -> list[str]:
        """One phrase for each reason."""
        return [f"{count} {reason}" for reason, count in sorted(self.reasons.items())]


def sources(
    repository: Repository, commit: str, folders: Sequence[str] | None, skipped: Skipped
) -> Iterator[Source]:
    """The texts of a commit, in the order of their paths; ``folders`` are the only ones to look in, if any are named.

    What is left out is counted in ``skipped``.
    """
    wanted = []
    total = 0
    for entry in repository.entries(commit):
        path = paths.shown(entry.path)
        if not _is_asked_for(path, folders):
            continue
        reason = _left_out(entry, path)
        if reason is None and total + (entry.size or 0) > MAX_TOTAL_BYTES:
            reason = f"beyond {MAX_TOTAL_BYTES >> 20} MiB in all"
        if reason is not None:
            skipped.reasons[reason] += 1
            continue
        total += entry.size or 0
        wanted.append((path, entry))
    yield from _texts(repository, wanted, skipped)


def _is_asked_for(path: str, folders: Sequence[str] | None) -> bool:
    if folders is None:
        return not path.startswith(_PINS)
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _left_out(entry: extraction.Entry, path: str) -> str | None:
    if entry.mode not in extraction.REGULAR:
        return "links or submodules"
    *folders, name = path.split("/")
    if name.lower().endswith(SUFFIX):
        return "contracts"
    if _FOLDERS & set(folders):
        return "in vendored or generated folders"
    if _GENERATED.search(name):
        return "with names of generated files"
    if (entry.size or 0) > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES >> 20} MiB"
    return None


def _texts(
    repository: Repository, wanted: list[tuple[str, extraction.Entry]], skipped: Skipped
) -> Iterator[Source]:
    for batch in _batches(wanted):
        data = repository.blobs(entry.oid for _, entry in batch)
        for path, entry in batch:
            text, reason = _text(data[entry.oid])
            if text is None:
                skipped.reasons[reason] += 1
                continue
            skipped.read += 1
            yield Source(path, text)


def _text(data: bytes) -> tuple[str | None, str]:
    if b"\0" in data:
        return None, "binary"
    if _MARKED.search(data[:_HEAD]):
        return None, "marked as generated"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return None, "not UTF-8"


def _batches(
    wanted: list[tuple[str, extraction.Entry]],
) -> Iterator[list[tuple[str, extraction.Entry]]]:
    batch: list[tuple[str, extraction.Entry]] = []
    size = 0
    for each in wanted:
        batch.append(each)
        size += each[1].size or 0
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
