"""The kept-alive connection: each question gets its own answer, or none."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import stub_engine as play
from support.stub_engine import GOOD, REVISIONS, Play, stub
from tipstaff.errors import DecisionError
from tipstaff.pdp.client import VERDICT, Client
from tipstaff.pdp.transport import UnixTransport

DEADLINE_S = 0.25
MARGIN_S = 2.0
BODY = b'{"input":{}}'


def _client(path: Path, deadline_s: float = DEADLINE_S) -> Client:
    return Client(UnixTransport(path), revisions=REVISIONS, deadline_s=deadline_s)


def _chunked(data: bytes) -> Play:
    return play.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data)


def test_late_answer_is_never_the_next_one(tmp_path: Path) -> None:
    def late(peer: play.socket.socket) -> None:
        time.sleep(DEADLINE_S * 1.5)
        play.answer(GOOD.replace(b"allow", b"stale"))(peer)

    client = _client(tmp_path / "s")
    with stub(tmp_path / "s", late, play.answer(GOOD)):
        with pytest.raises(DecisionError):
            client.ask(VERDICT, BODY)
        time.sleep(DEADLINE_S)
        assert client.ask(VERDICT, BODY).result == {"effect": "allow"}
    client.close()


def test_answer_nobody_asked_for_is_never_the_next_one(tmp_path: Path) -> None:
    def twice(peer: play.socket.socket) -> None:
        play.answer(GOOD)(peer)
        time.sleep(0.05)
        play.answer(GOOD.replace(b"allow", b"stale"))(peer)

    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", twice, play.answer(GOOD)) as engine:
        client.ask(VERDICT, BODY)
        time.sleep(0.1)
        assert client.ask(VERDICT, BODY).result == {"effect": "allow"}
        assert engine.connections == 2
    client.close()


def test_connection_is_kept_between_questions(tmp_path: Path) -> None:
    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", play.answer(GOOD)) as engine:
        for _ in range(3):
            client.ask(VERDICT, BODY)
        assert (engine.connections, len(engine.requests)) == (1, 3)
    client.close()


def test_closed_kept_connection_is_opened_again_once(tmp_path: Path) -> None:
    def answer_and_close(peer: play.socket.socket) -> None:
        play.answer(GOOD)(peer)
        peer.close()

    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", answer_and_close) as engine:
        for _ in range(3):
            client.ask(VERDICT, BODY)
        assert (engine.connections, len(engine.requests)) == (3, 3)
    client.close()


def test_kept_connection_that_closes_on_the_question_is_asked_again_once(tmp_path: Path) -> None:
    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", play.answer(GOOD), play.close, play.close) as engine:
        client.ask(VERDICT, BODY)
        with pytest.raises(DecisionError) as refused:
            client.ask(VERDICT, BODY)
        assert refused.value.code == "engine.unavailable"
        assert len(engine.requests) == 3
    client.close()


def test_half_an_answer_is_never_asked_for_again(tmp_path: Path) -> None:
    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", play.answer(GOOD), play.half_then(play.close)) as engine:
        client.ask(VERDICT, BODY)
        with pytest.raises(DecisionError):
            client.ask(VERDICT, BODY)
        assert len(engine.requests) == 2
    client.close()


def test_answer_in_chunks_is_read_whole(tmp_path: Path) -> None:
    parts = b"".join(b"1\r\n%c\r\n" % byte for byte in GOOD) + b"0\r\n\r\n"
    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", _chunked(parts)):
        assert client.ask(VERDICT, BODY).result == {"effect": "allow"}
        assert client.ask(VERDICT, BODY).opa_version == "1.22.3"
    client.close()


def test_question_is_sent_with_fixed_headers_and_both_parameters(tmp_path: Path) -> None:
    client = _client(tmp_path / "s", 2.0)
    with stub(tmp_path / "s", play.answer(GOOD)) as engine:
        client.ask(VERDICT, BODY)
    client.close()
    head, _, body = engine.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    target = b"/v1/data/tipstaff/decision/verdict?provenance=true&strict-builtin-errors=true"
    assert lines[0] == b"POST " + target + b" HTTP/1.1"
    assert sorted(line.split(b":")[0] for line in lines[1:]) == [
        b"Content-Length",
        b"Content-Type",
        b"Host",
    ]
    assert body == BODY


def test_each_thread_gets_its_own_answer(tmp_path: Path) -> None:
    def echo(peer: play.socket.socket) -> None:
        play.answer(GOOD.replace(b'"allow"', str(len(engine.requests)).encode()))(peer)

    client = _client(tmp_path / "s", 5.0)
    seen: list[int] = []
    with stub(tmp_path / "s", echo) as engine:
        threads = [
            threading.Thread(target=lambda: seen.append(client.ask(VERDICT, BODY).result["effect"]))
            for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    client.close()
    assert sorted(seen) == list(range(1, 17))


def test_forked_process_opens_its_own_connection(tmp_path: Path) -> None:
    client = _client(tmp_path / "s", 2.0)
    transport = client._transport
    with stub(tmp_path / "s", play.answer(GOOD)) as engine:
        client.ask(VERDICT, BODY)
        assert isinstance(transport, UnixTransport)
        transport._owner = os.getpid() + 1
        client.ask(VERDICT, BODY)
        assert engine.connections == 2
    client.close()


def test_peer_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stub(tmp_path / "s", play.answer(GOOD)) as engine:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(DecisionError, match="answers on the socket") as refused:
            _client(tmp_path / "s").ask(VERDICT, BODY)
    assert refused.value.code == "engine.unavailable"
    assert engine.requests == []


@given(data=st.binary(max_size=400), place=st.integers(0, len(GOOD)))
@settings(max_examples=150, deadline=None)
def test_wild_answers_raise_nothing_but_decision_errors(
    data: bytes, place: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("wild") / "s"
    client = _client(path, 0.02)
    mixed = GOOD[:place] + data + GOOD[place:]
    with stub(path, play.raw(data), play.answer(data), play.answer(mixed)):
        for _ in range(3):
            try:
                client.ask(VERDICT, BODY)
            except DecisionError as error:
                assert error.code.startswith("engine.")
    client.close()
