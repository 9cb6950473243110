"""A skill with a block of prose that a script can replace, its golden tests and cases, and recordings of the prose."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.command_line import Result
from support.repositories import commit, write
from support.workshop import Workshop
from tipstaff.evidence.repository import Repository
from tipstaff.healing.augment.blocks import Block, scan
from tipstaff.healing.augment.proposal import AugmentOutcome, AugmentRequest, propose

FOLDER = "skills/invoice-total"
SKILL_FILE = f"{FOLDER}/SKILL.md"
GOLDEN_FOLDER = f"{FOLDER}/golden"
PLACE = f"{FOLDER}/scripts/invoice_total.py"
START = "<!-- tipstaff:block id=add-up class=deterministic-candidate confidence=0.90 -->\n"
END = "<!-- /tipstaff:block -->\n"
PROSE = """\
Read the lines of the invoice one after the other. A line that counts has a name, a colon
and an amount with two decimals. Add the amounts up without rounding in between, skip empty
lines and lines that begin with a hash sign, and write the sum with two decimals on a line of
its own, with nothing before or after it.
"""
SKILL = f"""\
---
name: invoice-total
description: Add up an invoice.
---

# Invoice total

{START}{PROSE}{END}
Then write one friendly sentence to the customer.
"""
SCRIPT = '''\
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
GOLDEN = '''\
"""What the skill must go on doing, whoever does it."""

import subprocess
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_SCRIPT = _HERE.parent / "scripts/invoice_total.py"


@pytest.mark.parametrize("name", sorted(file.name for file in (_HERE / "inputs").iterdir()))
def test_invoice(name):
    given = (_HERE / "inputs" / name).read_bytes()
    done = subprocess.run([sys.executable, _SCRIPT], input=given, capture_output=True)
    assert done.stdout == (_HERE / "expected" / name).read_bytes()
'''
CASES = {"none.txt": ("# nothing\n", "0.00\n"), "two.txt": ("tea: 1.10\nbread: 2.20\n", "3.30\n")}


def files(skill: str = SKILL, cases: Mapping[str, tuple[str, str]] = CASES) -> dict[str, str]:
    """The skill's folder before any script is in it."""
    found = {SKILL_FILE: skill, f"{GOLDEN_FOLDER}/test_totals.py": GOLDEN}
    for name, (given, expected) in cases.items():
        found[f"{GOLDEN_FOLDER}/inputs/{name}"] = given
        found[f"{GOLDEN_FOLDER}/expected/{name}"] = expected
    return found


@dataclass(frozen=True)
class AugmentScene:
    """A workshop with the skill committed, and what tests do in it again and again."""

    workshop: Workshop
    outside: Path

    @classmethod
    def set(cls, workshop: Workshop, outside: Path, **options: Any) -> AugmentScene:
        """Commit the skill."""
        write(workshop.root, files(**options))
        commit(workshop.root, "add a skill")
        outside.mkdir(exist_ok=True)
        return cls(workshop, outside)

    @property
    def block(self) -> Block:
        """The block as it is marked now."""
        return scan((self.workshop.root / SKILL_FILE).read_bytes(), file=SKILL_FILE)[0]

    def script(self, text: str | bytes = SCRIPT, name: str = "invoice_total.py") -> Path:
        """Write a candidate."""
        file = self.outside / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def recording(
        self,
        outputs: Callable[[str, int], str] | None = None,
        *,
        runs: int = 8,
        change: Callable[[dict[str, Any]], Any] | None = None,
    ) -> Path:
        """Write recorded runs: ``outputs`` gives one by the case's name and the run's number, else what is expected."""
        cases = self.cases()
        value = {
            "schema_version": 1,
            "block": "add-up",
            "prose_sha256": self.block.prose_sha256,
            "model": "model-1",
            "inputs": [
                {
                    "name": name,
                    "input_sha256": digest(given),
                    "runs": [
                        a_run(outputs(name, number) if outputs else expected)
                        for number in range(runs)
                    ],
                }
                for name, (given, expected) in cases.items()
            ],
        }
        if change is not None:
            change(value)
        file = self.outside / "runs.json"
        file.write_text(json.dumps(value))
        return file

    def cases(self) -> dict[str, tuple[str, str]]:
        """The golden cases in the folder, by name: input and expected output."""
        folder = self.workshop.root / GOLDEN_FOLDER
        return {
            file.name: (file.read_text(), (folder / "expected" / file.name).read_text())
            for file in sorted((folder / "inputs").iterdir())
        }

    def propose(self, script: str = SCRIPT, **options: Any) -> AugmentOutcome:
        """Measure and propose as ``tipstaff augment propose`` does, with a recording if nothing else is said."""
        if not {"prose_command", "recording"} & set(options):
            options["recording"] = self.recording()
        root = self.workshop.root
        with self.workshop.engine() as engine:
            request = AugmentRequest(
                file=root / SKILL_FILE,
                block=options.pop("block", "add-up"),
                script=self.script(script),
                golden=root / GOLDEN_FOLDER,
                subject=engine.actor.id,
                **options,
            )
            return propose(engine, Repository.open(root), request, say=lambda line: None)

    def run(
        self, *options: str | Path, script: Path | None = None, runs: Path | None = None
    ) -> Result:
        """The same by the command line; later options win over the usual ones."""
        usual: dict[str, str | Path] = {
            "--block": "add-up",
            "--script": script or self.script(),
            "--golden": GOLDEN_FOLDER,
            "--prose-runs": runs or self.recording(),
        }
        given = dict(zip(options[::2], options[1::2], strict=True))
        file = given.pop("FILE", SKILL_FILE)
        chosen = {name: value for name, value in {**usual, **given}.items() if value != ""}
        words = [word for pair in chosen.items() for word in pair]
        return self.workshop.run("augment", "propose", file, *words, "--json")


def a_run(output: str) -> dict[str, str]:
    """One recorded run."""
    return {
        "output": output,
        "output_sha256": digest(output),
        "recorded_at": "2026-07-01T10:00:00Z",
    }


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
