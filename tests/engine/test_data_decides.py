"""Every answer comes from the policy's data: an edit there changes it, and no Python takes part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.documents import a_change, a_file, an_act
from support.edited_policy import edit_data, put_in_place
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents.verdict import RequestApproval, Verdict

TEAM = {"autonomy": AUTOMATIC, "approval_gates": None, "sandbox": None, "paths": None}


def gist(verdict: Verdict) -> Any:
    """What a verdict says, without its identity."""
    asked = [item for item in verdict.obligations if isinstance(item, RequestApproval)]
    terms = [(one.urgency, one.ttl_s, one.confirm_within_s) for one in asked]
    return verdict.effect, verdict.codes, terms, verdict.facts


# Package: its edit, a question, and what it answers before and after the edit.
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any], tuple[str, str], tuple[str, str]]] = {
    "a forbidden capability more": (
        ("gates", lambda data: data["forbid"].append("db_write")),
        a_change(action__found_capabilities=["db_write"]),
        {},
        ("allow", "tier.auto_if_tests_pass"),
        ("deny", "forbid:db_write"),
    ),
    "a capability that wants a look": (
        ("gates", lambda data: data["caution"].append("db_read")),
        a_change(action__found_capabilities=["db_read"]),
        {},
        ("allow", "tier.auto_if_tests_pass"),
        ("require_approval", "capability.caution:db_read"),
    ),
    "a pinned class more": (
        ("gates", lambda data: data["require_human"].append("heal_warning")),
        a_change("heal_warning"),
        {"autonomy": {"heal_warning": "auto-if-tests-pass"}},
        ("allow", "tier.auto_if_tests_pass"),
        ("require_approval", "gate.require_human"),
    ),
    "another tier for classes that nobody names": (
        ("autonomy", lambda data: data.update(unnamed_class="off")),
        a_change("heal_warning"),
        {},
        ("require_approval", "tier.propose"),
        ("deny", "tier.off"),
    ),
    "a class more": (
        ("autonomy", lambda data: data["classes"].update(tidy=data["classes"]["heal_additive"])),
        a_change("tidy"),
        {},
        ("deny", "class.unknown"),
        ("deny", "tier.off"),
    ),
    "a stronger least backend": (
        ("evidence", lambda data: data.update(minimum_backend="gvisor")),
        a_change(),
        {},
        ("allow", "tier.auto_if_tests_pass"),
        ("require_approval", "sandbox.minimum"),
    ),
    "a protection more": (
        ("evidence", lambda data: data["protections"].append("clock")),
        a_change(evidence__sandbox__backend="gvisor"),
        {},
        ("allow", "tier.auto_if_tests_pass"),
        ("require_approval", "sandbox.not_held:clock"),
    ),
    "a protected place more": (
        ("paths", lambda data: data["control_plane"]["at_root"].append("golden")),
        a_change(resource__files=[a_file("golden/new.md")]),
        {},
        ("allow", "tier.auto_if_tests_pass"),
        ("deny", "path.control_plane"),
    ),
    "fewer allowed paths": (
        ("paths", lambda data: data.update(allowed=["skills/**", "golden/**"])),
        a_change(resource__files=[a_file("README.md")]),
        {},
        ("allow", "tier.auto_if_tests_pass"),
        ("deny", "path.not_allowed"),
    ),
    "nobody who may resume": (
        ("control", lambda data: data["acts"].update(resume=[])),
        an_act("resume", "pause:global"),
        {},
        ("allow", "control.granted"),
        ("deny", "control.human_only"),
    ),
}


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy of the policy with all edits."""
    edits: dict[str, list[Any]] = {}
    for (package, edit), *_ in CASES.values():
        edits.setdefault(package, []).append(edit)
    edits["approval"] = [
        lambda data: data.update(urgency={"heal_breaking": "immediate"}),
        lambda data: data["ttl_s"].update(immediate=60),
        lambda data: data.update(confirm_within_s=5),
    ]
    edits["pause"] = [lambda data: data["off_words"].append("nope")]
    together = {
        package: lambda data, some=some: [edit(data) for edit in some]
        for package, some in edits.items()
    }
    return edit_data(tmp_path_factory.mktemp("policy") / "policy", together)


@pytest.mark.req("E-01")
@pytest.mark.parametrize("name", CASES)
def test_edited_list_or_number_changes_the_answer(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, edited: Path, name: str
) -> None:
    _, document, settings, before, after = CASES[name]
    workshop.configure(**TEAM | settings)
    first = workshop.decide(document)
    assert (first.effect, first.codes[0]) == before
    put_in_place(edited, monkeypatch)
    second = workshop.decide(document)
    assert (second.effect, second.codes[0]) == after
    assert second.policy.revision != first.policy.revision


@pytest.mark.req("E-01", "AP-08")
def test_edited_terms_of_approval_are_asked_for(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, edited: Path
) -> None:
    assert gist(workshop.decide(a_change("heal_breaking")))[2] == [("normal", 86400, 600)]
    put_in_place(edited, monkeypatch)
    assert gist(workshop.decide(a_change("heal_breaking")))[2] == [("immediate", 60, 5)]
    assert gist(workshop.decide(a_change("augment")))[2] == [("normal", 86400, 5)]


@pytest.mark.req("E-01", "PA-05")
def test_edited_words_for_off_no_longer_pause(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, edited: Path
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    monkeypatch.setenv("TIPSTAFF_AUTO_EXECUTE_DISABLED", "nope")
    assert workshop.decide(a_change()).codes[0] == "pause.global"
    put_in_place(edited, monkeypatch)
    # The protection that this copy adds is missing, too; the pause is gone.
    assert "pause.global" not in workshop.decide(a_change()).codes


@pytest.mark.req("E-10")
def test_same_document_and_revision_give_the_same_verdict(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with workshop.engine() as engine:
        document = engine.question(a_change()).document
        first = engine.evaluate([document], replay=True)
        monkeypatch.setenv("TIPSTAFF_AUTO_EXECUTE_DISABLED", "1")
        workshop.configure(autonomy={"heal_additive": "off"})
        assert engine.decide(a_change()).effect == "deny"
        again = engine.evaluate([document], replay=True)
    assert [one.model_dump_json() for one in first] == [one.model_dump_json() for one in again]
