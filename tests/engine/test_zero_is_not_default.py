"""Zero and empty are values: each setting and fact says what it says, or is refused, and none means "the usual"."""

from __future__ import annotations

import copy
import json
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from support.documents import a_change, a_file
from support.refused_documents import CHANGE
from support.rego import evaluate
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import ActionClass
from tipstaff.documents.config import LocalConfig, TeamConfig
from tipstaff.documents.input import ChangeInput
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa

VENDORED = a_change(resource__files=[a_file("skills/vendor/x.md")])
SHELL = a_change(action__found_capabilities=["raw_shell_execution"])
BREAKING = a_change("heal_breaking")
REFUSED = "refused"
# Setting: what is asked, and the first code of the answer; what no rule reads leaves the tier's own answer.
USUAL = (a_change(), "tier.auto_if_tests_pass")
NONE_PINNED = (BREAKING, "tier.auto_if_tests_pass")
STILL_PINNED = (BREAKING, "gate.require_human")
STILL_FORBIDDEN = (SHELL, "forbid:raw_shell_execution")
NO_PATH = (a_change(), "path.not_allowed")
NO_BACKEND = (a_change(), "sandbox.left_out")
NOT_A_FILE = (a_change(), REFUSED)
UNKNOWN = (a_change(), "config.invalid")
BOTH: dict[str, tuple[dict[str, Any], str]] = {
    "approval_gates": STILL_PINNED,
    "approval_gates.forbid": STILL_FORBIDDEN,
    "paths": USUAL,
    "paths.allowed": NO_PATH,
    "sandbox": USUAL,
    "sandbox.backends": NO_BACKEND,
    "sandbox.require": USUAL,
    "sandbox.require.heal_additive": USUAL,
    "sandbox.require.heal_additive.held": USUAL,
    "sandbox.limits": USUAL,
    "sandbox.limits.cpu_s": NOT_A_FILE,
    "sandbox.limits.memory_mb": NOT_A_FILE,
    "sandbox.limits.wall_s": NOT_A_FILE,
    "sandbox.limits.processes": NOT_A_FILE,
    "approvals": USUAL,
    "pause": USUAL,
}
MEANT: dict[str, dict[str, tuple[dict[str, Any], str]]] = {
    "team": {
        **BOTH,
        "autonomy": (a_change(), "tier.propose"),
        "approval_gates.require_human": NONE_PINNED,
        "paths.read_only": (VENDORED, "tier.auto_if_tests_pass"),
        "tests": USUAL,
        "tests.paths": USUAL,
        "policy": (a_change(), "bundle.no_key"),
        "policy.public_keys": UNKNOWN,
        "policy.threshold": NOT_A_FILE,
        "contracts": USUAL,
        "contracts.servers": USUAL,
        "contracts.dependents": USUAL,
        "contracts.servers.*": NOT_A_FILE,
        "contracts.servers.*.command": NOT_A_FILE,
        "contracts.servers.*.headers": NOT_A_FILE,
        "contracts.servers.*.environment": NOT_A_FILE,
        "contracts.servers.*.client_capabilities": NOT_A_FILE,
        # What these say is for modifications, and tried with them.
        "harness": USUAL,
        "harness.granted_capabilities": USUAL,
        "harness.max_risk": USUAL,
        "harness.canary_risk": USUAL,
        "harness.tolerance": USUAL,
        "harness.allowed_imports": USUAL,
        "harness.denied_imports": USUAL,
        "harness.denied_calls": USUAL,
        "harness.min_effect": USUAL,
        "harness.min_tasks": NOT_A_FILE,
        "harness.allowed_suffixes": USUAL,
    },
    # One person's file loosens nothing, whatever it leaves empty.
    "local": {
        **BOTH,
        "autonomy": USUAL,
        "approval_gates.require_human": STILL_PINNED,
        "paths.read_only": (VENDORED, "path.read_only"),
        "remembered_choices": USUAL,
    },
}
MODELS: dict[str, type[BaseModel]] = {"team": TeamConfig, "local": LocalConfig}
# Where an empty fact leaves an allowed change allowed, and what it says.
HARMLESS = {
    "action.requested_capabilities": "nothing is asked for",
    "action.found_capabilities": "somebody looked and found nothing",
    "resource.files.0.added": "a file that gains no line",
    "resource.files.0.removed": "a file that loses no line",
    "evidence.tests.failed": "no test failed",
    "evidence.tests.skipped": "no test was skipped",
    "evidence.drift.contracts": "a change that touches no pinned contract",
    "context.pause.switches": "no switch is set",
}


def emptied(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every path of a model whose value can be zero or empty, with that value."""
    for name, field in model.model_fields.items():
        place = f"{path}{field.alias or name}"
        for kind in _members(field.annotation):
            yield from _emptied(kind, place)


def _emptied(kind: Any, place: str) -> Iterator[tuple[str, Any]]:
    origin = typing.get_origin(kind) or kind
    if origin is int:
        yield place, 0
    elif origin in (list, tuple):
        yield place, []
        for inner in typing.get_args(kind):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from emptied(inner, f"{place}.0.")
    elif origin is dict:
        yield place, {}
        key, inner = typing.get_args(kind)
        name = "heal_additive" if key is ActionClass else "*"
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield f"{place}.{name}", {}
            yield from emptied(inner, f"{place}.{name}.")
    elif isinstance(origin, type) and issubclass(origin, BaseModel):
        yield place, {}
        yield from emptied(origin, f"{place}.")


def _members(annotation: Any) -> list[Any]:
    """The kinds that a field can have, without None and without the marks of a constraint."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _members(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [kind for part in typing.get_args(annotation) for kind in _members(part)]
    return [] if annotation is type(None) else [annotation]


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_that_can_be_zero_or_empty_has_a_meaning_here(name: str) -> None:
    settings = {path for path, _ in emptied(MODELS[name])}
    assert settings - {"schema_version"} == set(MEANT[name])


@pytest.mark.promise("ahead 21")
@pytest.mark.parametrize("name", MODELS)
def test_empty_setting_means_what_it_says_or_is_refused(workshop: Workshop, name: str) -> None:
    workshop.configure(autonomy={**AUTOMATIC, "heal_breaking": "auto-if-tests-pass"})
    file = workshop.root / {"team": "tipstaff.yaml", "local": "tipstaff.local.yaml"}[name]
    sound = strict_yaml.load(file) if file.exists() else {"schema_version": 1}
    found = {}
    with workshop.engine() as engine:
        for path, empty in emptied(MODELS[name]):
            if path == "schema_version":
                continue
            file.write_text(json.dumps(_with(sound, path, empty)))
            try:
                found[path] = engine.decide(MEANT[name][path][0]).codes[0]
            except ContractError as error:
                assert error.code == "document.invalid" and path.startswith(str(error.field))
                found[path] = REFUSED
    assert found == {path: code for path, (_, code) in MEANT[name].items()}


@pytest.mark.promise("ahead 21", "row 28")
def test_empty_fact_opens_no_gate(opa: Opa, tmp_path: Path) -> None:
    facts = [each for each in emptied(ChangeInput) if not each[0].startswith("context.config.")]
    cases = {path: _with(CHANGE, path, empty) for path, empty in facts if path != "schema_version"}
    query = "[verdict.effect | some verdict in data.tipstaff.decision.verdicts]"
    effects = evaluate(opa, query, {"documents": list(cases.values())}, tmp_path)
    allowed = {path for path, effect in zip(cases, effects, strict=True) if effect == "allow"}
    assert allowed == set(HARMLESS)


def _with(value: Any, path: str, empty: Any) -> Any:
    """A copy in which the value at a path is this one; ``*`` is a name, and what is missing on the way is made."""
    new = copy.deepcopy(value)
    place = new
    *folders, name = path.split(".")
    for folder in folders:
        if isinstance(place, list):
            place = place[int(folder)]
            continue
        if place.get(folder) is None:
            place[folder] = {}
        place = place[folder]
    place[name] = empty
    return new
