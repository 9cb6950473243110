"""Pausing and resuming, and what is not known for certain."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.ledger_parts import ALICE, BOB, SetClock
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.ledger.pause import PauseSwitch


@pytest.fixture
def switch(tmp_path: Path) -> PauseSwitch:
    return PauseSwitch(tmp_path / "state", SetClock())


def _facts(switch: PauseSwitch, user: str = "alice") -> tuple[bool | None, bool | None, bool]:
    facts = switch.read(user)
    return facts.global_, facts.user, facts.hard


def test_nothing_is_paused_at_first_and_reading_creates_nothing(
    switch: PauseSwitch, tmp_path: Path
) -> None:
    assert _facts(switch) == (False, False, False)
    assert switch.read("alice").switches == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("PA-03")
def test_a_user_is_paused_and_resumed_alone(switch: PauseSwitch) -> None:
    switch.pause(by=BOB, reason="on leave", user="alice")
    assert _facts(switch, "alice") == (False, True, False)
    assert _facts(switch, "carol") == (False, False, False)
    switch.pause(by=BOB, reason="incident", hard=True)
    assert _facts(switch, "alice") == (True, True, True)
    assert switch.resume(user="carol") is None
    ended = switch.resume(user="alice")
    assert ended is not None and ended.reason == "on leave"
    assert _facts(switch, "alice") == (True, False, True)
    assert switch.resume() is not None
    assert _facts(switch) == (False, False, False)


@pytest.mark.req("PA-04")
def test_a_pause_set_between_two_readings_is_seen(switch: PauseSwitch, tmp_path: Path) -> None:
    assert _facts(switch) == (False, False, False)
    PauseSwitch(tmp_path / "state").pause(by=ALICE, reason="stop")
    assert _facts(switch) == (True, False, False)


@pytest.mark.req("PA-05")
@pytest.mark.parametrize("value", ["TRUE", "1", "yes", "treu", "", "0", "\udcff"])
def test_the_words_of_the_environment_are_given_as_they_are(
    switch: PauseSwitch, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SKYTWIN_AUTO_EXECUTE_DISABLED", value)
    shown = value.replace("\udcff", "\\xff")
    assert switch.read("a").switches == {"SKYTWIN_AUTO_EXECUTE_DISABLED": shown}
    monkeypatch.setenv("TIPSTAFF_AUTO_EXECUTE_DISABLED", "1")
    assert set(switch.read("a").switches) == {
        "SKYTWIN_AUTO_EXECUTE_DISABLED",
        "TIPSTAFF_AUTO_EXECUTE_DISABLED",
    }


@pytest.mark.req("PA-05")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"schema_version": 2, "global": null, "users": {}}',
        b'{"schema_version": 1, "global": false, "users": {}}',
        b'{"schema_version": 1, "global": null, "users": {}, "paused": false}',
        b'{"schema_version": 1, "global": null, "global": null, "users": {}}',
        b'{"schema_version": 1, "global": {"by": "me"}, "users": {}}',
        b'{"schema_version": 1, "users": {}}' + b" " * (1 << 20),
    ],
)
def test_a_malformed_file_is_an_unknown_pause(switch: PauseSwitch, content: bytes) -> None:
    switch.path.parent.mkdir()
    switch.path.write_bytes(content)
    assert _facts(switch) == (None, None, False)
    for act in (switch.pauses, lambda: switch.pause(by=ALICE, reason="x"), switch.resume):
        with pytest.raises(EvidenceError) as refused:
            act()
        assert refused.value.code == "pause.unknown"
    assert switch.path.read_bytes() == content


@pytest.mark.req("PA-05")
def test_a_file_that_cannot_be_read_for_certain_is_an_unknown_pause(switch: PauseSwitch) -> None:
    switch.pause(by=ALICE, reason="x")
    content = switch.path.read_bytes()
    switch.path.unlink()
    switch.path.symlink_to("/dev/null")
    assert _facts(switch) == (None, None, False)
    switch.path.unlink()
    os.mkfifo(switch.path)
    assert _facts(switch) == (None, None, False)
    switch.path.unlink()
    switch.path.mkdir()
    assert _facts(switch) == (None, None, False)
    switch.path.rmdir()
    switch.path.write_bytes(content)
    assert _facts(switch) == (True, False, False)
    if os.geteuid() == 0:
        os.chown(switch.path, 12345, 12345)
        assert _facts(switch) == (None, None, False)
    else:
        switch.path.chmod(0)
        assert _facts(switch) == (None, None, False)


@pytest.mark.req("PA-06")
def test_a_pause_says_who_when_and_why(switch: PauseSwitch) -> None:
    agent = ALICE.model_copy(update={"type": "agent"})
    switch.pause(by=agent, reason="too many changes", user="alice")
    [pause] = switch.pauses().users.values()
    assert (pause.by, pause.at, pause.reason) == (
        agent,
        "2026-03-01T12:00:00.000000Z",
        "too many changes",
    )
    for bad in ({"reason": ""}, {"reason": "x", "user": ""}, {"reason": "x", "user": "u" * 300}):
        with pytest.raises(ContractError):
            switch.pause(by=ALICE, **bad)
    assert switch.path.stat().st_mode & 0o777 == 0o600


def test_pauses_set_at_once_are_all_kept(switch: PauseSwitch) -> None:
    code = (
        "import sys; from pathlib import Path; from support.ledger_parts import ALICE;"
        "from tipstaff.ledger.pause import PauseSwitch; s = PauseSwitch(Path(sys.argv[1]));"
        "[s.pause(by=ALICE, reason='x', user=sys.argv[2] + str(n)) for n in range(8)]"
    )
    command = [sys.executable, "-c", code, str(switch.path.parent)]
    tests = Path(__file__).parents[1]
    writers = [subprocess.Popen([*command, name], cwd=tests) for name in "abc"]
    assert [writer.wait(60) for writer in writers] == [0] * 3
    assert len(switch.pauses().users) == 24
