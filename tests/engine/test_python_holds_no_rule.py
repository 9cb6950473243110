"""Nothing in the Python weighs a fact: no tier, class, effect or number of policy's is compared there."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tipstaff
from tipstaff import declared

SOURCE = Path(tipstaff.__file__).parent
POLICY = declared.folder("policy") / "tipstaff"

TIERS = {"off", "propose", "auto-if-tests-pass", "auto"}
CLASSES = {"audit", "augment", "heal_additive", "heal_breaking", "heal_warning"}
EFFECTS = {"allow", "require_approval", "escalate", "deny"}
BACKENDS = {"nsjail", "bubblewrap", "gvisor", "firecracker"}
ACTORS = {"human", "agent", "ci"}
FORBIDDEN = {"raw_shell_execution", "network_egress_from_sandbox"}
WORDS = TIERS | CLASSES | EFFECTS | BACKENDS | ACTORS | FORBIDDEN | {"strict", "dev"}
DERIVED = {"low_risk", "severity", "eligible", "additive", "purely_additive"}

# Where such a word may stand, and why it is no rule there.
ALLOWED = {
    "authoring": "varies and describes policies; no change and no act is judged there",
    "cli/choice.py": "turns a person's answer into the word for it, and lists whom it never asks",
    "cli/output.py": "colours of effects",
    "cli/policy/new.py": "what a new rule can be made to give",
    "cli/program.py": "names of commands",
    "documents": "the words that documents may hold",
    "engine/engine.py": "the effects that can be carried out at all",
    "engine/chaos.py": "what a fault must come to; it judges no document, and nothing follows from it",
    "engine/chaos_rows.py": "the allow that a fault must keep from being believed",
    "engine/answer.py": "the effects that stand for a missing answer; none is allow",
    "enforce/pull_request.py": "describes a change that was allowed or awaits approval, and no other",
    "enforce/enforcer.py": "reads a derived fact out of a verdict, to show it",
    "evidence/capability_tables.py": "the names of what detection finds",
    "healing/proposal.py": "chooses the profile that both files agree to; policy sees which one ran",
    "pdp/overlay_rules.py": "names of the sets that an overlay may add to",
    "pdp/keeper.py": "the kernel's own word for refusing a process new groups",
    "project.py": "what kind of actor the environment names",
    "sandbox": "names of backends and profiles, and how each isolates",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module by its path."""
    for file in sorted(SOURCE.rglob("*.py")):
        yield file.relative_to(SOURCE).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def places_of(words: set[str]) -> dict[str, set[str]]:
    """Module: the words that are string constants in it, outside of type annotations and docstrings."""
    found: dict[str, set[str]] = {}
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in words:
                found.setdefault(name, set()).add(node.value)
    return found


def is_allowed(module: str) -> bool:
    """Whether the module or its package stands in the list."""
    return module in ALLOWED or module.split("/")[0] in ALLOWED


def numbers_of(value: Any) -> Iterator[int]:
    """Every number in some JSON."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value


@pytest.mark.req("E-01")
def test_words_of_policy_stand_only_where_they_decide_nothing() -> None:
    elsewhere = {
        module: words for module, words in places_of(WORDS).items() if not is_allowed(module)
    }
    assert not elsewhere


def test_list_of_places_names_no_place_in_vain() -> None:
    found = places_of(WORDS | DERIVED)
    used = {name for module in found for name in (module, module.split("/")[0])}
    assert set(ALLOWED) <= used


@pytest.mark.req("E-01")
def test_derived_facts_are_never_derived_in_python() -> None:
    named: dict[str, set[str]] = {}
    for module, tree in modules():
        for node in ast.walk(tree):
            name = None
            if isinstance(node, ast.Name | ast.Attribute | ast.arg | ast.FunctionDef | ast.keyword):
                name = getattr(node, "id", None) or getattr(node, "attr", None)
                name = name or getattr(node, "arg", None) or getattr(node, "name", None)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = node.value
            if name is not None and name.strip("_") in DERIVED:
                named.setdefault(module, set()).add(name)
    shown = {"cli/sarif.py": {"severity"}, "documents/finding.py": {"severity"}}
    assert named == {"enforce/enforcer.py": {"low_risk"}, **shown}


@pytest.mark.req("E-01")
def test_numbers_of_policy_stand_in_no_module() -> None:
    about_source = {"conventions"}
    files = [file for file in POLICY.glob("*/data.json") if file.parent.name not in about_source]
    data = [json.loads(file.read_text()) for file in files]
    numbers = {number for value in data for number in numbers_of(value) if number > 200}
    assert {900, 86400, 600} <= numbers
    own = {
        ("pdp/sidecar.py", 900): "seconds until an unused sidecar ends",
        ("pdp/installation.py", 600): "seconds that building OPA may take",
        ("authoring/evaluation.py", 600): "seconds that many evaluations may take",
        ("cli/policy/tests.py", 600): "seconds that the tests of a policy may take",
    }
    found = {
        (module, node.value)
        for module, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and node.value in numbers
    }
    assert found == set(own)


@pytest.mark.req("E-01")
def test_compared_strings_are_no_tiers_or_classes() -> None:
    compared = {
        (module, constant.value)
        for module, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        for constant in ast.walk(side)
        if isinstance(constant, ast.Constant) and constant.value in TIERS | CLASSES | FORBIDDEN
    }
    assert not compared
