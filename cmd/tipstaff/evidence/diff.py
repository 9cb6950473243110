"""Reading a unified diff: what it makes of the base commit's tree, and the facts of each file it changes.

Every fact is measured between two trees of git's; the diff's own claims about itself are checked and not used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

from tipstaff.documents.input import ChangedFile
from tipstaff.errors import ContractError
from tipstaff.evidence import capabilities, definitions, paths, python_source
from tipstaff.evidence.capability_tables import UNREADABLE
from tipstaff.evidence.language import detect_language, shebang_language
from tipstaff.evidence.module_names import ModuleNames
from tipstaff.evidence.patch_headers import (
    MAX_BINARY_BYTES,
    MAX_FILES,
    Headers,
    check_mode,
    check_path,
    refuse,
    scan,
)
from tipstaff.evidence.pattern_tables import INERT
from tipstaff.evidence.repository import Repository
from tipstaff.evidence.tree_diff import ABSENT, LineChange, RawChange

_LINK = "120000"
_MAX_TOTAL_BYTES = 256 << 20
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\0asm", b"PK\x03\x04")
_Status = Literal["added", "modified", "deleted", "renamed", "copied", "type_changed"]
_STATUSES: Mapping[str, _Status] = {
    "A": "added",
    "C": "copied",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "T": "type_changed",
}


@dataclass(frozen=True)
class Patch:
    """A diff that applies: base commit, patched tree, SHA-256 of the diff's bytes, and the measured facts."""

    base: str
    tree: str
    diff_sha256: str
    files: tuple[ChangedFile, ...]
    found_capabilities: tuple[str, ...]


def read(repository: Repository, diff: bytes, *, base: str = "HEAD") -> Patch:
    """Apply a diff to a commit's tree, away from the user's own, and measure what it changes.

    Raises ``ContractError`` (``diff.*``, ``repository.*``) for what is no diff, does not apply, or names a path or a
    kind of file that no change may touch.
    """
    headers = scan(diff)
    commit = repository.resolve(base)
    tree, strip = _applied(repository, diff, headers, commit)
    changes = repository.changes(commit, tree)
    _check(changes, headers, strip)
    lines = repository.line_changes(commit, tree)
    data = _contents(repository, changes)
    existing = _existing(repository, commit)
    measured = [
        _measure(change, line, data, existing) for change, line in zip(changes, lines, strict=True)
    ]
    found = set().union(*(capability for _, capability in measured))
    return Patch(
        base=commit,
        tree=tree,
        diff_sha256=hashlib.sha256(diff).hexdigest(),
        files=tuple(file for file, _ in measured),
        found_capabilities=tuple(sorted(found)),
    )


def _existing(repository: Repository, commit: str) -> ModuleNames:
    listing = repository.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    return ModuleNames(listing.split(b"\0")[:-1])


def _applied(repository: Repository, diff: bytes, headers: Headers, commit: str) -> tuple[str, int]:
    made: dict[int, str] = {}
    refusals: list[ContractError] = []
    for strip in headers.strips():
        try:
            made[strip] = _apply(repository, diff, commit, strip)
        except ContractError as error:
            refusals.append(error)
    if not made:
        raise refusals[0]
    if len(set(made.values())) > 1:
        _ambiguous("its names have no a/ and b/ in front, and it applies in two ways")
    strip, tree = next(iter(made.items()))
    return tree, strip


def _apply(repository: Repository, diff: bytes, commit: str, strip: int) -> str:
    try:
        return repository.apply(diff, commit, strip=strip)
    except ContractError:
        # A diff saved with CRLF line ends throughout says nothing else with LF.
        if diff.count(b"\n") != diff.count(b"\r\n"):
            raise
        return repository.apply(diff.replace(b"\r\n", b"\n"), commit, strip=strip)


def _check(changes: list[RawChange], headers: Headers, strip: int) -> None:
    if not changes:
        refuse("diff.no_change", "the diff changes nothing", "make it against the base commit")
    if len(changes) > MAX_FILES:
        message = f"{len(changes)} files; at most {MAX_FILES} are read"
        refuse("diff.too_many_files", message, "split the diff")
    covered = headers.covered(strip)
    for change in changes:
        for path in filter(None, (change.path, change.old_path)):
            check_path(path)
            if path not in covered:
                _ambiguous(f"git changes {paths.shown(path)!r}, which none of its headers names")
        for mode in (change.old_mode, change.new_mode):
            removed = change.status == "D" and mode == _LINK
            if mode != ABSENT and not removed:
                check_mode(mode, change.path)


def _ambiguous(message: str) -> NoReturn:
    refuse(
        "diff.ambiguous", message, "make the diff with git diff, with a/ and b/ before its names"
    )


def _contents(repository: Repository, changes: list[RawChange]) -> dict[str, bytes]:
    sides = [
        (oid, change.path)
        for change in changes
        for mode, oid in (
            (change.old_mode, change.old_oid),
            (change.new_mode, change.new_oid),
        )
        if mode != ABSENT
    ]
    sizes = repository.sizes(oid for oid, _ in sides)
    for oid, path in sides:
        if sizes[oid] > MAX_BINARY_BYTES:
            message = f"a file of {sizes[oid]} bytes; at most {MAX_BINARY_BYTES} are read"
            refuse("diff.too_large", message, "commit it by hand", path=path)
    if sum(sizes.values()) > _MAX_TOTAL_BYTES:
        message = (
            f"files of {sum(sizes.values())} bytes in all; at most {_MAX_TOTAL_BYTES} are read"
        )
        refuse("diff.too_large", message, "split the diff")
    return repository.blobs(oid for oid, _ in sides)


def _measure(
    change: RawChange, line: LineChange, data: Mapping[str, bytes], existing: ModuleNames
) -> tuple[ChangedFile, set[str]]:
    old = data.get(change.old_oid, b"")
    new = data.get(change.new_oid, b"")
    path = paths.shown(change.path)
    binary = b"\0" in old or b"\0" in new
    language = detect_language(path, old if change.status == "D" else new)
    additions_only = line.removed == 0 and not binary and change.status != "D"
    file = ChangedFile(
        path=path,
        status=_STATUSES[change.status],
        old_path=None if change.old_path is None else paths.shown(change.old_path),
        mode_changed=ABSENT not in (change.old_mode, change.new_mode)
        and change.old_mode != change.new_mode,
        binary=binary,
        language=language,
        added=0 if binary else len(line.added),
        removed=0 if binary else line.removed,
        additions_only=additions_only,
        touches_existing_definition=existing.are_taken_by(change.path, language)
        if change.status in "AC"
        else _touches(change, language, old, new, additions_only),
    )
    return file, _uses(change, file, line, (old, new))


def _touches(
    change: RawChange, language: str | None, old: bytes, new: bytes, additions_only: bool
) -> bool | None:
    if change.status != "M":
        return True
    return definitions.touches_existing(language, old, new, additions_only=additions_only)


def _uses(
    change: RawChange, file: ChangedFile, line: LineChange, data: tuple[bytes, bytes]
) -> set[str]:
    old, new = data
    if change.status == "D" or (change.old_oid == change.new_oid and not file.mode_changed):
        return set()
    # A file that becomes executable, or gets another name, can run in a way that it could not before.
    whole = change.status != "M" or file.mode_changed or file.binary
    text = _text(new, file.language)
    if text is None:
        is_code = file.language is not None and file.language not in INERT
        runs = is_code or change.new_mode == "100755"
        named = runs or shebang_language(new) is not None or new.startswith(_PROGRAMS)
        return {UNREADABLE} if named else set()
    before = None if whole else _text(old, file.language)
    added = None if before is None else set(line.added)
    return capabilities.detect(file.path, file.language, text, added, base=before)


def _text(data: bytes, language: str | None) -> str | None:
    try:
        text = python_source.decode(data) if language == "python" else data.decode("utf-8-sig")
    except (python_source.Unreadable, UnicodeDecodeError):
        return None
    return None if "\0" in text else text
