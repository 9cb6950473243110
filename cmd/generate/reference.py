"""The reference of the policy, from the annotations of its rules, and the verdicts on the example documents.

Both are what OPA itself says: ``opa inspect`` reads the annotations, ``opa eval`` answers the examples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.codes import CODES
from tipstaff.pdp.opa import VERSION, Opa, ensure

REFERENCE = "policy/README.md"
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
_ROOT = Path(__file__).parents[2]
_EXAMPLES = "contracts/examples"
_BUNDLE = {"tipstaff": {"bundle": {"revision": "example", "data_digest": "none"}}}
_HEAD = """# Policy

Every rule about what a change, or an act upon the engine, may do. This folder is the root of the OPA bundle, and plain
OPA is enough to work on it:

```sh
opa test policy/
```

[CONTRIBUTING.md](../CONTRIBUTING.md#add-a-rule) says how a rule is added. A team that only wants to be stricter changes
nothing here: it writes an overlay, as the [README](../README.md#for-security-teams-the-overlay) shows.

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
        custom = self.notes.get("custom", {})
        return custom if "code" in custom else None


def render() -> Iterator[tuple[str, str]]:
    """Each file's path from the repository's root, and its text."""
    opa = ensure(print)
    yield REFERENCE, reference(opa)
    for example in sorted((_ROOT / _EXAMPLES).glob("*.input.json")):
        name = example.name.replace(".input.", ".verdict.")
        yield f"{_EXAMPLES}/{name}", json.dumps(verdict(opa, example), indent=2) + "\n"


def reference(opa: Opa) -> str:
    """The text of ``policy/README.md``."""
    found = entries(opa)
    parts = [_HEAD]
    for package in (entry for entry in found if not entry.rule):
        rows = [entry for entry in found if entry.package == package.package and entry.reason]
        if rows:
            parts.append(_section(package, rows))
    codes = [
        f"| `{code}` | {'escalate' if code.startswith('explanation.') else 'deny'}"
        f" | {_cell(meaning.message)} | {_cell(meaning.solution)} |"
        for code, meaning in CODES.items()
    ]
    return "".join(parts) + _PYTHON + "\n".join(codes) + "\n"


def verdict(opa: Opa, example: Path) -> Json:
    """What the policy says to an example document, as the engine completes it."""
    with TemporaryDirectory(prefix="tipstaff-") as folder:
        bundle = Path(folder, "bundle.json")
        bundle.write_text(json.dumps(_BUNDLE), encoding="utf-8")
        files = ["-d", str(_ROOT / "policy"), "-d", str(bundle), "-i", str(example)]
        query = "data.tipstaff.decision.verdict"
        answer: Json = _run(opa, "eval", "--strict-builtin-errors", *files, query)
    result: Json = answer["result"][0]["expressions"][0]["value"]
    return {**result, "policy": {**result["policy"], "opa_version": VERSION}}


@cache
def entries(opa: Opa) -> list[Entry]:
    """Every annotation outside the tests, by package, then by file and line."""
    notes = _run(opa, "inspect", "--annotations", "--format", "json", "policy")["annotations"]
    found = [_entry(note) for note in notes if not _is_test(note)]
    return sorted(found, key=lambda entry: (entry.package, entry.rule != "", entry.file, entry.row))


def _entry(note: Json) -> Entry:
    path = [part["value"] for part in note["path"]]
    place = note["location"]
    return Entry(path[2], ".".join(path[3:]), note["annotations"], place["file"], place["row"])


def _is_test(note: Json) -> bool:
    return str(note["location"]["file"]).endswith("_test.rego")


def _section(package: Entry, rows: list[Entry]) -> str:
    head = f"\n### {package.notes['title']}\n\n{package.notes['description'].strip()}\n\n"
    table = "| Code | Effect | Message | Solution | Controls |\n|---|---|---|---|---|\n"
    return head + table + "".join(_row(entry, entry.reason or {}) for entry in rows)


def _row(entry: Entry, reason: Json) -> str:
    link = f"{Path(entry.file).relative_to('policy').as_posix()}#L{entry.row}"
    code = reason["code"] + (":…" if _has_parameter(entry) else "")
    cells = [
        f"[`{code}`]({link})",
        EFFECTS.get(entry.rule, entry.rule),
        _cell(reason["message"]),
        _cell(reason["solution"]),
        ", ".join(reason.get("controls", [])),
    ]
    return f"| {' | '.join(cells)} |\n"


def _has_parameter(entry: Entry) -> bool:
    line = (_ROOT / entry.file).read_text(encoding="utf-8").splitlines()[entry.row - 1]
    return "reasons.about(" in line


def _cell(text: str) -> str:
    words = " ".join(text.split()).replace("|", "\\|")
    return words.replace("<", "&lt;")


def _run(opa: Opa, *args: str) -> Any:
    answer = opa.run(args, cwd=_ROOT)
    if answer.returncode != 0:
        raise RuntimeError((answer.stdout + answer.stderr).decode())
    return json.loads(answer.stdout)
