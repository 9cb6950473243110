"""Whatever is wrong with a specification exits 2 and names its field, and nothing is written.

The cases are made of the models, so that a new field is tried by itself.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.command_line import Result, run
from support.harness_scene import changed
from tipstaff.documents.base import Contract
from tipstaff.documents.governed import AttestedScores, GovernedSpec
from tipstaff.documents.harness_settings import SpecGate, SpecRules

# Members that hold an object which a model of its own describes once it is read.
INLINE: dict[str, type[Contract]] = {"gate": SpecGate, "rules": SpecRules, "before": AttestedScores}
WHOLE: dict[str, Any] = {
    "gate": {},
    "rules": {},
    "evidence": {},
    "before": {"scores": {"parse": 0.8, "plan": 0.7}, "producer": "ci", "source_sha256": "0" * 64},
}
# Of every JSON type, and beyond every bound that a member has.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, 0.1234567891, "", "text", "Text", " ", [], [5]),
    *([""], [None], {}, {"unknown": 1}, "x" * 1001, "a\x00b", "\u202e"),
)
# Members that may name a file.
FILES = ("before", "after", "rules", "rollback_current", "rollback_previous")


def fields(model: type[Contract], above: str = "") -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Each member by its dotted path, with its schema and whether it must be there; inner models too."""
    whole = model.model_json_schema()
    yield from _fields(whole, whole, above)


def _fields(
    schema: dict[str, Any], whole: dict[str, Any], above: str
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for name, one in schema["properties"].items():
        path = f"{above}.{name}" if above else name
        yield path, {**one, "$defs": whole.get("$defs", {})}, name in schema.get("required", ())
        if "$ref" in one:
            yield from _fields(whole["$defs"][one["$ref"].rpartition("/")[2]], whole, path)
        elif not above and name in INLINE:
            yield from fields(INLINE[name], name)


def misfits(schema: dict[str, Any]) -> Iterator[Any]:
    """Values that the schema itself refuses."""
    validator = jsonschema.Draft202012Validator(schema)
    numbers = ("1e400", "NaN", "-Infinity")
    yield from (value for value in VALUES if not validator.is_valid(value))
    yield from (Raw(text) for text in numbers)
    for choice in _choices(schema):
        yield from (choice.upper(), choice.capitalize(), f"{choice} ", f" {choice}")


def _choices(schema: dict[str, Any]) -> Iterator[str]:
    for one in (schema, *schema.get("anyOf", ())):
        yield from (choice for choice in one.get("enum", ()) if isinstance(choice, str))


class Raw(str):
    """JSON text that stands for itself."""


def written(spec: Any) -> str:
    """The specification as text, in which raw texts are taken over as they are."""
    raws: list[str] = []

    def plain(value: Any) -> Any:
        if isinstance(value, Raw):
            raws.append(value)
            return f"@raw{len(raws) - 1}@"
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return value

    text = json.dumps(plain(spec))
    for number, raw in enumerate(raws):
        text = text.replace(f'"@raw{number}@"', raw)
    return text


def with_value(path: str, value: Any) -> dict[str, Any]:
    """The specification with a member set by its dotted path; ``...`` takes it away."""
    top = path.split(".")[0]
    spec = changed(**({top: deepcopy(WHOLE[top])} if "." in path and top in WHOLE else {}))
    *above, name = path.split(".")
    place = spec
    for step in above:
        place = place[step]
    if value is ...:
        place.pop(name, None)
    else:
        place[name] = value
    return spec


ALL = {path: (schema, required) for path, schema, required in fields(GovernedSpec)}


class Desk:
    """A folder with a specification, which is only ever refused here."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def refused(self, spec: Any, verb: str = "run") -> dict[str, Any]:
        """The error that a specification is refused with: exit 2, one document, and nothing written."""
        (self.root / "governed.json").write_text(written(spec), encoding="utf-8")
        before = sorted(self.root.rglob("*"))
        answer: Result = run(
            *("governed-harness", verb, "--spec", "governed.json", "--json"), cwd=self.root
        )
        assert answer.code == 2, (spec, answer.stdout)
        assert sorted(self.root.rglob("*")) == before
        error: dict[str, Any] = answer.json["error"]
        assert error["fix"]
        return error


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.req("HC-06", "HS-01", "HS-02", "HS-03", "HS-04", "HS-06", "HS-07")
@pytest.mark.promise("row 1")
@pytest.mark.parametrize(
    "path",
    # Without scores it is no wrapper of scores.
    [path for path, (_, required) in ALL.items() if required and path != "before.scores"],
)
def test_member_that_is_missing_is_named(desk: Desk, path: str) -> None:
    for verb in ("run", "plan"):
        assert desk.refused(with_value(path, ...), verb)["field"] == path


@pytest.mark.req("HC-06", "HS-05", "HS-06", "HS-09", "HS-13", "HS-14", "HS-15")
@pytest.mark.promise("row 2", "row 3", "row 4", "row 5", "row 6")
@pytest.mark.parametrize("path", ALL)
def test_value_that_does_not_fit_is_named(desk: Desk, path: str) -> None:
    if path == "before.scores":
        return  # without an object of scores it is no wrapper of them, but scores itself
    for value in misfits(ALL[path][0]):
        error = desk.refused(with_value(path, value))
        assert (error["field"] or "").startswith(path), (value, error)


@pytest.mark.req("HC-06", "HS-17")
@pytest.mark.promise("row 11", "row 12")
@pytest.mark.parametrize("path", ALL)
def test_key_in_another_spelling_is_named(desk: Desk, path: str) -> None:
    above, _, name = path.rpartition(".")
    for other in (name.upper(), name.capitalize(), f"{name} ", name.replace("_", "-") + "s"):
        place = f"{above}.{other}" if above else other
        if above == "before":
            continue  # the scores of tasks, whatever they are called
        assert desk.refused(with_value(place, 1))["field"] == place


@pytest.mark.req("HS-04", "HS-16")
@pytest.mark.promise("row 22", "row 23", "BR-11")
@pytest.mark.parametrize("field", ["modification.target", "rollback_current", "rollback_previous"])
@pytest.mark.parametrize(
    "path",
    [
        *("../f.py", "/etc/passwd", "a/../../f.py", "a/..", "..", ".", "./f.py", "a//b", "a/"),
        *("~/../f.py/", "a\\..\\b", "a/\u202ef.py", "a\nb", "a\x00b", ""),
    ],
)
def test_path_that_leaves_the_folder_is_named(desk: Desk, field: str, path: str) -> None:
    value: Any = path if field == "modification.target" else {path: "content"}
    assert desk.refused(with_value(field, value))["field"].startswith(field)


@pytest.mark.req("HC-06", "HS-07")
@pytest.mark.promise("row 14")
@pytest.mark.parametrize("field", FILES)
def test_file_that_is_a_device_a_pipe_or_100_megabytes_is_named(desk: Desk, field: str) -> None:
    os.mkfifo(desk.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(desk.root / "socket"))
    with (desk.root / "large").open("wb") as file:
        file.truncate(100 << 20)
    (desk.root / "folder").mkdir()
    (desk.root / "loop").symlink_to("loop")
    for name in ("pipe", "socket", "large", "folder", "loop", "absent", "/dev/zero", "/dev/stdin"):
        error = desk.refused(with_value(field, name))
        assert (error["code"], error["field"]) == ("file.unreadable", field), name


@pytest.mark.req("HS-11")
def test_store_that_can_be_no_file_is_named(desk: Desk) -> None:
    os.mkfifo(desk.root / "pipe")
    (desk.root / "folder").mkdir()
    for name in ("pipe", "folder", "/dev/null"):
        error = desk.refused(with_value("approval_store", name))
        assert (error["code"], error["field"]) == ("file.unreadable", "approval_store"), name


@pytest.mark.req("HC-06")
@pytest.mark.promise("row 14")
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_specification_that_is_no_readable_file_exits_2(tmp_path: Path, verb: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(100 << 20)
    before = sorted(tmp_path.rglob("*"))
    for name in ("pipe", "large", ".", "absent", "/dev/zero"):
        answer = run("governed-harness", verb, "--spec", name, "--json", cwd=tmp_path)
        assert (answer.code, answer.json["error"]["file"]) == (2, name)
    assert sorted(tmp_path.rglob("*")) == before
