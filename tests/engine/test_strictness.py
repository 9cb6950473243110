"""The strictest reason wins whatever the order, every reason is told, and a caution never loosens."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.documents import SANDBOX, a_change, a_file, changed, complete, counts
from support.workshop import AUTOMATIC, Workshop
from tipstaff import declared
from tipstaff.engine import Engine
from tipstaff.pdp.opa import Opa

RANKS = {"allow": 0, "require_approval": 1, "escalate": 2, "deny": 3}
RULE = """package org.{name}

{effect} contains {{"code": "org.{name}", "message": "m", "solution": "s"}}
"""
RULES = {"first": "deny", "second": "require_approval", "third": "require_approval"}


@pytest.mark.promise("row 36", "BR-16")
@pytest.mark.req("E-07")
def test_deny_wins_over_two_approvals_in_each_of_six_orders(opa: Opa, tmp_path: Path) -> None:
    for name, effect in RULES.items():
        (tmp_path / f"{name}.rego").write_text(RULE.format(name=name, effect=effect))
    bundles = {"tipstaff": "r1", "org": "o1"}
    facts = {"tipstaff": {"bundle": {"revision": "r1", "data_digest": ""}}}
    facts["org"] = {"bundle": {"revision": "o1", "data_digest": ""}}
    (tmp_path / "data.json").write_text(json.dumps(facts))
    team = {"schema_version": 1, "autonomy": AUTOMATIC}
    document = complete(a_change(), bundles, config__team=team, config__team_sha256="1" * 64)
    (tmp_path / "input.json").write_text(json.dumps(document))
    answers = []
    for order in itertools.permutations(RULES):
        files = [tmp_path / f"{name}.rego" for name in order]
        loaded = [declared.folder("policy") / "tipstaff", tmp_path / "data.json", *files]
        given_data = [f"--data={path}" for path in loaded]
        given_data[0] = f"--data=tipstaff:{loaded[0]}"
        out = opa.run(
            [
                "eval",
                *given_data,
                f"--input={tmp_path / 'input.json'}",
                "data.tipstaff.decision.verdict",
            ]
        )
        assert out.returncode == 0, out.stdout
        answers.append(json.loads(out.stdout)["result"][0]["expressions"][0]["value"])
    for verdict in answers:
        assert verdict["effect"] == "deny"
        assert verdict["codes"] == ["org.first", "org.second", "org.third"]
        assert verdict == answers[0]


@pytest.mark.req("E-07")
def test_overlay_tells_all_its_reasons_and_the_strictest_wins(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    names = {"a": "require_approval", "m": "escalate", "z": "require_approval"}
    workshop.sign(
        {
            f"org/{name}/{name}.rego": RULE.format(name=name, effect=effect)
            for name, effect in names.items()
        }
    )
    verdict = workshop.decide(a_change())
    assert (verdict.effect, verdict.codes) == ("escalate", ["org.m", "org.a", "org.z"])
    forbidden = workshop.decide(a_change(action__found_capabilities=["raw_shell_execution"]))
    assert forbidden.effect == "deny"
    assert forbidden.codes == ["forbid:raw_shell_execution", "org.m", "org.a", "org.z"]
    assert len(forbidden.reasons) == len(forbidden.codes)
    assert workshop.branches() == []


TIERS = st.sampled_from(["off", "propose", "auto-if-tests-pass", "auto"])
CLASSES = ["audit", "augment", "heal_additive", "heal_breaking", "heal_warning"]
CAPABILITIES = ["raw_shell_execution", "process_execution", "db_write", "dynamic_code"]


SIMPLE: dict[str, Any] = {
    "document": a_change(),
    "team": {"schema_version": 1, "autonomy": AUTOMATIC},
    "local": None,
    "pause": False,
}


@st.composite
def situations(draw: st.DrawFn) -> dict[str, Any]:
    """A change with any evidence, under any team file, with or without pauses."""
    action_class = draw(st.sampled_from(CLASSES))
    path = st.sampled_from(["skills/a.md", "skills/vendor/a.md", "policy/a.rego", "README.md"])
    files = [
        a_file(draw(path), additions_only=draw(st.booleans()))
        for _ in range(draw(st.integers(0, 2)))
    ]
    tests = counts(draw(st.integers(0, 2)), draw(st.integers(0, 1)))
    document = a_change(
        action_class,
        action__found_capabilities=draw(st.lists(st.sampled_from(CAPABILITIES), max_size=1)),
        resource__files=files,
        evidence__tests=draw(st.sampled_from([None, tests])),
    )
    team = {"schema_version": 1, "autonomy": {action_class: draw(TIERS)}}
    gates = {"require_human": draw(st.lists(st.sampled_from(CLASSES), max_size=1))}
    team |= {"approval_gates": gates} if draw(st.booleans()) else {}
    return {"document": document, "team": team, "local": None, "pause": draw(st.booleans())}


def with_local(situation: dict[str, Any], **groups: Any) -> dict[str, Any]:
    """The situation with groups added to the local file; one that stands there already stays."""
    return {**situation, "local": {"schema_version": 1, **groups, **(situation["local"] or {})}}


def with_fact(situation: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The situation with another fact about the change."""
    return {**situation, "document": changed(situation["document"], **{path: value})}


def found_too(situation: dict[str, Any], capability: str) -> dict[str, Any]:
    """The situation with one more capability found."""
    found = situation["document"]["action"]["found_capabilities"] or []
    return with_fact(situation, "action__found_capabilities", [*found, capability])


def touched_too(situation: dict[str, Any], path: str) -> dict[str, Any]:
    """The situation with one more file."""
    files = situation["document"]["resource"]["files"]
    # A class that only reads is not cautioned by a file, it is another question.
    return with_fact(situation, "resource__files", [*files, a_file(path)]) if files else situation


CAUTIONS = st.one_of(
    TIERS.map(lambda tier: lambda s: with_local(s, autonomy=dict.fromkeys(CLASSES, tier))),
    TIERS.map(
        lambda tier: lambda s: with_local(s, remembered_choices=dict.fromkeys(CLASSES, tier))
    ),
    st.sampled_from(
        [
            lambda s: with_local(
                s, approval_gates={"require_human": CLASSES, "forbid": ["db_write"]}
            ),
            lambda s: with_local(s, approval_gates={"require_human": [], "forbid": []}),
            lambda s: with_local(s, paths={"read_only": ["**/*.md"]}),
            lambda s: with_local(s, paths={"allowed": ["skills/**"], "read_only": []}),
            lambda s: with_local(s, sandbox={"profile": "dev", "minimum_backend": "gvisor"}),
            lambda s: with_local(s, approvals={"four_eyes": True}, pause={"hard": True}),
            lambda s: {**s, "pause": True},
            lambda s: with_fact(s, "evidence__tests", None),
            lambda s: with_fact(s, "evidence__sandbox", None),
            lambda s: with_fact(s, "evidence__sandbox", {**SANDBOX, "isolated": False}),
            lambda s: with_fact(s, "evidence__tests", counts(2, 1)),
            lambda s: with_fact(s, "evidence__tests", counts(2, 0, "00" * 32)),
            lambda s: with_fact(s, "subject__id", "\x1b[2J"),
            lambda s: found_too(s, "raw_shell_execution"),
            lambda s: found_too(s, "dynamic_code"),
            lambda s: touched_too(s, "tipstaff.yaml"),
            lambda s: touched_too(s, "skills/vendor/a.md"),
        ]
    ),
)


def as_document(situation: dict[str, Any], engine: Engine) -> dict[str, Any]:
    """The complete document of a situation."""
    return complete(
        situation["document"],
        engine.policy.revisions(),
        pause__global=situation["pause"],
        config__team=situation["team"],
        config__team_sha256="1" * 64,
        config__local=situation["local"],
        config__local_sha256="2" * 64 if situation["local"] else None,
    )


@pytest.mark.promise("BR-16")
@pytest.mark.req("E-07", "T-11", "T-13", "G-03", "PA-02")
def test_added_caution_never_loosens(workshop: Workshop) -> None:
    workshop.configure(policy=None)
    seen: set[str] = set()
    with workshop.engine() as engine:

        @settings(
            max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None
        )
        @given(st.just(SIMPLE) | situations(), st.lists(CAUTIONS, min_size=1, max_size=4))
        def examine(situation: dict[str, Any], cautions: list[Any]) -> None:
            steps = [situation]
            for caution in cautions:
                steps.append(caution(steps[-1]))
            documents = [as_document(step, engine) for step in steps]
            effects = [one.effect for one in engine.evaluate(documents, replay=True)]
            seen.update(effects)
            ranks = [RANKS[effect] for effect in effects]
            assert ranks == sorted(ranks), effects

        examine()
    assert {"allow", "require_approval", "deny"} <= seen
