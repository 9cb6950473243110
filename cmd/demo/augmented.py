"""The demo's skill with a block of prose that a script can replace, and the act that replaces it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from scene import Repository
from stage import Stage

FOLDER = "skills/invoice-total"
_PROSE = """\
Read the lines of the invoice one after the other. A line that counts has a name, a colon and
an amount with two decimals. Add the amounts up without rounding in between, skip empty lines and
lines that begin with a hash sign, and write the sum with two decimals, with nothing around it.
"""
_SKILL = f"""\
# Invoice total

<!-- tipstaff:block id=add-up class=deterministic-candidate confidence=0.90 -->
{_PROSE}<!-- /tipstaff:block -->

Then write one friendly sentence to the customer.
"""
_SCRIPT = '''\
"""Add up an invoice."""

import sys
from decimal import Decimal


def total(text: str) -> Decimal:
    """The sum of all amounts."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return sum((Decimal(line.rpartition(":")[2].strip()) for line in lines), Decimal("0.00"))


if __name__ == "__main__":
    print(total(sys.stdin.read()))
'''
_UNSTEADY = "import random\n\nprint(random.choice(['3.30', '3.3', '3,30', 'about three']))\n"
_GOLDEN = '''\
"""What the skill must go on doing, whoever does it."""

import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_SCRIPT = _HERE.parent / "scripts/invoice_total.py"


def test_two_items():
    given = (_HERE / "inputs/two.txt").read_bytes()
    done = subprocess.run([sys.executable, _SCRIPT], input=given, capture_output=True)
    assert done.stdout == (_HERE / "expected/two.txt").read_bytes()
'''
_INPUT, _EXPECTED = "tea: 1.10\nbread: 2.20\n", "3.30\n"
FILES: Mapping[str, str] = {
    f"{FOLDER}/SKILL.md": _SKILL,
    f"{FOLDER}/golden/test_totals.py": _GOLDEN,
    f"{FOLDER}/golden/inputs/two.txt": _INPUT,
    f"{FOLDER}/golden/expected/two.txt": _EXPECTED,
}


def perform(stage: Stage, repository: Repository) -> None:
    """The act."""
    stage.act(
        "A script in place of prose",
        "Golden tests, eight runs of each side, tokens: all three are measured, or nothing is proposed.",
        "a draft that waits for a person; augment.variance, nothing written",
    )
    folder = repository.root.parent / "candidates"
    folder.mkdir()
    (folder / "runs.json").write_text(json.dumps(_recording()), encoding="utf-8")
    script = folder / "invoice_total.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    stage.tipstaff("augment", "scan", f"{FOLDER}/SKILL.md", code=0, shows=["add-up", "0.900"])
    shown = ["cl100k_base", "script 1 distinct of 8", "require_approval", "gate.require_human"]
    said = _propose(stage, script, shows=shown)
    lines = [line for line in said.splitlines() if line.startswith("pull request ")]
    request = Path(lines[0].removeprefix("pull request ")) if lines else Path("/dev/null")
    stage.check("the pull request is a draft", 'status: "draft"' in request.read_text())
    before = repository.branches()
    stage.say("\nA script whose output is not the same each time:")
    script.write_text(_UNSTEADY, encoding="utf-8")
    _propose(stage, script, shows=["deny", "augment.variance", "augment.golden"])
    stage.check("no branch was made", repository.branches() == before)


def _propose(stage: Stage, script: Path, *, shows: list[str]) -> str:
    words = ("augment", "propose", f"{FOLDER}/SKILL.md", "--block", "add-up")
    measured = ("--golden", f"{FOLDER}/golden", "--prose-runs", "../candidates/runs.json")
    place = f"../candidates/{script.name}"
    return stage.tipstaff(*words, "--script", place, *measured, code=1, shows=shows)


def _recording() -> dict[str, object]:
    """Eight answers of a model, as somebody recorded them."""
    run = {
        "output": _EXPECTED,
        "output_sha256": _sha256(_EXPECTED),
        "recorded_at": "2026-07-01T10:00:00Z",
    }
    return {
        "schema_version": 1,
        "block": "add-up",
        "prose_sha256": _sha256(_PROSE),
        "model": "the demo's own words",
        "inputs": [{"name": "two.txt", "input_sha256": _sha256(_INPUT), "runs": [run] * 8}],
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
