"""What cannot be read or does not fit together is an error of its own, and leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.augment_scene import (
    END,
    GOLDEN_FOLDER,
    PLACE,
    SCRIPT,
    SKILL,
    SKILL_FILE,
    AugmentScene,
    digest,
)
from support.repositories import commit, write
from support.workshop import Workshop


@pytest.fixture
def scene(workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AugmentScene:
    """A skill in a governed repository, in which nothing may be run."""
    from tipstaff.sandbox import selection

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was about to be run")

    monkeypatch.setattr(selection, "KINDS", ())
    monkeypatch.setattr("tipstaff.evidence.isolation.strongest", refuse)
    return AugmentScene.set(workshop, tmp_path / "outside")


def refused(scene: AugmentScene, *options: str | Path, **how: Any) -> tuple[str, str]:
    """Code and message of the error; nothing is written, run or recorded."""
    before = scene.workshop.own()
    answer = scene.run(*options, **how)
    assert answer.code == 2, answer.stdout
    assert scene.workshop.own() == before
    assert scene.workshop.branches() == []
    assert scene.workshop.records() == []
    error = answer.json["error"]
    assert error["fix"]
    return error["code"], f"{error['file']}: {error['field']}: {error['message']}"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda file: file.unlink(), "augment.dirty"),
        (lambda file: file.write_text(SKILL + "more\n"), "augment.dirty"),
        (lambda file: (file.unlink(), file.symlink_to("golden")), "augment.outside"),
    ],
    ids=["removed", "edited", "a link"],
)
def test_skill_that_is_not_as_committed_is_refused(
    scene: AugmentScene, change: Callable[[Path], Any], code: str
) -> None:
    change(scene.workshop.root / SKILL_FILE)
    runs = scene.outside / "runs.json"
    runs.write_text("{}")
    assert refused(scene, runs=runs)[0] == code


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (SKILL.replace(END, ""), "augment.markers", "SKILL.md:8"),
        (SKILL.replace("add-up", "other"), "augment.block_unknown", "no block 'add-up'"),
        ("# Nothing is marked\n", "augment.block_unknown", "no block 'add-up'"),
    ],
)
def test_skill_without_the_block_is_refused(
    scene: AugmentScene, text: str, code: str, said: str
) -> None:
    (scene.workshop.root / SKILL_FILE).write_text(text)
    commit(scene.workshop.root, "mark it otherwise")
    runs = scene.outside / "runs.json"
    runs.write_text("{}")
    found = refused(scene, runs=runs)
    assert found[0] == code
    assert said in found[1]


def test_skill_or_folder_outside_of_the_repository_is_refused(scene: AugmentScene) -> None:
    (scene.outside / "SKILL.md").write_text(SKILL)
    (scene.outside / "golden").mkdir()
    assert refused(scene, "FILE", scene.outside / "SKILL.md")[0] == "augment.outside"
    assert refused(scene, "--golden", scene.outside / "golden")[0] == "augment.outside"
    (scene.workshop.root / "link").symlink_to(scene.outside / "golden")
    assert refused(scene, "--golden", "link")[0] == "augment.outside"
    for one, other in (("round", "about"), ("about", "round")):
        (scene.workshop.root / one).symlink_to(other)
    for place in ("round", "round/golden", "a/" * 3000, "a" * 300):
        assert refused(scene, "--golden", place)[0] == "augment.outside"
        assert refused(scene, "FILE", place)[0] == "augment.outside"
    assert refused(scene, "FILE", "skills")[0] == "augment.skill"
    assert refused(scene, "FILE", "skills/absent.md")[0] == "augment.skill"


@pytest.mark.req("A-02")
@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({"inputs/none.txt": None, "inputs/two.txt": None}, "augment.cases", "no golden input"),
        ({"expected/two.txt": None}, "augment.cases", "'two.txt' is no pair"),
        ({"inputs/three.txt": "x\n"}, "augment.cases", "'three.txt' is no pair"),
        ({"inputs/huge": "x" * 300_000, "expected/huge": "x"}, "augment.cases", "300000 bytes"),
        (
            {f"{half}/{n}": "x\n" for n in range(40) for half in ("inputs", "expected")},
            "augment.cases",
            "at most 32",
        ),
    ],
    ids=["none", "no output", "no output for a new one", "huge", "many"],
)
def test_folder_without_whole_cases_is_refused(
    scene: AugmentScene, files: dict[str, str | None], code: str, said: str
) -> None:
    write(scene.workshop.root, {f"{GOLDEN_FOLDER}/{name}": text for name, text in files.items()})
    commit(scene.workshop.root, "change the cases")
    runs = scene.outside / "runs.json"
    runs.write_text("{}")
    found = refused(scene, runs=runs)
    assert found[0] == code
    assert said in found[1]


def test_case_that_is_a_link_or_not_as_committed_is_refused(scene: AugmentScene) -> None:
    folder = scene.workshop.root / GOLDEN_FOLDER
    runs = scene.recording()
    (folder / "expected/two.txt").write_text("9.99\n")
    assert refused(scene, runs=runs)[0] == "augment.dirty"
    (folder / "expected/two.txt").unlink()
    (folder / "expected/two.txt").symlink_to("/etc/hostname")
    commit(scene.workshop.root, "link")
    assert refused(scene, runs=runs)[0] == "augment.cases"
    assert refused(scene, "--golden", "README.md", runs=runs)[0] == "augment.cases"
    assert refused(scene, "--golden", "absent", runs=runs)[0] == "augment.cases"


@pytest.mark.parametrize(
    "name", ["Script.py", "script.sh", "a b.py", "-x.py", "$(id).py", "ü.py", "a.b.py", "test.PY"]
)
def test_script_of_another_name_is_refused(scene: AugmentScene, name: str) -> None:
    found = refused(scene, script=scene.script(name=name))
    assert found[0] == "augment.script"
    assert "name" in found[1]


def test_script_that_is_no_plain_text_is_refused(scene: AugmentScene) -> None:
    for data in (b"", b" \n", b"\xff\xfe", b"print(1)\0", b"\x7fELF\x02\x01\0", b"#" * 70_000):
        assert refused(scene, script=scene.script(data))[0] == "augment.script"
    link, pipe = scene.outside / "link.py", scene.outside / "pipe.py"
    link.symlink_to(scene.script())
    os.mkfifo(pipe)
    (scene.outside / "folder.py").mkdir()
    for name in ("link.py", "pipe.py", "folder.py", "absent.py"):
        assert refused(scene, script=scene.outside / name)[0] == "augment.script"


def test_script_whose_place_is_taken_is_refused(scene: AugmentScene) -> None:
    write(scene.workshop.root, {PLACE: SCRIPT})
    commit(scene.workshop.root, "add a script by hand")
    found = refused(scene)
    assert found[0] == "augment.script"
    assert PLACE in found[1]


def _first(value: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = value["inputs"][0]["runs"][0]
    return run


RECORDINGS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a digest of another output": (
        lambda value: _first(value).update(output="9.99\n"),
        "augment.recording",
    ),
    "an upper-case digest": (
        lambda value: _first(value).update(output_sha256=digest("x").upper()),
        "document.invalid",
    ),
    "runs of other prose": (
        lambda value: value.update(prose_sha256=digest("other")),
        "augment.recording",
    ),
    "runs of another block": (lambda value: value.update(block="other"), "augment.recording"),
    "an input that is not golden": (
        lambda value: value["inputs"][0].update(name="other.txt"),
        "augment.recording",
    ),
    "an input of other content": (
        lambda value: value["inputs"][0].update(input_sha256=digest("other")),
        "augment.recording",
    ),
    "an input twice": (
        lambda value: value["inputs"].append(value["inputs"][0]),
        "augment.recording",
    ),
    "no run at all": (
        lambda value: [each["runs"].clear() for each in value["inputs"]],
        "augment.recording",
    ),
    "no input": (lambda value: value["inputs"].clear(), "augment.recording"),
    "no model": (lambda value: value.pop("model"), "document.invalid"),
    "no date": (lambda value: _first(value).pop("recorded_at"), "document.invalid"),
    "a date that is none": (
        lambda value: _first(value).update(recorded_at="yesterday"),
        "document.invalid",
    ),
    "a member more": (lambda value: value.update(variance=0), "document.invalid"),
    "another version": (lambda value: value.update(schema_version=2), "document.invalid"),
    "an output that is no text": (lambda value: _first(value).update(output=5), "document.invalid"),
}


@pytest.mark.req("A-03")
@pytest.mark.parametrize("slip", sorted(RECORDINGS))
def test_recording_that_does_not_fit_is_refused(scene: AugmentScene, slip: str) -> None:
    change, code = RECORDINGS[slip]
    found = refused(scene, runs=scene.recording(change=change))
    assert found[0] == code
    assert str(scene.outside / "runs.json") in found[1]


@pytest.mark.req("A-03")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "json.syntax"),
        (b"{}", "document.invalid"),
        (b"[]", "document.invalid"),
        (b'{"a": 1, "a": 2}', "json.duplicate_key"),
        (b'{"a": NaN}', "json.number"),
        (b"\xff", "json.encoding"),
        (b"{} {}", "json.syntax"),
    ],
)
def test_recording_that_is_no_document_is_refused(
    scene: AugmentScene, data: bytes, code: str
) -> None:
    runs = scene.outside / "runs.json"
    runs.write_bytes(data)
    assert refused(scene, runs=runs)[0] == code


def test_recording_that_is_no_plain_file_is_refused(scene: AugmentScene) -> None:
    os.mkfifo(scene.outside / "pipe.json")
    (scene.outside / "link.json").symlink_to(scene.recording())
    for name in ("absent.json", "pipe.json", "link.json", "."):
        assert refused(scene, runs=scene.outside / name)[0] == "file.unreadable"


def test_golden_case_that_is_a_pipe_by_now_is_not_waited_for(scene: AugmentScene) -> None:
    runs = scene.recording()
    file = scene.workshop.root / GOLDEN_FOLDER / "inputs/two.txt"
    file.unlink()
    os.mkfifo(file)
    answer = scene.run(runs=runs)
    assert (answer.code, answer.json["error"]["code"]) == (2, "augment.dirty")


@pytest.mark.parametrize(
    "command", ["", "model | head", "echo $HOME", "a 'b", "x > y", "model; id", "FOO=1 model"]
)
def test_command_for_the_prose_that_is_none_is_refused(scene: AugmentScene, command: str) -> None:
    # An empty word would leave the option out.
    words = ("--prose-runs", "", "--prose-cmd", command or " ")
    assert refused(scene, *words)[0] == "augment.prose_command"


def test_two_sources_of_runs_are_a_usage_error(scene: AugmentScene) -> None:
    assert refused(scene, "--prose-cmd", "true")[0] == "usage"
    assert refused(scene, "--save-runs", "x.json")[0] == "usage"
