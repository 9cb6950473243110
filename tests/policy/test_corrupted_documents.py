"""No corrupted document is allowed: what is refused stays refused, and what is allowed stays so only where named here.

That is evaluated without strict errors, where a built-in that fails makes its rule undefined: the worst case. The
engine asks with strict errors, where one such failure would take the answers on a whole batch along.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.corruption import Mutant, dump, mutants
from support.documents import changed
from support.refused_documents import CHANGE, EXAMPLES, REFUSED, WHOLE
from support.rego import evaluate
from tipstaff.pdp.opa import Opa

NAME = {"zero as text", "as text", "other case", "space added"}
LEFT_OUT = {"absent", "null"}
GROUP = LEFT_OUT | {"empty object"}
LIST = LEFT_OUT | {"empty list"}

# Where an allowed change stays allowed, in which ways, and why no harm comes of it.
HARMLESS: dict[str, tuple[set[str], str]] = {
    "schema_version": ({"as a float"}, "1.0 is 1"),
    "subject.id": (
        NAME,
        "any visible name is a name; who it is matters to pauses, which the engine reads",
    ),
    "resource.base": (
        NAME,
        "any visible name is a name; the approval binds it, no rule compares it",
    ),
    "resource.files.*.path": (
        {"line end added"},
        "the path of another file, whose name is odd and shows",
    ),
    "resource.files.*.old_path": ({"absent"}, "a file that keeps its name has no old one"),
    "resource.files.*.binary": ({"true"}, "what it gains is measured either way"),
    "resource.files.*.language": (NAME | {"null"}, "only a new file needs a known language"),
    "evidence.drift": ({"absent"}, "a change that touches no pinned contract"),
    "context.decision_id": (NAME, "the engine holds it against the one it sent"),
    "context.actor.id": (NAME, "any visible name is a name; without an approval none is compared"),
    "context.pause.hard": ({"true"}, "a hard pause is none while nothing is paused"),
    "context.config.team.schema_version": ({"absent", "as a float"}, "the rules know one version"),
    "context.config.team.autonomy.audit": ({"absent"}, "the tier of another class"),
    "context.config.team.autonomy.augment": ({"absent"}, "the tier of another class"),
    "context.config.team.autonomy.heal_breaking": ({"absent"}, "the tier of another class"),
    "context.config.team.autonomy.heal_warning": ({"absent"}, "the tier of another class"),
    "context.config.team.approval_gates": (GROUP, "built-in pins and names remain"),
    "context.config.team.approval_gates.require_human": (LIST, "pins of other classes"),
    "context.config.team.approval_gates.require_human.*": ({"absent"}, "a pin of another class"),
    "context.config.team.approval_gates.forbid": (LIST, "the built-in names remain"),
    "context.config.team.approval_gates.forbid.*": ({"absent"}, "the built-in names remain"),
    "context.config.team.paths": (GROUP, "left out, all paths but vendored ones are allowed"),
    "context.config.team.paths.allowed": (LEFT_OUT, "left out, all paths are allowed"),
    "context.config.team.paths.read_only": (LIST, "the control plane is out of reach anyway"),
    "context.config.team.paths.read_only.*": (NAME | {"absent"}, "another glob is another glob"),
    "context.config.team.sandbox": (GROUP, "strict and the weakest backend that counts"),
    "context.config.team.sandbox.profile": (LEFT_OUT, "left out, it is strict"),
    "context.config.team.sandbox.minimum_backend": (LEFT_OUT, "left out, it is the bundle's"),
    "context.config.local_tracked": ({"true"}, "it is advised against, and not refused"),
    "context.bundles.org": ({"absent"}, "no overlay is expected either way"),
    "context.approval": ({"absent"}, "there is no approval either way"),
}
HARMLESS_TO_AN_ACT: dict[str, tuple[set[str], str]] = {
    "resource.id": (NAME, "any visible name is a name; the ledger looks for it"),
    "evidence": (
        LEFT_OUT
        | {"true", "false", "empty text", "zero as text", "empty list", "list of null"}
        | {
            "negative",
            "fraction",
            "huge number",
            "in a list",
            "in an object",
            "as text",
            "as a list",
        },
        "no rule reads evidence about an act",
    ),
    "context.pause.global": ({"null", "true"}, "a pause is about automatic work"),
    "context.pause.user": ({"null", "true"}, "a pause is about automatic work"),
    **{
        place: HARMLESS[place]
        for place in (
            "schema_version",
            "subject.id",
            "context.decision_id",
            "context.actor.id",
            "context.pause.hard",
            "context.config.local_tracked",
            "context.bundles.org",
            "context.approval",
        )
    },
}
# What of the above is another valid fact and not a broken one: then the document is as good as the allowed one.
VALID: dict[str, set[str]] = {
    "action.found_capabilities": {"empty list"},
    "action.found_capabilities.*": {"absent"},
    "action.requested_capabilities": {"empty list"},
    "action.requested_capabilities.*": {"absent"},
    "resource.files.*.path": {"line end added"},
    "resource.files.*.mode_changed": {"false"},
    "resource.files.*.touches_existing_definition": {"false"},
    "evidence.sandbox.isolated": {"true"},
    "context.pause.global": {"false"},
    "context.pause.user": {"false"},
    "context.pause.switches": {"empty object"},
    "context.pause.switches.TIPSTAFF_AUTO_EXECUTE_DISABLED": {
        "absent",
        "empty text",
        "zero as text",
    },
    "context.bundles.org": LEFT_OUT,
    "context.config.local.autonomy": LEFT_OUT | {"empty object"},
    "context.config.local.autonomy.heal_additive": {"absent"},
    "context.config.local": {"empty object"},
    "context.approval": LEFT_OUT,
}

# What of the above takes away the very fact that an example is refused for.
REPAIRED: dict[str, dict[str, set[str]]] = {
    "change-escalate": {"action.found_capabilities": {"empty list"}},
    "contract-deny-canary": {
        "evidence.canary.granted": {"true"},
        "evidence.canary.words": {"empty list"},
        "evidence.canary.words.*": {"absent", "as text", "zero as text"},
    },
    "contract-escalate-check": {
        "evidence.canaries": {"empty list"},
        "evidence.canaries.*": {"absent"},
    },
    "contract-require_approval-canary": {"evidence.canary.distinct": {"null"}},
    "modification-deny-rollback": {"evidence.scores.before.plan": {"absent", "negative"}},
    "modification-require_approval": {"evidence.supplied.approval_store": {"false"}},
}

EFFECTS = "[verdict.effect | some verdict in data.tipstaff.decision.verdicts]"


def allowed(opa: Opa, folder: Path, cases: list[Mutant]) -> dict[str, set[str]]:
    """Where and in which ways the mutants are allowed all the same."""
    effects = evaluate(opa, EFFECTS, dump([case.document for case in cases]), folder)
    assert len(effects) == len(cases)
    found: dict[str, set[str]] = {}
    for case, effect in zip(cases, effects, strict=True):
        if effect == "allow":
            found.setdefault(case.place, set()).add(case.how)
    return found


@pytest.mark.promise("D3")
@pytest.mark.req("E-04", "E-05", "E-11")
@pytest.mark.parametrize(
    ("name", "harmless"),
    [("change-allow", HARMLESS), ("control-allow", HARMLESS_TO_AN_ACT)],
)
def test_allowed_document_stays_so_only_where_it_is_harmless(
    opa: Opa, tmp_path: Path, name: str, harmless: dict[str, tuple[set[str], str]]
) -> None:
    found = allowed(opa, tmp_path, list(mutants(name, EXAMPLES[name])))
    assert found == {place: ways for place, (ways, _) in harmless.items()}


@pytest.mark.promise("D3", "ahead 4")
@pytest.mark.req("E-04", "E-05", "E-11")
@pytest.mark.parametrize("name", [name for name in EXAMPLES if "-allow" not in name])
def test_refused_example_is_never_allowed(opa: Opa, tmp_path: Path, name: str) -> None:
    found = allowed(opa, tmp_path, list(mutants(name, EXAMPLES[name])))
    assert found == REPAIRED.get(name, {})


@pytest.mark.promise("D3", "ahead 4")
@pytest.mark.req("E-04", "E-05", "E-11", "G-02", "T-06", "PA-05", "AP-10")
def test_document_refused_for_one_fact_is_never_allowed(opa: Opa, tmp_path: Path) -> None:
    documents = {name: changed(CHANGE, **changes) for name, (changes, _) in REFUSED.items()}
    effects = evaluate(opa, EFFECTS, dump(list(documents.values())), tmp_path)
    assert "allow" not in effects
    cases = [
        case
        for name, document in documents.items()
        for case in mutants(name, document, below=REFUSED[name][1])
    ]
    for place, ways in allowed(opa, tmp_path, cases).items():
        assert ways <= VALID.get(place, set()), place


@pytest.mark.req("E-04")
def test_corrupted_document_is_answered_and_fails_no_batch(opa: Opa, tmp_path: Path) -> None:
    reading = changed(WHOLE, action__class="audit")
    broken = [*mutants("whole", WHOLE), *mutants("reading", reading, below=("resource", "files"))]
    cases = [WHOLE, reading, *(case.document for case in broken)]
    effects = evaluate(opa, EFFECTS, dump(cases), tmp_path, strict=True)
    assert len(effects) == len(cases)
    assert effects[:2] == ["allow", "deny"]
