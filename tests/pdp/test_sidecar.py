"""The sidecar with the real OPA: started once, shared, and gone when unused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from support.policies import DECISION, build_overlay, build_policy
from support.sidecars import (
    ALLOWED,
    WIDE_S,
    effect,
    effect_of,
    is_gone,
    keeper_of,
    wait_until,
)
from tipstaff.engine.faults import freeze
from tipstaff.errors import DecisionError
from tipstaff.pdp import sidecar
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.client import VERDICT, VERDICTS
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.sidecar import Sidecar


@pytest.fixture
def running(state: Path, opa: Opa, policy: Bundle) -> Sidecar:
    return sidecar.join(state, opa, [policy])


def test_verdict_is_answered_over_the_socket(running: Sidecar, policy: Bundle) -> None:
    client = running.client(deadline_s=WIDE_S)
    answer = client.ask(VERDICT, ALLOWED)
    assert answer.result == {"effect": "allow", "note": "ü"}
    assert answer.opa_version == running.opa.version
    many = client.ask(VERDICTS, b'{"input":{"documents":[1,2]}}')
    assert many.result == [{"effect": "deny"}] * 2
    client.close()


def test_long_answers_are_read_whole(running: Sidecar) -> None:
    client = running.client(deadline_s=WIDE_S)
    note = "x" * 300_000
    body = json.dumps({"input": {"ok": True, "note": note}}).encode()
    for _ in range(2):
        assert client.ask(VERDICT, body).result["note"] == note
    client.close()


@pytest.mark.req("E-03")
def test_builtin_error_is_no_answer(state: Path, opa: Opa, tmp_path: Path) -> None:
    rego = DECISION + '\nverdict := {"effect": "allow"} if not to_number(input.text) > 5\n'
    built = build_policy(opa, tmp_path / "p", rego)
    client = sidecar.join(state, opa, [built]).client(deadline_s=WIDE_S)
    assert effect(client) == "allow"
    with pytest.raises(DecisionError) as refused:
        client.ask(VERDICT, b'{"input":{"text":"abc"}}')
    assert (refused.value.code, "500" in refused.value.message) == ("engine.http", True)
    client.close()


def test_second_join_uses_the_same_sidecar(running: Sidecar, state: Path, policy: Bundle) -> None:
    assert sidecar.join(state, running.opa, [policy]) == running


def test_other_bundles_get_another_sidecar(
    running: Sidecar, state: Path, opa: Opa, policy: Bundle, tmp_path: Path
) -> None:
    team = build_overlay(opa, tmp_path / "team" / "policy")
    both = sidecar.join(state, opa, [policy, team])
    assert both.pid != running.pid
    assert len(sidecar.status(state)) == 2
    assert effect_of(both) == "allow"
    wrong = replace(team, revision="org+000000000000")
    for found in (running, both):
        client = replace(found, bundles=(policy, wrong)).client(deadline_s=WIDE_S)
        with pytest.raises(DecisionError) as refused:
            client.ask(VERDICT, ALLOWED)
        assert refused.value.code == "engine.revision"
        client.close()


def test_eight_processes_joining_at_once_start_one_sidecar(
    state: Path, opa: Opa, policy: Bundle
) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from tipstaff.pdp import sidecar; from tipstaff.pdp.opa import Opa\n"
        "from tipstaff.pdp.bundle import load\n"
        "state, path, version, file, key = sys.argv[1:]\n"
        "found = sidecar.join(Path(state), Opa(Path(path), version),\n"
        "    [load(Path(file), 'tipstaff', key)], deadline_s=20)\n"
        "print(found.pid)\n"
    )
    facts = [str(policy.file), policy.public_key]
    argv = [sys.executable, "-c", code, str(state), str(opa.path), opa.version, *facts]
    with ThreadPoolExecutor(8) as pool:
        runs = list(
            pool.map(
                lambda _: subprocess.run(argv, capture_output=True, check=False, timeout=60),
                range(8),
            )
        )
    assert [run.stderr for run in runs] == [b""] * 8
    assert len({run.stdout for run in runs}) == 1
    assert len(sidecar.status(state)) == 1
    assert not is_gone(int(runs[0].stdout))


def test_status_tells_what_holds(running: Sidecar, state: Path, policy: Bundle) -> None:
    found = sidecar.status(state)[0]
    assert (found.directory, found.pid, found.is_ready) == (running.directory, running.pid, True)
    assert found.revisions == {"tipstaff": policy.revision}
    assert found.opa_version == running.opa.version
    ours = os.readlink("/proc/self/ns/net")
    theirs = os.readlink(f"/proc/{running.pid}/ns/net")
    assert found.network == ("own" if theirs != ours else "host")


def test_stop_ends_everything(running: Sidecar, state: Path) -> None:
    keeper = keeper_of(running)
    assert sidecar.stop(state) == 1
    assert is_gone(running.pid)
    wait_until(lambda: is_gone(keeper))
    assert sidecar.status(state) == []
    assert not running.directory.exists()
    assert sidecar.stop(state) == 0


def test_stop_where_nothing_ever_ran_is_zero(tmp_path: Path) -> None:
    assert sidecar.stop(tmp_path / "never") == 0
    assert sidecar.status(tmp_path / "never") == []


def test_unused_sidecar_ends_and_the_next_join_starts_another(
    state: Path, opa: Opa, policy: Bundle
) -> None:
    first = sidecar.join(state, opa, [policy], idle_s=1.5)
    wait_until(lambda: is_gone(first.pid))
    wait_until(lambda: sidecar.status(state) == [])
    second = sidecar.join(state, opa, [policy])
    assert second.pid != first.pid


def test_sidecar_whose_folder_is_removed_ends(state: Path, opa: Opa, policy: Bundle) -> None:
    found = sidecar.join(state, opa, [policy], idle_s=1.0)
    shutil.rmtree(state)
    wait_until(lambda: is_gone(found.pid))


def test_used_sidecar_stays(state: Path, opa: Opa, policy: Bundle) -> None:
    first = sidecar.join(state, opa, [policy], idle_s=0.5)
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        assert sidecar.join(state, opa, [policy], idle_s=0.5).pid == first.pid
        time.sleep(0.1)


@pytest.mark.req("E-03")
def test_killed_engine_is_unavailable_and_starts_again(
    running: Sidecar, state: Path, policy: Bundle
) -> None:
    client = running.client(deadline_s=WIDE_S)
    assert effect(client) == "allow"
    os.kill(running.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(running.pid))
    with pytest.raises(DecisionError) as refused:
        effect(client)
    assert refused.value.code == "engine.unavailable"
    wait_until(lambda: sidecar.status(state) == [])
    again = sidecar.join(state, running.opa, [policy])
    assert again.pid != running.pid
    assert effect(client) == "allow"
    client.close()


@pytest.mark.req("E-03")
def test_engine_killed_during_calls_never_answers_anything_else(
    state: Path, opa: Opa, policy: Bundle
) -> None:
    for _ in range(5):
        found = sidecar.join(state, opa, [policy])
        client = found.client(deadline_s=WIDE_S)
        killer = threading.Timer(0.03, os.kill, (found.pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(DecisionError) as refused:
            while True:
                assert effect(client) == "allow"
        killer.join()
        client.close()
        assert refused.value.code == "engine.unavailable"
        wait_until(lambda: sidecar.status(state) == [])


@pytest.mark.req("E-03")
def test_stopped_engine_is_a_timeout(running: Sidecar) -> None:
    client = running.client(deadline_s=0.2)
    assert effect(client) == "allow"
    freeze(running.pid)
    started = time.monotonic()
    with pytest.raises(DecisionError) as refused:
        effect(client)
    assert refused.value.code == "engine.timeout"
    assert time.monotonic() - started < 2
    os.kill(running.pid, signal.SIGCONT)
    assert effect_of(running) == "allow"
    client.close()


def test_engine_dies_with_its_keeper(running: Sidecar) -> None:
    os.kill(keeper_of(running), signal.SIGKILL)
    wait_until(lambda: is_gone(running.pid))


def test_folder_of_a_dead_sidecar_is_cleaned(running: Sidecar, state: Path, policy: Bundle) -> None:
    os.kill(keeper_of(running), signal.SIGKILL)
    wait_until(lambda: is_gone(running.pid))
    (running.directory.parent / "older").mkdir()
    again = sidecar.join(state, running.opa, [policy])
    assert again.pid != running.pid
    assert not (running.directory.parent / "older").exists()


def test_sidecar_outlives_its_starter(state: Path, opa: Opa, policy: Bundle) -> None:
    code = (
        "from pathlib import Path\nfrom tipstaff.pdp import sidecar\n"
        "from tipstaff.pdp.opa import Opa\nfrom tipstaff.pdp.bundle import load\n"
        f"b = load(Path({str(policy.file)!r}), 'tipstaff', {policy.public_key!r})\n"
        f"print(sidecar.join(Path({str(state)!r}), Opa(Path({str(opa.path)!r}), {opa.version!r}), [b]).pid)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, start_new_session=True
    )
    found = sidecar.join(state, opa, [policy])
    assert found.pid == int(run.stdout)
    assert os.getsid(found.pid) != os.getsid(0)


def test_long_and_odd_project_paths_work(opa: Opa, policy: Bundle, tmp_path: Path) -> None:
    state = tmp_path / ("long " * 40) / "ü%20 #?" / "state"
    try:
        found = sidecar.join(state, opa, [policy])
        assert len(str(found.socket)) > 200
        assert effect_of(found) == "allow"
    finally:
        sidecar.stop(state)
