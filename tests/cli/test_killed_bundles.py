"""Killed while a bundle is signed, brought back or taken up: the old or the new one is there, whole and verified."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.documents import a_change
from support.processes import Nursery, a_nursery
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents import strict_yaml
from tipstaff.pdp.bundle import load, overlay_file
from tipstaff.pdp.marks import Marks

RULE = 'package org.house\n\ndeny contains "{0}" if input.kind == "change"\n'
ACTS = ("sign", "rollback", "decide")


@pytest.fixture
def nursery(project: Path, tmp_path: Path) -> Iterator[Nursery]:
    """Runs in the project, which lets additive repairs through."""
    Workshop(project).configure(autonomy=AUTOMATIC)
    with a_nursery(project, tmp_path / "nursery") as nursery:
        yield nursery


def _write(root: Path, word: str) -> None:
    file = root / "policy/org/house/house.rego"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(RULE.format(word))


def _leftovers(root: Path) -> list[Path]:
    folders = (root, root / ".tipstaff/bundles", Path(os.environ["XDG_STATE_HOME"]))
    return [
        path
        for folder in folders
        for path in (folder.glob(".*") if folder == root else folder.rglob(".*.*"))
        if path.name.startswith((".policy.tar.gz", ".marks", ".org+")) or ".json." in path.name
    ]


@pytest.mark.req("E-08", "RB-05")
@pytest.mark.promise("B7", "row 52")
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=[pytest.mark.nightly])])
def test_kill_at_any_moment_leaves_the_old_or_the_new_bundle(
    project: Path, nursery: Nursery, kills: int
) -> None:
    seed = int(os.environ.get("TIPSTAFF_TEST_SEED", "20260701"))
    print(f"seed {seed}")
    chance = random.Random(seed)
    file, marks = overlay_file(project / "policy"), Marks(project / ".tipstaff")
    public = strict_yaml.load(project / "tipstaff.yaml")["policy"]["public_key"]
    document = json.dumps(a_change()).encode()
    usual = dict.fromkeys(ACTS, 60.0)
    killed = dict.fromkeys(ACTS, 0)

    def sign(word: str) -> str:
        _write(project, word)
        signed = nursery.run("policy", "sign", "--json")
        assert signed.code == 0, signed.stderr
        usual["sign"] = min(usual["sign"], signed.took)
        return str(signed.json["revision"])

    def decide(word: str) -> None:
        said = nursery.run("decide", "-", "--json", stdin=document)
        assert said.json["reasons"][0]["message"] == word
        usual["decide"] = min(usual["decide"], said.took)

    first = sign("first")
    decide("first")
    for number in range(kills):
        act, word = ACTS[number % len(ACTS)], f"word {number}"
        if act == "decide":
            sign(word)
        _write(project, word)
        old, before = load(file, "org", public), file.read_bytes()
        usual["rollback"] = min(usual["rollback"], usual["sign"] + usual["decide"])
        call = {
            "sign": ("policy", "sign"),
            "rollback": ("policy", "rollback", first, "--reason", "too strict"),
            "decide": ("decide", "-"),
        }[act]
        ended = nursery.run(*call, stdin=document, kill_after=chance.uniform(0, usual[act]))
        killed[act] += ended.code == -9
        # A machine that is less busy than before is quicker, too.
        usual[act] = usual[act] if ended.code == -9 else min(usual[act], ended.took)

        found = load(file, "org", public)
        assert found == old if file.read_bytes() == before else found.sequence > old.sequence
        assert found.reissues in (old.reissues, first if act == "rollback" else None)
        assert marks.highest("org") in (old.sequence - 1, old.sequence)
        assert sign(word) == found.revision or found.reissues or found == old
        decide(word)
        assert marks.highest("org") == load(file, "org", public).sequence
        assert Workshop(project).is_sound()
        assert len(_leftovers(project)) <= 1
    sign("last")
    decide("last")
    assert _leftovers(project) == []
    print(f"killed {killed}")
    assert sum(killed.values()) >= kills / 4
