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

# Which of these words may stand in which module, and why each is no rule there.
ALLOWED: dict[str, tuple[set[str], str]] = {
    "authoring/reference.py": (EFFECTS, "the reference's column of what a rule of a name gives"),
    "authoring/variations.py": (
        {"agent", "ci", "nsjail", *FORBIDDEN},
        "facts to ask about; the answers are Rego's",
    ),
    "cli/augment.py": ({"augment"}, "the name of a command, and of a member of its JSON"),
    "cli/choice.py": (
        {"audit", "auto-if-tests-pass", "propose"},
        "the words for a person's answer, and the class that nobody is asked about",
    ),
    "cli/contracts/__init__.py": ({"propose"}, "the name of a command"),
    "cli/mcp/serve.py": ({"propose"}, "the name of a scope, which is a list of tools"),
    "cli/output.py": (EFFECTS, "colours of effects"),
    "cli/policy/new.py": (EFFECTS - {"allow"}, "what a new rule can be made to give"),
    "cli/sandbox/choice.py": ({"strict"}, "the profile that `sandbox escape` tries backends under"),
    "cli/sandbox/escape.py": ({"strict"}, "the same, for its cases"),
    "cli/program.py": ({"audit", "augment"}, "the names of commands"),
    "documents/audit.py": (EFFECTS, "the words that a record may hold"),
    "documents/base.py": (TIERS | CLASSES | EFFECTS | ACTORS, "the words that documents may hold"),
    "documents/config.py": (BACKENDS | {"dev", "strict"}, "the words that a file may hold"),
    "documents/sandbox.py": (
        {"dev", "gvisor", "strict"},
        "the words that a profile and a result may hold",
    ),
    "documents/verdict.py": (
        {"allow", "require_approval"},
        "a verdict's own consistency: its name for allow, and what must go with the others",
    ),
    "enforce/pull_request.py": (
        {"allow", "require_approval"},
        "describes a change that was allowed or awaits approval, and refuses any other",
    ),
    "engine/answer.py": ({"deny", "escalate"}, "what stands for a missing answer; none is allow"),
    "engine/chaos.py": (
        {"allow", "augment", "deny"},
        "a class to ask about, and what a fault must come to; nothing follows from it",
    ),
    "engine/chaos_rows.py": ({"allow"}, "the allow that a fault must keep from being believed"),
    "engine/engine.py": ({"allow", "require_approval"}, "what can be carried out at all"),
    "evidence/capability_tables.py": (FORBIDDEN, "the names of what detection finds"),
    "evidence/isolation.py": (
        {"dev", "strict"},
        "the profile that both files agree to; policy sees which one ran, and judges it",
    ),
    "healing/augment/proposal.py": ({"augment"}, "the class that it proposes under, and no other"),
    "healing/repair/proposal.py": ({"propose"}, "the act that policy is asked about"),
    "healing/proposal.py": ({"augment"}, "the name of a member of the evidence"),
    "pdp/keeper.py": ({"deny"}, "the kernel's own word for refusing a process new groups"),
    "project.py": (ACTORS, "what kind of actor the environment names"),
    "sandbox/escape/traps.py": ({"dev"}, "the folder of devices"),
    "cli/sandbox/install.py": ({"gvisor"}, "the backend whose program can be built"),
    "sandbox/gvisor/backend.py": ({"gvisor"}, "its own name"),
    "sandbox/bubblewrap/backend.py": ({"bubblewrap"}, "its own name"),
    "sandbox/microvm/firecracker.py": ({"firecracker"}, "its own name"),
    "sandbox/microvm/guest.py": ({"off"}, "the word by which Go downloads nothing"),
    "sandbox/microvm/initramfs.py": ({"dev"}, "the folder of devices"),
    "sandbox/nsjail/backend.py": ({"nsjail"}, "its own name"),
    "sandbox/prober.py": ({"dev", "gvisor"}, "the folder of devices; the name of a kernel"),
    "surfaces/principal.py": (
        {"agent", "propose"},
        "what every caller of a surface is, and never anything else; the name of a scope",
    ),
    "sandbox/selection.py": ({"strict"}, "the profile that `doctor` tries backends under"),
}
# Findings of a linter carry a word for their weight, which Rego gives; these show it.
SHOWN = {
    "cli/contracts/shown.py": {"low_risk", "severity"},
    "cli/sarif.py": {"severity"},
    "documents/contract_diff.py": {"low_risk", "severity"},
    "documents/finding.py": {"severity"},
    "enforce/drift_section.py": {"severity"},
    "enforce/enforcer.py": {"low_risk"},
    "healing/contracts.py": {"severity"},
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


def numbers_of(value: Any) -> Iterator[int]:
    """Every number in some JSON."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value


@pytest.mark.req("E-01")
def test_words_of_policy_stand_only_where_they_decide_nothing() -> None:
    assert places_of(WORDS) == {module: words for module, (words, _) in ALLOWED.items()}


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
    assert named == SHOWN


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
