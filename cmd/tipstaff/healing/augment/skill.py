"""A skill's file and its golden cases, as the base commit holds them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tipstaff.errors import ContractError
from tipstaff.evidence import extraction, paths
from tipstaff.evidence.repository import Repository
from tipstaff.files import read_regular
from tipstaff.healing.augment.blocks import MAX_BYTES, Block, scan

MAX_CASES = 32
MAX_CASE_BYTES = 256 << 10
_INPUTS, _EXPECTED = "inputs", "expected"


@dataclass(frozen=True)
class Case:
    """One golden input and the output that it must give, both as bytes."""

    name: str
    given: bytes
    expected: bytes

    @property
    def input_sha256(self) -> str:
        """The digest of the input."""
        return hashlib.sha256(self.given).hexdigest()

    @property
    def expected_sha256(self) -> str:
        """The digest of the expected output."""
        return hashlib.sha256(self.expected).hexdigest()


@dataclass(frozen=True)
class Skill:
    """A skill's file in a commit, by its path from the repository's root, and the block that is meant."""

    path: str
    block: Block

    @property
    def folder(self) -> str:
        """The skill's folder; ``.`` for the root."""
        return str(PurePosixPath(self.path).parent)


def read_skill(repository: Repository, base: str, file: Path, block: str) -> Skill:
    """Find a block by its id; raises ``ContractError`` (``augment.*``) where there is none to work with."""
    path = _inside(repository, file, "SKILL.md")
    data = repository.blob(base, path)
    if data is None:
        complaint = f"is no regular file of the commit {base[:12]}"
        raise _refusal("augment.skill", complaint, str(file), "commit it first")
    _demand_committed(file, data, MAX_BYTES)
    found = scan(data, file=str(file))
    for each in found:
        if each.id == block:
            return Skill(path, each)
    known = ", ".join(each.id for each in found) or "none is marked"
    complaint = f"there is no block {block!r}"
    fix = f"name one that `tipstaff augment scan` lists: {known}"
    raise _refusal("augment.block_unknown", complaint, str(file), fix, field="--block")


def read_cases(repository: Repository, base: str, folder: Path) -> tuple[str, list[Case]]:
    """The folder's path and its cases: each ``inputs/NAME`` with its ``expected/NAME``.

    Raises ``ContractError`` (``augment.cases``) where there is none, half of one is missing, or one is no plain file.
    """
    place = _inside(repository, folder, "--golden")
    above = paths.raw(place) + b"/"
    entries = [entry for entry in repository.entries(base) if entry.path.startswith(above)]
    halves: dict[str, dict[str, bytes]] = {_INPUTS: {}, _EXPECTED: {}}
    for entry in entries:
        half, _, name = paths.shown(entry.path[len(above) :]).partition("/")
        if half in halves and name:
            _demand_plain(entry)
            data = repository.blobs([entry.oid])[entry.oid]
            _demand_committed(repository.root / place / half / name, data, MAX_CASE_BYTES)
            halves[half][name] = data
    _demand_whole(str(folder), halves)
    return place, [
        Case(name, given, halves[_EXPECTED][name])
        for name, given in sorted(halves[_INPUTS].items())
    ]


def _inside(repository: Repository, file: Path, field: str) -> str:
    """The path from the repository's root; a link on the way may not lead out or elsewhere."""
    try:
        real = file.resolve()
        file.is_symlink()
    except (OSError, RuntimeError) as error:  # too long, or links in a circle
        complaint = getattr(error, "strerror", None) or "leads through links in a circle"
        fix = f"name a path inside {repository.root}"
        raise _refusal("augment.outside", complaint, str(file), fix, field=field) from error
    if file.is_symlink() or not real.is_relative_to(repository.root):
        complaint = "is a link" if file.is_symlink() else "lies outside the repository"
        fix = f"name a path inside {repository.root}"
        raise _refusal("augment.outside", complaint, str(file), fix, field=field)
    relative = real.relative_to(repository.root)
    return paths.shown(bytes(relative))


def _demand_plain(entry: extraction.Entry) -> None:
    name = paths.shown(entry.path)
    if entry.mode not in extraction.REGULAR:
        fix = "commit a plain file in its place"
        raise _refusal("augment.cases", "a golden case is no regular file", name, fix)
    if entry.size > MAX_CASE_BYTES:
        complaint = f"a golden case of {entry.size} bytes"
        fix = f"keep each below {MAX_CASE_BYTES} bytes"
        raise _refusal("augment.cases", complaint, name, fix)


def _demand_whole(folder: str, halves: dict[str, dict[str, bytes]]) -> None:
    fix = f"commit {folder}/inputs/NAME and {folder}/expected/NAME for each case"
    inputs, expected = halves[_INPUTS], halves[_EXPECTED]
    alone = sorted(set(inputs) ^ set(expected))
    if not inputs:
        complaint = "the base commit has no golden input there"
    elif alone:
        complaint = f"{alone[0]!r} is no pair of an input and an expected output"
    elif len(inputs) > MAX_CASES:
        complaint = f"{len(inputs)} golden inputs; at most {MAX_CASES} are run"
    else:
        return
    raise _refusal("augment.cases", complaint, folder, fix, field="--golden")


def _demand_committed(file: Path, data: bytes, limit: int) -> None:
    """Refuse a file that was changed since the commit: what is judged would not be what its editor sees."""
    try:
        present = read_regular(file, limit=2 * limit)
    except OSError:
        present = b""
    if present.replace(b"\r\n", b"\n") != data.replace(b"\r\n", b"\n"):
        complaint = "differs from the commit that is judged"
        raise _refusal("augment.dirty", complaint, str(file), "commit it, or undo the change")


def _refusal(
    code: str, complaint: str, file: str, fix: str, *, field: str | None = None
) -> ContractError:
    return ContractError(code, complaint, file=file, field=field, fix=fix)
