"""What a pull request tells of a contract's drift: findings, files that were rewritten, and what is left to a person.

A server chose most of these words, so each stands in a code span, escaped and cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tipstaff.documents.contract_diff import ContractDiff, ContractFinding
from tipstaff.documents.markdown import code

# A pull request's body is refused beyond 65,536 characters, and other sections need room, too.
_FINDINGS, _REWRITTEN, _TODO = 12_000, 5_000, 13_000
_VALUE = 120


@dataclass(frozen=True)
class Place:
    """A place in a file that names what changed.

    ``new`` is the new name where it was renamed, ``why`` what changed and why it is left to a person, ``more`` how
    many further places of the file it stands for.
    """

    path: str
    line: int
    name: str
    new: str | None
    why: str
    preview: str
    more: int = 0


@dataclass(frozen=True)
class Repair:
    """A contract's difference, and what depends on it. ``unseen`` counts places beyond those that are kept."""

    server: str
    diff: ContractDiff
    rewritten: Sequence[Place]
    todo: Sequence[Place]
    read: int
    skipped: Sequence[str]
    unseen: int = 0


def section(repair: Repair) -> str:
    """The sections of a pull request's body about a contract, in Markdown."""
    return "\n\n".join([_contract(repair), _dependents(repair), _by_hand(repair)])


def _contract(repair: Repair) -> str:
    diff = repair.diff
    before = f"`{diff.old_digest}`" if diff.old_digest else "nothing that was pinned"
    lines = [
        f"## The contract of {code(repair.server, limit=100)}",
        "",
        f"From {before} to `{diff.new_digest}`: severity {diff.severity}.",
    ]
    if diff.findings:
        lines += ["", "| Severity | Authority | Where | What | Before | After |"]
        lines += ["|---|---|---|---|---|---|"]
        lines += _fitting([_row(found) for found in diff.findings], _FINDINGS, "findings")
    elif diff.old_digest is None:
        lines += ["", "It is seen for the first time, and nothing in it is hidden or deceptive."]
    return "\n".join(lines)


def _row(found: ContractFinding) -> str:
    where = f"{found.tool or 'server'}{found.path}"
    cells = [
        found.severity,
        "" if found.authority == "none" else found.authority,
        code(where, limit=_VALUE),
        f"{found.kind}: {code(found.message, limit=_VALUE)}",
        _value(found.before),
        _value(found.after),
    ]
    return f"| {' | '.join(cells)} |"


def _value(value: Any) -> str:
    if value is None:
        return ""
    text = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    )
    return code(text, limit=_VALUE)


def _dependents(repair: Repair) -> str:
    if not repair.read and not repair.skipped:
        return "## What was rewritten\n\nNothing; what changed had no name before that a file could hold."
    looked = f"{repair.read} files were searched"
    if repair.skipped:
        looked += f"; left out: {', '.join(repair.skipped)}"
    lines = ["## What was rewritten", "", f"{looked}."]
    if repair.rewritten:
        shown = [_rewritten(place) for place in repair.rewritten]
        lines += ["", *_fitting(shown, _REWRITTEN, "places")]
    else:
        lines[-1] += " Nothing in them was surely a renamed tool or parameter."
    return "\n".join(lines)


def _rewritten(place: Place) -> str:
    at = code(f"{place.path}:{place.line}")
    names = f"{code(place.name, limit=80)} became {code(place.new or '', limit=80)}"
    return f"- {at}: {names} in {code(place.preview, limit=_VALUE)}{_more(place)}"


def _by_hand(repair: Repair) -> str:
    lines = ["## To do by hand", ""]
    if not repair.todo and not repair.unseen:
        return "\n".join([*lines, "No other place was found that names what changed."])
    shown = [
        f"- [ ] {code(f'{place.path}:{place.line}')}: {code(place.name, limit=80)}, "
        f"{code(place.why)}, in {code(place.preview, limit=_VALUE)}{_more(place)}"
        for place in repair.todo
    ]
    lines += _fitting(shown, _TODO, "places")
    if repair.unseen:
        lines.append(f"- [ ] {repair.unseen} places more, beyond what is looked at one by one")
    return "\n".join(lines)


def _more(place: Place) -> str:
    return f", and {place.more} more in the file" if place.more else ""


def _fitting(lines: Sequence[str], room: int, noun: str) -> Iterator[str]:
    """As many lines as there is room for, and how many are left out."""
    for place, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            end_of_table = "\n" if line.startswith("|") else ""
            left = f"{len(lines) - place} more {noun}"
            yield f"{end_of_table}{left}, in the JSON of `tipstaff contracts propose`"
            return
        yield line
