"""Only the bundles that were signed answer, in the revision that the verdict names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.documents import a_change, an_act
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents import strict_yaml
from tipstaff.pdp.bundle import overlay_file

DENY = 'package org.stop\n\ndeny contains "stop" if input.kind == "change"\n'


@pytest.fixture
def overlaid(workshop: Workshop) -> Workshop:
    """A workshop whose overlay denies every change."""
    workshop.configure(autonomy=AUTOMATIC)
    assert workshop.decide(a_change()).effect == "allow"
    workshop.sign({"org/stop/stop.rego": DENY})
    assert workshop.decide(a_change()).codes == ["org.stop"]
    return workshop


@pytest.mark.req("E-08", "E-03")
@pytest.mark.parametrize("place", [40, -40, "middle"])
def test_one_changed_byte_after_signing_denies_with_exit_3(
    overlaid: Workshop, place: int | str
) -> None:
    file = overlay_file(overlaid.root / "policy")
    data = bytearray(file.read_bytes())
    at = len(data) // 2 if isinstance(place, str) else place
    data[at] ^= 1
    file.write_bytes(data)
    answer = overlaid.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
    assert (answer.code, answer.json["effect"]) == (3, "deny")
    assert answer.json["codes"][0].startswith(("engine.", "bundle."))
    assert overlaid.entries()[-1] == "deny"
    assert overlaid.propose_cli(overlaid.diff()).code == 3
    assert overlaid.branches() == []


@pytest.mark.req("E-08")
def test_bundle_that_another_key_signed_denies(overlaid: Workshop, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").mkdir()
    assert Workshop(other).run("init").code == 0
    theirs = overlay_file(other / "policy").read_bytes()
    overlay_file(overlaid.root / "policy").write_bytes(theirs)
    assert overlaid.decide(a_change()).effect == "deny"


@pytest.mark.req("E-08")
def test_overlay_that_is_gone_or_was_never_signed_denies(overlaid: Workshop) -> None:
    overlay_file(overlaid.root / "policy").unlink()
    answer = overlaid.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
    assert (answer.code, answer.json["effect"]) == (3, "deny")


@pytest.mark.promise("ahead 8")
@pytest.mark.req("E-08")
def test_verdict_names_the_active_revision_and_its_digest(overlaid: Workshop) -> None:
    with overlaid.engine() as engine:
        revisions = engine.policy.revisions()
        verdict = engine.decide(a_change())
    assert verdict.policy.revision == revisions["tipstaff"]
    assert len(verdict.policy.data_digest) == 64
    record = overlaid.records()[-1]
    assert record["bundle_revision"] == revisions["tipstaff"]
    assert record["detail"]["preferences"]["bundles"] == revisions


@pytest.mark.req("E-08")
@pytest.mark.parametrize("team", ["no key", "an empty key", "no file"])
def test_signed_overlay_without_a_key_denies_until_a_key_or_no_bundle_is_there(
    overlaid: Workshop, team: str
) -> None:
    file = overlaid.root / "tipstaff.yaml"
    settings = strict_yaml.load(file)
    policy = {"overlay": "policy"} | ({"public_key": ""} if team == "an empty key" else {})
    file.write_text(json.dumps(settings | {"policy": policy}))
    if team == "no file":
        file.unlink()
    code = "bundle.missing:org" if team == "an empty key" else "bundle.no_key"
    harmless = a_change(subject__id="nobody")
    for act in (harmless, an_act("approve")):
        verdict = overlaid.decide(act)
        assert (verdict.effect, verdict.codes[0]) == ("deny", code)
    found = overlaid.run("check", "--json")
    assert "overlay.no_key" in [one["code"] for one in found.json["findings"]]
    assert overlaid.run("policy", "accept", "--reason", "no").code == 1
    overlay_file(overlaid.root / "policy").unlink()
    assert code not in overlaid.decide(harmless).codes or team == "an empty key"
    file.write_text(json.dumps(settings))
    overlaid.sign({"org/stop/stop.rego": DENY.replace('"change"', '"nothing"')})
    assert overlaid.decide(harmless).effect == "allow"


@pytest.mark.req("E-08")
def test_edited_overlay_counts_only_once_it_is_signed_and_that_is_said(overlaid: Workshop) -> None:
    rego = overlaid.root / "policy/org/stop/stop.rego"
    rego.write_text(DENY.replace('"change"', '"nothing"'))
    answer = overlaid.run("decide", "-", stdin=json.dumps(a_change()).encode())
    assert answer.code == 1
    assert "policy sign" in answer.stderr
    found = overlaid.run("check", "--json")
    assert [finding["code"] for finding in found.json["findings"]] == ["overlay.not_signed"]
    assert overlaid.run("policy", "sign").code == 0
    assert overlaid.decide(a_change()).effect == "allow"
    assert overlaid.run("check").code == 0


@pytest.mark.req("E-08", "E-05")
def test_engine_that_runs_meets_a_new_overlay_at_its_next_question(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    with workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "allow"
        workshop.sign({"org/stop/stop.rego": DENY})
        assert engine.decide(a_change()).codes == ["org.stop"]
