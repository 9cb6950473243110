"""Runs of the prose by a person's own command: named by the person alone, and recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.augment_scene import PROSE, SCRIPT, AugmentScene, digest
from support.workshop import Workshop
from tipstaff.healing.augment import runs

ANSWER = """\
import pathlib, sys
prose, given = (pathlib.Path(name).read_text() for name in sys.argv[1:])
assert prose == pathlib.Path({prose!r}).read_text()
print("3.30" if "bread" in given else "0.00")
"""


@pytest.fixture
def scene(workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AugmentScene:
    """A skill in a governed repository."""
    monkeypatch.setattr(runs, "_APART_S", 0.0)
    return AugmentScene.set(workshop, tmp_path / "outside")


def command(scene: AugmentScene, text: str) -> str:
    """A command that runs a program of the person's."""
    (scene.outside / "prose.md").write_text(PROSE)
    file = scene.outside / "model.py"
    file.write_text(text.format(prose=str(scene.outside / "prose.md")))
    return f"{sys.executable} {file}"


@pytest.mark.req("A-03")
def test_runs_by_a_command_are_measured_and_can_be_kept(scene: AugmentScene) -> None:
    kept = scene.outside / "kept.json"
    words = ("--prose-runs", "", "--prose-cmd", command(scene, ANSWER))
    more = ("--model", "model-9", "--save-runs", kept)
    told = scene.run(*words, *more)
    assert told.json["verdict"]["effect"] == "require_approval", told.stderr
    assert "running your own command 16 times" in told.stderr
    assert "no sandbox" in told.stderr
    prose = told.json["augment"]["prose"]
    assert (prose["source"], prose["model"]) == ("command", "model-9")
    for each in told.json["augment"]["inputs"]:
        assert each["prose_outputs"] == [each["expected_sha256"]] * 8
    saved = json.loads(kept.read_text())
    assert saved["inputs"][0]["runs"][0]["output_sha256"] == digest("0.00\n")
    again = scene.run("--prose-runs", kept)
    assert again.json["verdict"]["effect"] == "require_approval"
    assert again.json["augment"]["prose"]["sha256"] == prose["sha256"]


@pytest.mark.req("A-05")
def test_command_is_not_run_for_a_block_that_does_not_qualify(scene: AugmentScene) -> None:
    left = scene.outside / "ran"
    program = command(scene, f"import pathlib\npathlib.Path({str(left)!r}).touch()\n")
    script = scene.script(SCRIPT + "\n\nimport subprocess\n\nsubprocess.run('id', shell=True)\n")
    told = scene.run("--prose-runs", "", "--prose-cmd", program, script=script)
    assert told.json["verdict"]["effect"] == "deny"
    assert not left.exists()


@pytest.mark.req("A-03")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit(7)", "ended with 7"),
        ("import sys; sys.stdout.buffer.write(bytes([255]))", "not UTF-8"),
        ("print('x' * 2000000)", "more than"),
    ],
)
def test_command_that_fails_is_an_error_and_nothing_is_proposed(
    scene: AugmentScene, text: str, said: str
) -> None:
    told = scene.run("--prose-runs", "", "--prose-cmd", command(scene, text))
    assert (told.code, told.json["error"]["code"]) == (3, "augment.prose_failed")
    assert said in told.json["error"]["message"]
    assert scene.workshop.branches() == []
    assert scene.workshop.records() == []


def test_program_that_is_not_there_is_an_error(scene: AugmentScene) -> None:
    told = scene.run("--prose-runs", "", "--prose-cmd", "/absent/model --ask")
    assert (told.code, told.json["error"]["code"]) == (3, "augment.prose_failed")


def test_command_that_prints_without_end_is_ended_at_the_limit(scene: AugmentScene) -> None:
    told = scene.run("--prose-runs", "", "--prose-cmd", "yes")
    assert told.code == 3
    assert "more than" in told.json["error"]["message"]


@pytest.mark.parametrize("place", [".", "model.py/runs.json", "/proc/absent/runs.json"])
def test_place_for_the_runs_that_cannot_be_written_is_refused_before_anything_is_run(
    scene: AugmentScene, place: str
) -> None:
    left = scene.outside / "ran"
    words = ("--prose-cmd", command(scene, f"open({str(left)!r}, 'w')"))
    told = scene.run("--prose-runs", "", *words, "--save-runs", scene.outside / place)
    assert (told.code, told.json["error"]["code"]) == (2, "file.unwritable")
    assert not left.exists()
    assert not scene.workshop.branches()


@pytest.mark.parametrize("model", ["a\x1b[2Jb", "m" * 257, "right\u202eleft"])
def test_name_of_a_model_that_cannot_be_recorded_is_refused_before_anything_is_run(
    scene: AugmentScene, model: str
) -> None:
    left = scene.outside / "ran"
    words = ("--prose-cmd", command(scene, f"open({str(left)!r}, 'w')"))
    told = scene.run("--prose-runs", "", *words, "--model", model)
    assert (told.code, told.json["error"]["field"]) == (2, "--model")
    assert not left.exists()
    assert not scene.workshop.branches()
