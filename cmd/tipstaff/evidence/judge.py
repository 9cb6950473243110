"""The tree that is tested: the candidate's, with everything that judges it taken from the base.

A judge is a test, a file that configures or is loaded by a test runner, whatever the team lists, and whatever
the command names. The candidate's own version of these, and anything it adds to them, is not in the tree. What a
test imports runs in the test's process all the same: this stops a candidate from replacing its judge, not from
deceiving one that trusts the code it calls.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tipstaff.evidence import edit, paths
from tipstaff.evidence.repository import Repository
from tipstaff.evidence.tree_diff import ABSENT, RawChange

_JUDGE_NAMES = frozenset(
    {
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
        *("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml", "noxfile.py"),
        *(".coveragerc", "sitecustomize.py", "usercustomize.py", "pyvenv.cfg"),
        *("makefile", "gnumakefile", "justfile", "package.json", "tsconfig.json"),
    }
)
_JUDGE_SHAPES = re.compile(
    r"test_[^/]*\.py|[^/]*_test\.[a-z]+|[^/]*\.(?:test|spec)\.[a-z]+|[^/]*\.pth|[^/]*\.mk"
    r"|(?:jest|vitest|karma|playwright|babel)\.config\.[a-z]+|\.mocharc[^/]*",
)
_JUDGE_FOLDERS = frozenset(
    {"test", "tests", "golden", "goldens", "__tests__", "spec", "specs", "__pycache__"}
)
_METADATA_FOLDERS = (".egg-info", ".dist-info")  # pytest loads plugins that these name
_RUNNERS = frozenset(
    {"pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "exceptiongroup", "coverage"}
)
_TAKEN = _RUNNERS | sys.stdlib_module_names


@dataclass(frozen=True)
class JudgedTree:
    """The tree to test. ``objection`` says why its result would prove nothing about the change, if so."""

    tree: str
    objection: str | None = None


def lay_over(
    repository: Repository, base: str, tree: str, *, listed: Sequence[str], named: Iterable[str]
) -> JudgedTree:
    """The candidate's ``tree`` with its judges as they are in ``base``.

    ``listed`` are the team's test paths; ``named`` are words of the command, of which those count that are paths in
    ``base``.
    """
    named = _existing(repository, base, named)
    changes = _split(repository.changes(base, tree))
    reverted = [change for change in changes if _judges(change.path, (*listed, *named))]
    kept = [change for change in changes if change not in reverted]
    objection = _objection(kept, reverted, (*listed,), named)
    if objection is None:
        objection = _shadow(repository, tree, kept)
    return JudgedTree(_revert(repository, tree, reverted), objection)


def _split(changes: Iterable[RawChange]) -> list[RawChange]:
    """The changes with each rename or copy as what it adds and what it takes away."""
    found = []
    for change in changes:
        if change.old_path is None:
            found.append(change)
            continue
        absent = "0" * len(change.new_oid)
        found.append(RawChange("A", ABSENT, change.new_mode, absent, change.new_oid, change.path))
        if change.status == "R":
            found.append(
                RawChange("D", change.old_mode, ABSENT, change.old_oid, absent, change.old_path)
            )
    return found


def _existing(repository: Repository, base: str, words: Iterable[str]) -> tuple[str, ...]:
    """The words that are paths in the base; ``.`` is none, for it would leave nothing to test."""
    wanted = {os.path.normpath(word) for word in words if not os.path.isabs(word)}
    wanted = {word for word in wanted if word != "." and not word.startswith(("..", "-"))}
    if not wanted:
        return ()
    listing = repository.run("ls-tree", "-z", "--name-only", "--full-tree", base, *sorted(wanted))
    return tuple(paths.shown(name) for name in listing.split(b"\0")[:-1])


def _judges(path: bytes, chosen: Iterable[str]) -> bool:
    return _looks_like_judge(path) or _lies_in(paths.shown(path), chosen)


def _looks_like_judge(path: bytes) -> bool:
    *folders, name = paths.shown(path).casefold().split("/")
    if name in _JUDGE_NAMES or _JUDGE_SHAPES.fullmatch(name):
        return True
    return any(
        part in _JUDGE_FOLDERS or part.endswith(_METADATA_FOLDERS) for part in [*folders, name]
    )


def _lies_in(path: str, chosen: Iterable[str]) -> bool:
    """Whether the path is one of the chosen, lies below one, matches one, or stands in the way of one."""
    for place in chosen:
        pattern = place.strip("/").removeprefix("./")
        below = path == pattern or path.startswith(f"{pattern}/")
        if below or pattern.startswith(f"{path}/") or _matches(path, pattern):
            return True
    return False


def _matches(path: str, pattern: str) -> bool:
    return "*" in pattern and bool(_glob(pattern).fullmatch(path))


def _glob(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(part, re.escape(part)) for part in parts), re.S)


def _objection(
    kept: list[RawChange],
    reverted: list[RawChange],
    listed: tuple[str, ...],
    named: tuple[str, ...],
) -> str | None:
    for change in reverted:
        path = paths.shown(change.path)
        if _lies_in(path, named) and not _judges(change.path, listed):
            return (
                f"the command names {path}, which the change edits, so it was tested as it is in the base; "
                "if it is a test, list it in tests.paths, else don't name it in the command"
            )
    if reverted and not kept:
        return "the change edits only tests and what configures them, so a run would prove nothing about it"
    return None


def _shadow(repository: Repository, tree: str, kept: list[RawChange]) -> str | None:
    """Whether a new top-level module would be imported in place of one that the judge itself uses."""
    added = [change.path for change in kept if change.status == "A"]
    suspects = {path: name for path in added if (name := _module(path)) in _TAKEN}
    if not suspects:
        return None
    listing = repository.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
    present = set(listing.split(b"\0"))
    for path, name in suspects.items():
        parts = path.split(b"/")[: -2 if path.endswith(b"/__init__.py") else -1]
        if b"/".join([*parts, b"__init__.py"]) not in present:
            return (
                f"the change adds {paths.shown(path)}, which Python could import instead of the "
                f"module {name} that the test run itself uses"
            )
    return None


def _module(path: bytes) -> str | None:
    """The name by which Python would import a file, seen from the folder it or its package lies in."""
    parts = path.decode("utf-8", "replace").split("/")
    name, dot, suffix = parts[-1].partition(".")
    if not dot or suffix.rpartition(".")[2] not in ("py", "pyc", "so"):
        return None
    return parts[-2] if name == "__init__" and len(parts) > 1 else name


def _revert(repository: Repository, tree: str, reverted: list[RawChange]) -> str:
    if not reverted:
        return tree
    # Removals first, so that nothing the candidate put there stands in the way of what comes back.
    ordered = sorted(reverted, key=lambda change: change.old_mode != ABSENT)
    lines = (
        edit.entry_line(
            change.old_mode if change.old_mode != ABSENT else "0", change.old_oid, change.path
        )
        for change in ordered
    )
    return edit.with_entries(repository, tree, b"".join(lines))
