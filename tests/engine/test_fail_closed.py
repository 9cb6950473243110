"""However the engine fails to answer, the answer is deny, in time, with its own code, and on record."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from support import stub_engine as play
from support.documents import a_change, an_act
from support.played_engine import DEADLINE_S, played, says
from support.sidecars import wait_until
from support.workshop import AUTOMATIC, Workshop
from tipstaff.engine.faults import freeze
from tipstaff.pdp import sidecar

MARGIN_S = 3.0
HTTP_500 = b'{"code":"internal_error","message":"boom"}'
OTHER = {"version": "1.22.3", "bundles": {"tipstaff": {"revision": "r0"}}}
FAULTS: list[tuple[str, Any, str]] = [
    ("an empty object", play.answer(b"{}"), "engine.undefined"),
    ("an unknown path", says("absent"), "engine.undefined"),
    ("a server error", play.answer(HTTP_500, "500 Internal Server Error"), "engine.http"),
    ("not found", play.answer(b"{}", "404 Not Found"), "engine.http"),
    ("unauthorized", play.answer(b"{}", "401 Unauthorized"), "engine.http"),
    ("silence", play.hang, "engine.timeout"),
    ("a byte now and then", play.drip, "engine.timeout"),
    ("half a body, then the end", play.half_then(play.close), "engine.unavailable"),
    ("half a body, then a crash", play.half_then(play.reset), "engine.unavailable"),
    ("half a body, then silence", play.half_then(play.hang), "engine.timeout"),
    ("no answer", play.close, "engine.unavailable"),
    ("a page", play.answer(b"<html>allow</html>"), "engine.malformed"),
    ("another revision", says({"effect": "allow"}, provenance=OTHER), "engine.revision"),
    ("no provenance", says({"effect": "allow"}, provenance="absent"), "engine.revision"),
    ("false", says(False), "engine.invalid"),
    ("null", says(None), "engine.invalid"),
    ("an incomplete verdict", says({"effect": "allow"}), "engine.invalid"),
]


@pytest.mark.promise("D1", "BR-13", "ahead 7")
@pytest.mark.req("E-03", "KG-15")
@pytest.mark.parametrize(("fault", "part", "code"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_engine_that_answers_badly_denies_in_time_and_on_record(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, fault: str, part: Any, code: str
) -> None:
    with played(workshop, monkeypatch, part):
        began = time.monotonic()
        answer = workshop.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
        took = time.monotonic() - began
    assert answer.code == 3
    assert (answer.json["effect"], answer.json["codes"]) == ("deny", [code])
    assert took < DEADLINE_S + MARGIN_S
    [record] = workshop.records()
    assert (record["decision"], record["codes"]) == ("deny", [code])
    assert record["decision_id"] == answer.json["decision_id"]


@pytest.mark.promise("D1")
@pytest.mark.req("E-03")
def test_nothing_is_carried_out_on_a_bad_answer(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    diff = workshop.diff()
    with played(workshop, monkeypatch, play.answer(b"{}")):
        answer = workshop.propose_cli(diff, "--json")
    assert (answer.code, answer.json["verdict"]["codes"]) == (3, ["engine.undefined"])
    assert workshop.branches() == []
    assert workshop.pull_requests() == {}


@pytest.mark.promise("D1")
@pytest.mark.req("E-03")
def test_many_documents_are_each_denied_on_a_bad_answer(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, code in ((says([]), "engine.invalid"), (play.answer(b"{}"), "engine.undefined")):
        with played(workshop, monkeypatch, part), workshop.engine() as engine:
            verdicts = engine.decide_many([a_change(), an_act(), a_change("audit")])
        assert [(one.effect, one.codes) for one in verdicts] == [("deny", [code])] * 3
    assert len(workshop.records()) == 6


@pytest.mark.promise("D2", "BR-13", "ahead 7")
@pytest.mark.req("E-03")
def test_engine_that_nobody_can_reach_denies(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TIPSTAFF_OPA_TOKEN", "t")
    answer = workshop.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
    assert (answer.code, answer.json["effect"]) == (3, "deny")
    assert answer.json["codes"] == ["engine.unavailable"]
    assert workshop.entries() == ["deny"]


@pytest.mark.promise("D2", "BR-13")
@pytest.mark.req("E-03", "E-08")
def test_engine_that_cannot_start_denies(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workshop = Workshop(project)
    real = Path(os.environ["TIPSTAFF_OPA"])
    program = tmp_path / "opa"
    program.write_text(f'#!/bin/sh\n[ "$1" = run ] && exit 1\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("TIPSTAFF_OPA", str(program))
    answer = workshop.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
    assert (answer.code, answer.json["effect"]) == (3, "deny")
    assert answer.json["codes"] == ["engine.not_ready"]
    assert workshop.entries() == ["deny"]


def test_next_question_after_a_bad_answer_is_answered(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    with workshop.engine() as engine:
        with played(workshop, monkeypatch, play.answer(b"{}")):
            assert engine.decide(a_change()).codes == ["engine.undefined"]
        assert engine.decide(a_change()).effect == "allow"


@pytest.mark.promise("D2", "row 53")
@pytest.mark.req("E-03")
def test_killed_opa_denies_and_the_next_question_starts_another(project: Path) -> None:
    workshop = Workshop(project)
    workshop.configure(autonomy=AUTOMATIC)
    with workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "allow"
        [running] = sidecar.status(workshop.state)
        os.kill(running.pid, signal.SIGKILL)
        verdict = engine.decide(a_change())
        assert (verdict.effect, verdict.codes) == ("deny", ["engine.unavailable"])
        wait_until(lambda: sidecar.status(workshop.state) == [])
        assert engine.decide(a_change()).effect == "allow"
    assert workshop.entries() == ["allow", "deny", "allow"]


@pytest.mark.promise("D2", "row 53", "ahead 7")
@pytest.mark.req("E-03")
def test_stopped_opa_denies_at_the_deadline_and_killed_in_the_call_at_once(project: Path) -> None:
    workshop = Workshop(project)
    with workshop.engine(deadline_s=DEADLINE_S) as engine:
        engine.decide(a_change())
        [running] = sidecar.status(workshop.state)
        freeze(running.pid)
        began = time.monotonic()
        late = engine.decide(a_change())
        took = time.monotonic() - began
        assert (late.effect, late.codes) == ("deny", ["engine.timeout"])
        assert DEADLINE_S * 0.9 < took < DEADLINE_S + MARGIN_S
    with workshop.engine(deadline_s=60) as engine:
        killer = threading.Timer(0.3, os.kill, (running.pid, signal.SIGKILL))
        killer.start()
        killed = engine.decide(a_change())
        killer.join()
    assert (killed.effect, killed.codes) == ("deny", ["engine.unavailable"])
    assert workshop.entries()[1:] == ["deny", "deny"]
