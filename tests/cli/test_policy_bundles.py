"""Signing, verifying and bringing back the team's bundle, by the command line."""

from __future__ import annotations

import json
import os
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from support.documents import a_change, an_act
from support.workshop import AUTOMATIC, Workshop
from tipstaff.pdp import archive
from tipstaff.pdp.bundle import new_key, overlay_file
from tipstaff.pdp.marks import Marks

RULE = 'package org.house\n\ndeny contains "{0}" if input.kind == "change"\n'


@pytest.fixture
def shop(workshop: Workshop) -> Workshop:
    """A workshop with additive repairs let through, so that only the overlay speaks."""
    workshop.configure(autonomy=AUTOMATIC)
    return workshop


def _sign(shop: Workshop, word: str, *options: str) -> str:
    """Sign an overlay that denies with a word; its revision."""
    file = shop.root / "policy/org/house/house.rego"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(RULE.format(word))
    signed = shop.run("policy", "sign", "--json", *options)
    assert signed.code == 0, signed.stderr
    return str(signed.json["revision"])


def _said(shop: Workshop) -> list[str]:
    """What the active overlay says of a change, or the code of what kept it from answering."""
    verdict = shop.decide(a_change())
    said = [reason.message for reason in verdict.reasons if reason.code == "org.house"]
    return said or [reason.message.split(":")[0] for reason in verdict.reasons]


def _links(shop: Workshop, *options: str) -> tuple[int, dict[str, str | None]]:
    """How `policy verify` ends, and the code of each link."""
    found = shop.run("policy", "verify", "--json", *options)
    return found.code, {link["link"]: link["code"] for link in found.json["links"]}


@pytest.mark.req("E-08")
def test_signing_counts_on_where_the_content_changes_and_only_there(shop: Workshop) -> None:
    first = _sign(shop, "one")
    data = overlay_file(shop.root / "policy").read_bytes()
    assert _sign(shop, "one") == first
    assert overlay_file(shop.root / "policy").read_bytes() == data
    second = _sign(shop, "two")
    third = _sign(shop, "one")
    numbers = [int(name.removeprefix("org+").partition(".")[0]) for name in (first, second, third)]
    assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]
    assert first.partition(".")[2] == third.partition(".")[2]


@pytest.mark.req("RB-05", "E-08")
@pytest.mark.promise("B2")
def test_rollback_reissues_an_earlier_revision_under_the_next_number(shop: Workshop) -> None:
    first = _sign(shop, "one")
    assert _said(shop) == ["one"]
    second = _sign(shop, "two")
    assert _said(shop) == ["two"]
    number = first.removeprefix("org+").partition(".")[0]
    back = shop.run("policy", "rollback", f"r{number}", "--reason", "too strict", "--json")
    assert back.code == 0, back.stderr
    assert back.json["reissues"] == first
    assert back.json["from"] == second
    assert back.json["sequence"] == int(number) + 2
    assert "git checkout" in back.stderr
    assert _said(shop) == ["one"]
    with shop.engine() as engine:
        assert engine.policy.revisions()["org"] == back.json["revision"]
    record = next(one for one in shop.records() if one["decision"] == "policy-rollback")
    assert record["detail"] == {
        "from": second,
        "to": back.json["revision"],
        "reissues": first,
        "reason": "too strict",
    }
    assert record["actor"]["type"] == "human"
    assert shop.is_sound()
    code, links = _links(shop)
    assert (code, {name for name, said in links.items() if said}) == (1, {"source"})
    assert (shop.root / "policy/org/house/house.rego").read_text() == RULE.format("two")


@pytest.mark.req("RB-05")
@pytest.mark.parametrize("variable", ["CLAUDECODE", "CI"])
def test_rollback_is_a_persons(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    first = _sign(shop, "one")
    assert _said(shop) == ["one"]
    _sign(shop, "two")
    before = overlay_file(shop.root / "policy").read_bytes()
    monkeypatch.setenv(variable, "1")
    answer = shop.run("policy", "rollback", first, "--json")
    assert (answer.code, answer.json["codes"]) == (1, ["control.human_only"])
    assert overlay_file(shop.root / "policy").read_bytes() == before
    assert shop.entries()[-1] == "deny"


@pytest.mark.req("RB-05")
def test_revision_that_is_not_kept_cannot_come_back(shop: Workshop) -> None:
    _sign(shop, "one")
    for wanted in ("r999", "org+999.000000000000", "r01", "one"):
        answer = shop.run("policy", "rollback", wanted, "--json")
        assert (answer.code, answer.json["error"]["code"]) == (2, "bundle.unknown")


@pytest.mark.req("E-08")
@pytest.mark.promise("B2", "row 45", "BR-14")
def test_older_signed_bundle_put_back_denies_until_it_is_signed_anew(shop: Workshop) -> None:
    _sign(shop, "one")
    file = overlay_file(shop.root / "policy")
    old = file.read_bytes()
    _said(shop)
    _sign(shop, "two")
    assert _said(shop) == ["two"]
    file.write_bytes(old)
    answer = shop.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
    assert (answer.code, answer.json["effect"]) == (3, "deny")
    assert answer.json["codes"] == ["engine.not_ready"]
    assert "was accepted before" in answer.json["reasons"][0]["message"]
    code, links = _links(shop)
    assert (code, links["mark"], links["active"]) == (1, "bundle.rollback", "bundle.rollback")
    _sign(shop, "one")
    assert _said(shop) == ["one"]


@pytest.mark.req("E-08")
@pytest.mark.promise("B2", "row 49")
def test_lost_mark_denies_until_a_person_accepts(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    _sign(shop, "one")
    assert _said(shop) == ["one"]
    (shop.state / "bundles" / "marks.json").unlink()
    answer = shop.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
    assert (answer.code, answer.json["effect"]) == (3, "deny")
    assert _links(shop)[0] == 3
    with monkeypatch.context() as patch:
        patch.setenv("CLAUDECODE", "1")
        assert shop.run("policy", "accept", "--reason", "I want to").code == 1
    assert _links(shop)[0] == 3
    accepted = shop.run("policy", "accept", "--reason", "restored from a backup", "--json")
    assert accepted.code == 0, accepted.stderr
    assert _said(shop) == ["one"]
    assert "policy-accept" in shop.entries()
    assert _links(shop) == (0, dict.fromkeys(_links(shop)[1]))


@pytest.mark.req("E-08")
@pytest.mark.promise("B6")
def test_each_broken_link_is_named(shop: Workshop, tmp_path: Path) -> None:
    _sign(shop, "one")
    _said(shop)
    file = overlay_file(shop.root / "policy")
    kept = tmp_path / "kept.tar.gz"
    shutil.copy(file, kept)
    whole = ("form", "signature", "threshold", "mark", "expiry", "source", "active")
    assert _links(shop) == (0, dict.fromkeys(whole))

    rego = shop.root / "policy/org/house/house.rego"
    rego.write_text(RULE.format("edited"))
    assert _links(shop) == (1, {**dict.fromkeys(whole), "source": "overlay.not_signed"})
    _sign(shop, "two")
    _said(shop)
    code, links = _links(shop, str(kept))
    broken = {name: said for name, said in links.items() if said}
    assert code == 1
    assert broken == {
        "mark": "bundle.rollback",
        "source": "overlay.not_signed",
        "active": "bundle.not_active",
    }
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert _links(shop)[1].popitem()[1] == "bundle.signature"
    file.unlink()
    gone = shop.run("policy", "verify", "--json")
    assert (gone.code, gone.json["error"]["code"]) == (2, "file.unreadable")


@pytest.mark.promise("B6")
def test_every_recorded_revision_leads_back_to_its_source(shop: Workshop) -> None:
    for word in ("one", "two", "three"):
        _sign(shop, word)
        assert _said(shop) == [word]
    sources = {}
    for file in (shop.state / "bundles/kept/org").iterdir():
        found = shop.run("policy", "verify", str(file), "--json").json
        assert [link["code"] for link in found["links"][:3]] == [None] * 3
        sources[file.name.removesuffix(".tar.gz")] = found
    decided = {
        record["detail"]["preferences"]["bundles"]["org"]
        for record in shop.records()
        if record["decision"] == "deny"
    }
    assert len(decided) == 3
    assert decided <= set(sources)


@pytest.mark.promise("B4", "row 51")
def test_bundle_of_two_people_decides_once_the_second_has_signed(
    shop: Workshop, tmp_path: Path
) -> None:
    from tipstaff.documents import strict_yaml

    team = strict_yaml.load(shop.root / "tipstaff.yaml")["policy"]
    bob = new_key(tmp_path / "bob.pem")
    shop.configure(policy={**team, "public_keys": [bob], "threshold": 2})
    _sign(shop, "one")
    assert _said(shop)[0] != "one"
    assert _links(shop)[1]["threshold"] == "bundle.threshold"
    for key, code in (("bob", 0), ("bob", 2)):
        signed = shop.run("policy", "sign", "--add", "--key", tmp_path / f"{key}.pem", "--json")
        assert signed.code == code
    assert _said(shop) == ["one"]
    _sign(shop, "two")
    assert _said(shop)[0] != "two"


@pytest.mark.promise("B3", "row 48")
def test_bundle_past_its_end_only_escalates(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(days=10)
    _sign(shop, "one", "--expires", end.isoformat())
    clock = {"now": end}
    monkeypatch.setattr("tipstaff.engine.engine.timestamp", lambda: _stamp(clock["now"]))
    off = [second for step in range(100) for second in (-1 - step * step, step * step)]
    assert len(off) == 200
    with shop.engine() as engine:
        for seconds in [*off, -86400, 86400]:
            clock["now"] = end + timedelta(seconds=seconds)
            [verdict] = engine.evaluate([a_change()])
            expired = "bundle.expired" in {reason.code for reason in verdict.reasons}
            assert expired == (seconds >= 0), seconds
            assert verdict.effect == "deny"
        clock["now"] = end
        act = {
            "schema_version": 1,
            "kind": "control",
            "subject": {"id": "x"},
            "action": {"type": "resume"},
            "resource": {"id": "pause:global"},
        }
        [verdict] = engine.evaluate([act])
        assert (verdict.effect, verdict.codes) == ("escalate", ["bundle.expired"])


@pytest.mark.promise("B3", "row 48")
def test_clock_that_is_set_back_brings_no_expired_bundle_back(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    _sign(shop, "one", "--expires", (now + timedelta(days=1)).isoformat())
    clock = {"now": now}
    monkeypatch.setattr("tipstaff.engine.engine.timestamp", lambda: _stamp(clock["now"]))
    resume = an_act("resume")
    assert shop.decide(resume).codes == ["control.granted"]
    clock["now"] = now + timedelta(days=2)
    assert shop.decide(resume).codes == ["bundle.expired"]
    marks = Marks(shop.state)
    for lost in (None, marks.file, marks.witness):
        if lost:
            lost.with_suffix(".clock").unlink()
        clock["now"] = now
        verdict = shop.decide(resume)
        assert (verdict.effect, sorted(verdict.codes)) == (
            "escalate",
            ["bundle.expired", "clock.back"],
        )
        clock["now"] = now + timedelta(days=4)
        assert shop.decide(resume).codes == ["bundle.expired"]
    marks.file.with_suffix(".clock").write_text("soon")
    assert "input.invalid:latest" in shop.decide(resume).codes
    clock["now"] = now
    accepted = shop.run("policy", "accept", "--reason", "the clock was ahead", "--json")
    assert accepted.code == 0, accepted.stderr
    assert shop.decide(resume).codes == ["control.granted"]


LOCKED = 'package org.house\n\ndeny contains "nobody may" if input.kind == "control"\n'


def _lock_out(shop: Workshop) -> None:
    """An overlay in force that denies every act upon the engine, where the marks are lost besides."""
    file = shop.root / "policy/org/house/house.rego"
    file.parent.mkdir(parents=True)
    file.write_text(LOCKED)
    assert shop.run("policy", "sign").code == 0
    assert shop.decide(an_act("resume")).codes[0] == "org.house"
    Marks(shop.state).file.unlink()
    denied = shop.run("policy", "accept", "--reason", "the marks are lost", "--json")
    assert (denied.code, denied.json["codes"][0]) == (1, "org.house")


@pytest.mark.parametrize("has_key", [True, False])
def test_overlay_that_denies_every_act_locks_nobody_out_who_may_change_the_team_file(
    shop: Workshop, tmp_path: Path, has_key: bool
) -> None:
    _lock_out(shop)
    key: list[str] = []
    if not has_key:
        (shop.state / "keys/team.pem").unlink()
        assert shop.run("policy", "sign").code == 2
        new = tmp_path / "new.pem"
        shop.configure(policy={"public_key": new_key(new)})
        key = ["--key", str(new)]
    _sign(shop, "one", *key)
    accepted = shop.run("policy", "accept", "--reason", "the rule was wrong", "--json")
    assert accepted.code == 0, accepted.stderr
    assert shop.decide(an_act("resume")).codes == ["control.granted"]
    assert _said(shop) == ["one"]


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.promise("row 48")
def test_end_is_shown_and_given_as_a_span_or_a_point(shop: Workshop) -> None:
    _sign(shop, "one", "--expires", "2199-01-01T00:00:00+02:00")
    kept = shop.run("policy", "sign", "--expires", "2198-12-31T22:00:00Z", "--json").json
    assert (kept["is_new"], kept["expires_at"]) == (False, "2198-12-31T22:00:00.000000Z")
    with time_machine.travel("2199-06-01T00:00:00Z", tick=False):
        assert _links(shop)[1]["expiry"] == "bundle.expired"
    endless = shop.run("policy", "sign", "--json").json
    assert (endless["is_new"], endless["expires_at"]) == (True, None)
    renewed = shop.run("policy", "sign", "--expires", "30d", "--json").json
    assert renewed["is_new"]
    left = datetime.fromisoformat(renewed["expires_at"]).timestamp() - time.time()
    assert 29 * 86400 < left <= 30 * 86400
    assert _links(shop)[0] == 0
    for text in (
        "",
        "soon",
        "30",
        "-1d",
        "0d",
        "2001-01-01T00:00:00",
        "2001-01-01T00:00:00Z",
        "999999999d",
    ):
        answer = shop.run("policy", "sign", "--expires", text, "--json")
        assert (answer.code, answer.json["error"]["code"]) == (2, "bundle.expires")


@pytest.mark.promise("row 47")
def test_number_that_a_stranger_wrote_is_not_counted_on(shop: Workshop) -> None:
    _sign(shop, "one")
    file = overlay_file(shop.root / "policy")
    forged = archive.unpack(file.read_bytes())
    data = json.loads(forged["data.json"])
    data["org"]["bundle"]["sequence"] = 2**53 - 1
    forged["data.json"] = json.dumps(data).encode()
    file.write_bytes(archive.pack(forged))
    signed = shop.run("policy", "sign", "--json").json
    assert len(signed["revision"].partition(".")[0]) < len("org+999")
    assert _said(shop) == ["one"]


def test_fifo_in_the_overlay_holds_nothing_up(shop: Workshop) -> None:
    _sign(shop, "one")
    os.mkfifo(shop.root / "policy/org/pipe.rego")
    assert shop.run("policy", "sign", "--json").json["error"]["code"] == "policy.invalid"
    assert "policy sign" in shop.run("decide", "-", stdin=json.dumps(a_change()).encode()).stderr
