"""A pause makes automatic work wait, at each decision anew; it loosens nothing and only a person ends it."""

from __future__ import annotations

import pytest

from support.documents import a_change
from support.workshop import AUTOMATIC, GOLDEN, Workshop
from tipstaff.ledger.pause import SWITCHES


@pytest.fixture
def paused(workshop: Workshop) -> Workshop:
    """A workshop where additions go through by themselves, paused for everyone."""
    workshop.configure(autonomy={**AUTOMATIC, "heal_warning": "off"})
    assert workshop.decide(a_change()).effect == "allow"
    assert workshop.run("pause", "--reason", "release day").code == 0
    return workshop


@pytest.mark.req("PA-01")
@pytest.mark.parametrize("switch", SWITCHES)
def test_switch_in_the_environment_makes_allow_wait(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    assert workshop.decide(a_change()).effect == "allow"
    monkeypatch.setenv(switch, "true")
    verdict = workshop.decide(a_change())
    assert (verdict.effect, verdict.codes) == ("require_approval", ["pause.global"])
    monkeypatch.delenv(switch)
    assert workshop.decide(a_change()).effect == "allow"


@pytest.mark.req("PA-05")
@pytest.mark.parametrize(
    "word", ["TRUE", "1", "yes", "treu", "on", "disabled", "00", "n o", "\udcff", "\x1b[2J"]
)
def test_word_that_is_not_clearly_off_pauses(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    monkeypatch.setenv("TIPSTAFF_AUTO_EXECUTE_DISABLED", word)
    assert workshop.decide(a_change()).codes == ["pause.global"]


@pytest.mark.req("PA-05")
@pytest.mark.parametrize("word", ["", "0", "false", "no", "off", "OFF", " False "])
def test_word_for_off_does_not_pause(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    monkeypatch.setenv("TIPSTAFF_AUTO_EXECUTE_DISABLED", word)
    monkeypatch.setenv("SKYTWIN_AUTO_EXECUTE_DISABLED", word)
    assert workshop.decide(a_change()).effect == "allow"


@pytest.mark.req("PA-05")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"schema_version":2}',
        b'{"schema_version":1,"global":"no"}',
        b"\xff",
    ],
)
def test_pause_state_that_cannot_be_understood_pauses(workshop: Workshop, content: bytes) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    (workshop.state / "pause.json").write_bytes(content)
    verdict = workshop.decide(a_change())
    assert (verdict.effect, verdict.codes) == ("require_approval", ["pause.unknown"])


@pytest.mark.req("PA-05")
def test_pause_state_that_cannot_be_read_pauses(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    (workshop.state / "pause.json").mkdir()
    assert workshop.decide(a_change()).codes == ["pause.unknown"]
    (workshop.state / "pause.json").rmdir()
    (workshop.state / "pause.json").symlink_to("/dev/zero")
    assert workshop.decide(a_change()).codes == ["pause.unknown"]


@pytest.mark.req("PA-02")
def test_pause_keeps_what_is_stricter(paused: Workshop) -> None:
    denied = paused.decide(a_change("heal_warning"))
    assert (denied.effect, denied.codes[0]) == ("deny", "tier.off")
    forbidden = paused.decide(a_change(action__found_capabilities=["raw_shell_execution"]))
    assert forbidden.effect == "deny"
    escalated = paused.decide(a_change(action__found_capabilities=None))
    assert escalated.effect == "escalate"
    pinned = paused.decide(a_change("augment"))
    assert (pinned.effect, pinned.confirmations) == ("require_approval", 1)


@pytest.mark.req("PA-02")
def test_pause_of_everyone_is_named_before_that_of_one(paused: Workshop) -> None:
    paused.run("pause", "--user", "alice", "--reason", "away")
    verdict = paused.decide(a_change())
    assert verdict.codes == ["pause.global", "pause.user"]
    both = paused.decide(a_change("augment"))
    assert both.codes[:2] == ["pause.global", "pause.user"]


@pytest.mark.req("PA-02", "AP-11")
def test_pause_keeps_the_count_of_confirmations(paused: Workshop) -> None:
    rule = """package org.twice

require_approval contains {"code": "t", "message": "m", "solution": "s", "confirmations": 2} if {
	input.kind == "change"
}
"""
    paused.sign({"org/twice/twice.rego": rule})
    verdict = paused.decide(a_change())
    assert (verdict.codes[0], verdict.confirmations) == ("pause.global", 2)


@pytest.mark.req("PA-03")
def test_pause_of_one_user_ends_with_the_resume_and_leaves_the_tier(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    workshop.run("pause", "--user", "alice", "--reason", "away")
    verdict = workshop.decide(a_change())
    assert (verdict.effect, verdict.codes) == ("require_approval", ["pause.user"])
    assert verdict.facts["tier"]["effective"] == "auto-if-tests-pass"
    assert workshop.decide(a_change(subject__id="bob")).effect == "allow"
    assert workshop.run("resume", "--user", "bob").code == 0
    assert workshop.decide(a_change()).codes == ["pause.user"]
    assert workshop.run("resume", "--user", "alice").code == 0
    assert workshop.decide(a_change()).effect == "allow"


@pytest.mark.req("PA-04")
def test_pause_between_two_calls_of_one_engine_stops_the_second(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    with workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "allow"
        workshop.run("pause", "--reason", "now")
        assert engine.decide(a_change()).codes == ["pause.global"]
        assert [one.codes for one in engine.decide_many([a_change()])] == [["pause.global"]]
        workshop.run("resume")
        assert engine.decide(a_change()).effect == "allow"


@pytest.mark.req("PA-04", "PA-01")
def test_paused_automatic_heal_is_proposed(paused: Workshop) -> None:
    outcome = paused.propose(tests=GOLDEN)
    assert outcome.golden.tests is not None
    assert outcome.golden.tests.failed == 0
    assert outcome.verdict.codes == ["pause.global"]
    [text] = paused.pull_requests().values()
    assert 'status: "draft"' in text
    assert outcome.effects.approval is not None


@pytest.mark.req("PA-06")
@pytest.mark.parametrize("variable", ["CLAUDECODE", "CI"])
def test_agent_pauses_and_only_a_person_resumes(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    with monkeypatch.context() as patch:
        patch.setenv(variable, "1")
        assert workshop.run("pause", "--reason", "something is wrong").code == 0
        refused = workshop.run("resume", "--reason", "fine again", "--json")
        assert refused.code == 2
        assert refused.json["codes"] == ["control.human_only"]
    assert workshop.decide(a_change()).codes == ["pause.global"]
    assert workshop.run("resume", "--reason", "looked at it").code == 0
    assert workshop.decide(a_change()).effect == "allow"
    told = [
        (record["decision"], record["actor"]["type"], record["detail"].get("reason"))
        for record in workshop.records()
        if record["target"] == "pause:global"
    ]
    kind = "agent" if variable == "CLAUDECODE" else "ci"
    assert told == [
        ("paused", kind, "something is wrong"),
        ("deny", kind, None),
        ("allow", "human", None),
        ("resumed", "human", "looked at it"),
    ]


@pytest.mark.req("PA-06")
def test_pause_without_a_reason_is_refused(workshop: Workshop) -> None:
    for options in ([], ["--reason", ""]):
        assert workshop.run("pause", *options).code == 2
    assert workshop.records() == []
