"""Whatever the engine does wrong, the client says so with one code, inside its own deadline."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support import stub_engine as play
from support.faulty_answers import FAULTS
from support.stub_engine import GOOD, REVISIONS, Play, stub
from tipstaff.errors import DecisionError
from tipstaff.pdp.client import VERDICT, Client
from tipstaff.pdp.transport import UnixTransport

DEADLINE_S = 0.25
MARGIN_S = 2.0
BODY = b'{"input":{}}'


def _client(path: Path, deadline_s: float = DEADLINE_S) -> Client:
    return Client(UnixTransport(path), revisions=REVISIONS, deadline_s=deadline_s)


@pytest.mark.promise("D1", "row 37", "row 54", "BR-13")
@pytest.mark.req("E-03", "KG-15")
@pytest.mark.parametrize(
    ("part", "code"), [fault[1:] for fault in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_faulty_answer_is_refused_with_its_code(part: Play, code: str, tmp_path: Path) -> None:
    client = _client(tmp_path / "s")
    with stub(tmp_path / "s", part):
        started = time.monotonic()
        with pytest.raises(DecisionError) as refused:
            client.ask(VERDICT, BODY)
        took = time.monotonic() - started
    client.close()
    assert refused.value.code == f"engine.{code}"
    assert took < DEADLINE_S + MARGIN_S
    assert refused.value.exit_code == 3


@pytest.mark.parametrize("part", [fault[1] for fault in FAULTS if fault[2] != "timeout"])
def test_good_answer_after_a_faulty_one_is_its_own(part: Play, tmp_path: Path) -> None:
    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", part, play.answer(GOOD)):
        with pytest.raises(DecisionError):
            client.ask(VERDICT, BODY)
        assert client.ask(VERDICT, BODY).result == {"effect": "allow"}
    client.close()


@pytest.mark.promise("BR-13")
@pytest.mark.req("E-03")
def test_missing_engine_is_unavailable(tmp_path: Path) -> None:
    dead = tmp_path / "dead"
    with stub(dead, play.close):
        pass
    for path in (tmp_path / "absent", tmp_path / "no" / "folder", dead):
        with pytest.raises(DecisionError) as refused:
            _client(path).ask(VERDICT, BODY)
        assert refused.value.code == "engine.unavailable"


def test_deadline_that_has_passed_is_a_timeout(tmp_path: Path) -> None:
    with stub(tmp_path / "s", play.answer(GOOD)) as engine:
        with pytest.raises(DecisionError) as refused:
            _client(tmp_path / "s", 0.0).ask(VERDICT, BODY)
    assert refused.value.code == "engine.timeout"
    assert engine.requests == []
