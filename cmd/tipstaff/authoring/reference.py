"""The reference of a policy folder, from the annotations of its rules as `opa inspect` reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tipstaff.authoring.facts import Folder, notes
from tipstaff.documents.base import Json
from tipstaff.documents.codes import CODES
from tipstaff.documents.markdown import code, prose
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.source import OVERLAY

FILE = "README.md"
# What a reason of each rule does to a verdict; where the rule's own name does not say it.
EFFECTS = {
    "advice": "advice",
    "findings": "finding",
    "grant": "allow",
    "hold": "require_approval",
    "shortfalls": "require_approval",
    "_ungranted": "deny",
    "_unconfirmed": "require_approval",
    "verdict": "deny",
}
_OURS = """# Policy

Every rule about what a change, or an act upon the engine, may do. This folder is the root of the OPA bundle, and plain
OPA is enough to work on it:

```sh
opa test policy/
```

[CONTRIBUTING.md](../CONTRIBUTING.md#add-a-rule) says how a rule is added. A team that only wants to be stricter changes
nothing here: it writes an overlay, as the [README](../README.md#for-security-teams-the-overlay) shows.
"""
_TEAMS = """# Policy of this repository

What this team's own rules add to those of Tipstaff. They tighten and never loosen. Written by `tipstaff policy docs`
from the annotations of the rules; `tipstaff policy docs --check` says when it is out of date.
"""
_CODES = """
## Codes

`{it}` stands for what the reason is about. A code that ends in `:…` has that behind its colon.
"""
_PYTHON = """
### Codes that no rule gives

What stands for an answer that OPA did not give, or that could not be kept. They are in
[`codes.py`](../cmd/tipstaff/documents/codes.py), and no rule or overlay may give them.

| Code | Effect | Message | Solution |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Entry:
    """One annotated package or rule: its package's name, its own, what is noted, and where it stands."""

    package: str
    rule: str
    notes: Json
    file: str
    row: int

    @property
    def reason(self) -> Json | None:
        """Code, words and controls, where the rule gives a reason."""
        custom: Json = self.notes.get("custom", {})
        return custom if "code" in custom else None


def reference(opa: Opa, folder: Path, root: str, *, beside: Path | None = None) -> str:
    """The text of a policy folder's ``README.md``; links are relative to ``beside``, else to the folder."""
    found = entries(opa, folder, root)
    parts = [_TEAMS if root == OVERLAY else _OURS, _CODES]
    for package in (entry for entry in found if not entry.rule):
        rows = [entry for entry in found if entry.package == package.package and entry.reason]
        if rows:
            parts.append(_section(package, [_row(folder, beside or folder, row) for row in rows]))
    return "".join([*parts, *([] if root == OVERLAY else _python())])


def entries(opa: Opa, folder: Path, root: str) -> list[Entry]:
    """Every annotation outside the tests, by package, then by file and line."""
    given = notes(opa, Folder(folder, root, folder))
    found = [
        Entry(
            note["path"][1],
            ".".join(note["path"][2:]),
            note["annotations"],
            note["file"],
            note["row"],
        )
        for note in given
        if len(note["path"]) > 1 and not note["file"].endswith("_test.rego")
    ]
    return sorted(found, key=lambda entry: (entry.package, entry.rule != "", entry.file, entry.row))


def _python() -> Iterator[str]:
    yield _PYTHON
    for name, meaning in CODES.items():
        effect = "escalate" if name.startswith("explanation.") else "deny"
        yield f"| `{name}` | {effect} | {prose(meaning.message)} | {prose(meaning.solution)} |\n"


def _section(package: Entry, rows: list[str]) -> str:
    title, description = (
        prose(str(package.notes.get(key, usual)))
        for key, usual in (("title", package.package), ("description", ""))
    )
    head = f"\n### {title}\n\n{description}\n\n"
    table = "| Code | Effect | Message | Solution | Controls |\n|---|---|---|---|---|\n"
    return head + table + "".join(rows)


def _row(folder: Path, beside: Path, entry: Entry) -> str:
    reason = entry.reason or {}
    link = quote(Path(os.path.relpath(folder / entry.file, beside)).as_posix())
    named = str(reason["code"]) + (":…" if _has_parameter(folder, entry) else "")
    cells = [
        f"[{code(named)}]({link}#L{entry.row})",
        prose(EFFECTS.get(entry.rule, entry.rule)),
        prose(str(reason.get("message", ""))),
        prose(str(reason.get("solution", ""))),
        prose(", ".join(str(one) for one in reason.get("controls", []))),
    ]
    return f"| {' | '.join(cells)} |\n"


def _has_parameter(folder: Path, entry: Entry) -> bool:
    line = (folder / entry.file).read_text(encoding="utf-8").splitlines()[entry.row - 1]
    return "reasons.about(" in line
