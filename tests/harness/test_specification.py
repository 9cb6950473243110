"""A specification is read strictly: whatever is wrong is named, and nothing is written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from support.governed import SPEC as WHOLE
from tipstaff.errors import ContractError
from tipstaff.harness.specification import from_object, load

# What a specification has to say, and no more.
SPEC = {name: WHOLE[name] for name in ("artifact_id", "modification", "before", "after")}
REQUIRED = [
    "artifact_id",
    "modification",
    "modification.modification_id",
    "modification.source",
    "modification.target",
    "modification.risk",
    "before",
    "after",
]
WRONG = {
    "artifact_id": ["", 5, None, []],
    "modification": [[], "m1", None],
    "modification.modification_id": ["", 5, None],
    "modification.source": [5, None, ["def"]],
    "modification.target": [
        "",
        "../x.py",
        "/etc/x.py",
        "a/../b.py",
        "a//b",
        "./a",
        "a\\b",
        "a\u202eb",
        5,
        None,
    ],
    "modification.requested_capabilities": ["net", [5], ["Net"], [""], None],
    "modification.risk": ["low", 1.2, -0.1, True, None, [], 0.1234567891, 1e400],
    "before": [[], 5, None, {"t1": "ok"}, {"t1": True}, {}, {"": 1}, {"t1": 1e6}, ""],
    "after": [{"scores": {"a": 1}}, {"scores": {"a": 1}, "producer": "x", "source_sha256": "y"}],
    "gate": [
        "module",
        "module:",
        ":attribute",
        5,
        {"max_risc": 0.5},
        {"max_risk": 2},
        {"tolerance": -1},
    ],
    "prover": ["module", "os:system()", 5, {}],
    "approval_store": [5, "", []],
    "approval_key": [5, "a:b", " ", "-x"],
    "rules": [
        5,
        {"min_efect": 0.01},
        {"require_proof": "yes"},
        {"min_tasks": 0},
        {"min_tasks": 1.5},
    ],
    "contaminated": ["false", 0, None],
    "risk": ["low", 1.2, True],
    "evidence": [[], {"conformal": "Accept"}, {"other": "accept"}],
    "rollback_current": [
        5,
        {"/etc/x": "a"},
        {"../x": "a"},
        {"a": 5},
        {"a": {"content": "x", "mode": "4755"}},
    ],
}


def changed(field: str, value: Any) -> dict[str, Any]:
    """The specification with one field set, or taken away where the value is ``...``."""
    spec = deepcopy(SPEC)
    if field.startswith("rollback_"):
        spec |= {"rollback_current": {}, "rollback_previous": {}}
    *above, name = field.split(".")
    place: dict[str, Any] = spec
    for step in above:
        place = place[step]
    if value is ...:
        del place[name]
    else:
        place[name] = value
    return spec


def refused(spec: Mapping[str, Any], folder: Path) -> ContractError:
    """The error that a specification is refused with."""
    with pytest.raises(ContractError) as caught:
        from_object(spec, folder)
    return caught.value


@pytest.mark.req("HC-06", "HS-01", "HS-02", "HS-06")
@pytest.mark.parametrize("field", REQUIRED)
def test_missing_field_is_named(field: str, tmp_path: Path) -> None:
    assert refused(changed(field, ...), tmp_path).field == field


@pytest.mark.req("HC-06", "HS-06", "HS-07", "HS-09")
@pytest.mark.parametrize("field", WRONG)
def test_wrong_value_is_named_with_its_field(field: str, tmp_path: Path) -> None:
    for value in WRONG[field]:
        error = refused(changed(field, value), tmp_path)
        assert (error.field or "").startswith(field), (value, error)
        assert error.fix


@pytest.mark.req("HS-17")
def test_unknown_key_is_named(tmp_path: Path) -> None:
    assert refused({**SPEC, "aproval_store": "x"}, tmp_path).field == "aproval_store"


@pytest.mark.req("HS-09")
def test_canary_risk_above_max_risk_is_an_error(tmp_path: Path) -> None:
    gate = {"max_risk": 0.5, "canary_risk": 0.6}
    assert refused({**SPEC, "gate": gate}, tmp_path).field == "gate.canary_risk"


@pytest.mark.req("HS-16")
@pytest.mark.parametrize("side", ["rollback_current", "rollback_previous"])
def test_one_side_of_a_rollback_alone_is_an_error(side: str, tmp_path: Path) -> None:
    error = refused({**SPEC, side: {"harness/f.py": "new"}}, tmp_path)
    assert {side, error.field} == {"rollback_current", "rollback_previous"}


@pytest.mark.req("HS-07", "HS-17")
def test_scores_in_a_file_beside_it_are_those_in_place(tmp_path: Path) -> None:
    (tmp_path / "before.json").write_text(json.dumps(SPEC["before"]))
    spec = tmp_path / "governed.json"
    spec.write_text(json.dumps({**SPEC, "before": "before.json"}))
    read = load(spec)
    given = from_object(SPEC, tmp_path)
    assert (read.before, read.after) == (given.before, given.after)
    assert dict(read.before.scores) == {"parse": 800_000_000, "plan": 700_000_000}


def test_scores_are_taken_to_the_ninth_decimal(tmp_path: Path) -> None:
    spec = {**SPEC, "before": {"a": 0.8333333333333334, "b": 1e-12, "c": -2}}
    scores = from_object(spec, tmp_path).before.scores
    assert dict(scores) == {"a": 833_333_333, "b": 0, "c": -2_000_000_000}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"[]", "before"),
        (b'{"a": 1, "a": 2}', "a"),
        (b'{"a": NaN}', "a"),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_named_file_that_is_no_object_of_scores_is_named(
    content: bytes, field: str | None, tmp_path: Path
) -> None:
    (tmp_path / "before.json").write_bytes(content)
    error = refused({**SPEC, "before": "before.json"}, tmp_path)
    assert (error.file or "").endswith("before.json")
    assert error.field == field


def test_named_file_that_cannot_be_read_is_named_with_its_field(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * (9 << 20))
    for name in ("absent.json", "pipe", "large", ".", "/dev/zero"):
        error = refused({**SPEC, "after": name}, tmp_path)
        assert (error.code, error.field) == ("file.unreadable", "after"), name


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff\xfe", b'{"risk": NaN}', b'{"a": 1, "a": 2}', b"[" * 1000]
)
def test_specification_that_is_no_plain_object_is_an_error(content: bytes, tmp_path: Path) -> None:
    spec = tmp_path / "governed.json"
    spec.write_bytes(content)
    with pytest.raises(ContractError) as caught:
        load(spec)
    assert caught.value.file == str(spec)


def test_digest_of_the_source_is_of_its_bytes(tmp_path: Path) -> None:
    one = from_object(SPEC, tmp_path)
    other = from_object(changed("modification.source", "def f(x):\n    return x + 2\n"), tmp_path)
    assert one.source_sha256 != other.source_sha256
