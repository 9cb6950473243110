"""The sidecar with the real OPA: started once, shared, closed to everybody else, gone when unused."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from support.policies import DECISION, build_overlay, build_policy, write_policy
from tipstaff import declared
from tipstaff.errors import DecisionError, Error
from tipstaff.pdp import bundle, sidecar
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.client import VERDICT, VERDICTS, Client
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.sidecar import Sidecar

ALLOWED = b'{"input":{"ok":true,"note":"\xc3\xbc"}}'
WIDE_S = 20.0


@pytest.fixture
def running(state: Path, opa: Opa, policy: Bundle) -> Sidecar:
    return sidecar.join(state, opa, [policy])


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WIDE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def _keeper(running: Sidecar) -> int:
    return int(json.loads((running.directory / "sidecar.json").read_text())["keeper"])


def _effect_of(found: Sidecar) -> str:
    with found.client(deadline_s=WIDE_S) as client:
        return _effect(client)


def _effect(client: Client) -> str:
    return str(client.ask(VERDICT, ALLOWED).result["effect"])


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
    assert _effect(client) == "allow"
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
    assert _effect_of(both) == "allow"
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
        "from tipstaff.pdp.bundle import Bundle\n"
        "state, path, version, file, *facts = sys.argv[1:]\n"
        "found = sidecar.join(Path(state), Opa(Path(path), version),\n"
        "    [Bundle('tipstaff', Path(file), *facts)], deadline_s=20)\n"
        "print(found.pid)\n"
    )
    facts = [str(policy.file), policy.revision, policy.data_digest, policy.public_key]
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
    assert not _is_gone(int(runs[0].stdout))


def test_status_tells_what_holds(running: Sidecar, state: Path, policy: Bundle) -> None:
    found = sidecar.status(state)[0]
    assert (found.directory, found.pid, found.is_ready) == (running.directory, running.pid, True)
    assert found.revisions == {"tipstaff": policy.revision}
    assert found.opa_version == running.opa.version
    ours = os.readlink("/proc/self/ns/net")
    theirs = os.readlink(f"/proc/{running.pid}/ns/net")
    assert found.network == ("own" if theirs != ours else "host")


def test_stop_ends_everything(running: Sidecar, state: Path) -> None:
    keeper = _keeper(running)
    assert sidecar.stop(state) == 1
    assert _is_gone(running.pid)
    _wait(lambda: _is_gone(keeper))
    assert sidecar.status(state) == []
    assert not running.directory.exists()
    assert sidecar.stop(state) == 0


def test_stop_where_nothing_ever_ran_is_zero(tmp_path: Path) -> None:
    assert sidecar.stop(tmp_path / "never") == 0
    assert sidecar.status(tmp_path / "never") == []


def test_unused_sidecar_ends_and_the_next_join_starts_another(
    state: Path, opa: Opa, policy: Bundle
) -> None:
    first = sidecar.join(state, opa, [policy], idle_s=0.3)
    _wait(lambda: _is_gone(first.pid))
    _wait(lambda: sidecar.status(state) == [])
    second = sidecar.join(state, opa, [policy])
    assert second.pid != first.pid


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
    assert _effect(client) == "allow"
    os.kill(running.pid, signal.SIGKILL)
    _wait(lambda: _is_gone(running.pid))
    with pytest.raises(DecisionError) as refused:
        _effect(client)
    assert refused.value.code == "engine.unavailable"
    _wait(lambda: sidecar.status(state) == [])
    again = sidecar.join(state, running.opa, [policy])
    assert again.pid != running.pid
    assert _effect(client) == "allow"
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
                assert _effect(client) == "allow"
        killer.join()
        client.close()
        assert refused.value.code == "engine.unavailable"
        _wait(lambda: sidecar.status(state) == [])


@pytest.mark.req("E-03")
def test_stopped_engine_is_a_timeout(running: Sidecar) -> None:
    client = running.client(deadline_s=0.2)
    assert _effect(client) == "allow"
    os.kill(running.pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(DecisionError) as refused:
        _effect(client)
    assert refused.value.code == "engine.timeout"
    assert time.monotonic() - started < 2
    os.kill(running.pid, signal.SIGCONT)
    assert _effect_of(running) == "allow"
    client.close()


def test_engine_dies_with_its_keeper(running: Sidecar) -> None:
    os.kill(_keeper(running), signal.SIGKILL)
    _wait(lambda: _is_gone(running.pid))


def test_folder_of_a_dead_sidecar_is_cleaned(running: Sidecar, state: Path, policy: Bundle) -> None:
    os.kill(_keeper(running), signal.SIGKILL)
    _wait(lambda: _is_gone(running.pid))
    (running.directory.parent / "older").mkdir()
    again = sidecar.join(state, running.opa, [policy])
    assert again.pid != running.pid
    assert not (running.directory.parent / "older").exists()


def test_sidecar_outlives_its_starter(state: Path, opa: Opa, policy: Bundle) -> None:
    facts = ", ".join(map(repr, (policy.revision, policy.data_digest, policy.public_key)))
    code = (
        "from pathlib import Path\nfrom tipstaff.pdp import sidecar\n"
        "from tipstaff.pdp.opa import Opa\nfrom tipstaff.pdp.bundle import Bundle\n"
        f"b = Bundle('tipstaff', Path({str(policy.file)!r}), {facts})\n"
        f"print(sidecar.join(Path({str(state)!r}), Opa(Path({str(opa.path)!r}), {opa.version!r}), [b]).pid)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, start_new_session=True
    )
    found = sidecar.join(state, opa, [policy])
    assert found.pid == int(run.stdout)
    assert os.getsid(found.pid) != os.getsid(0)


@pytest.mark.req("E-08")
def test_bundle_with_one_changed_byte_never_becomes_ready(
    state: Path, opa: Opa, policy: Bundle, tmp_path: Path
) -> None:
    data = bytearray(policy.file.read_bytes())
    data[len(data) // 2] ^= 1
    file = tmp_path / "changed.tar.gz"
    file.write_bytes(bytes(data))
    with pytest.raises(DecisionError) as refused:
        sidecar.join(state, opa, [replace(policy, file=file)])
    assert (refused.value.code, refused.value.exit_code) == ("bundle.signature", 3)
    assert refused.value.file == str(file)
    assert sidecar.status(state) == []


@pytest.mark.req("E-08")
def test_changed_bundle_is_refused_by_opa_as_well(
    state: Path, opa: Opa, policy: Bundle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sidecar, "check", lambda found, data: None)
    other = bundle.new_key(tmp_path / "other.pem")
    with pytest.raises(DecisionError) as refused:
        sidecar.join(state, opa, [replace(policy, public_key=other)], deadline_s=1.0)
    assert refused.value.code == "engine.not_ready"
    assert "Bundle load failed" in refused.value.message
    assert "signature" in refused.value.message
    assert sidecar.status(state) == []


def test_bundle_of_another_revision_than_expected_is_not_started(
    state: Path, opa: Opa, policy: Bundle
) -> None:
    with pytest.raises(DecisionError) as refused:
        sidecar.join(state, opa, [replace(policy, revision="0.1.0+older")])
    assert refused.value.code == "bundle.signature"


def test_program_that_is_not_opa_never_becomes_ready(
    state: Path, policy: Bundle, tmp_path: Path
) -> None:
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\necho I am no engine >&2\nexit 7\n")
    fake.chmod(0o755)
    for path, said in ((fake, "I am no engine"), (tmp_path / "absent", "No such file")):
        with pytest.raises(DecisionError, match=said) as refused:
            sidecar.join(state, Opa(path, "1.22.3"), [policy])
        assert refused.value.code == "engine.not_ready"


def test_engine_that_never_listens_is_given_up_at_the_deadline(
    state: Path, policy: Bundle, tmp_path: Path
) -> None:
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    started = time.monotonic()
    with pytest.raises(DecisionError) as refused:
        sidecar.join(state, Opa(fake, "1.22.3"), [policy], deadline_s=0.5)
    assert refused.value.code == "engine.not_ready"
    assert time.monotonic() - started < WIDE_S
    assert sidecar.status(state) == []


def test_exposed_runtime_folder_is_refused(state: Path, opa: Opa, policy: Bundle) -> None:
    found = sidecar.join(state, opa, [policy])
    for folder in (found.directory, found.directory.parent, state):
        folder.chmod(0o755)
        with pytest.raises(DecisionError) as refused:
            sidecar.join(state, opa, [policy])
        assert refused.value.code == "folder.exposed"
        folder.chmod(0o700)
    assert sidecar.join(state, opa, [policy]).pid == found.pid


def test_linked_runtime_folder_is_refused(
    state: Path, opa: Opa, policy: Bundle, tmp_path: Path
) -> None:
    state.mkdir(mode=0o700)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (state / "sidecar").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DecisionError) as refused:
        sidecar.join(state, opa, [policy])
    assert refused.value.code == "folder.exposed"
    (state / "sidecar").unlink()


def test_long_and_odd_project_paths_work(opa: Opa, policy: Bundle, tmp_path: Path) -> None:
    state = tmp_path / ("long " * 40) / "ü%20 #?" / "state"
    try:
        found = sidecar.join(state, opa, [policy])
        assert len(str(found.socket)) > 200
        assert _effect_of(found) == "allow"
    finally:
        sidecar.stop(state)


@pytest.mark.req("E-10")
def test_environment_stays_outside(
    state: Path, opa: Opa, policy: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_SECRET", "canary-value")
    found = sidecar.join(state, opa, [policy])
    assert Path(f"/proc/{found.pid}/environ").read_bytes() == b""
    keeper = Path(f"/proc/{_keeper(found)}/environ").read_bytes()
    assert b"canary" not in keeper.lower()
    names = {os.readlink(link) for link in Path(f"/proc/{found.pid}/fd").iterdir()}
    files = {
        name for name in names if name.startswith("/") and not name.startswith(("/dev/", "/sys/"))
    }
    assert files <= {str(found.directory / "opa.log")}
    status = Path(f"/proc/{found.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    assert "CapEff:\t0000000000000000" in status


@pytest.mark.req("E-10")
def test_forced_impure_bundle_reaches_nothing(
    state: Path, opa: Opa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = tmp_path / "everything" / "policy"
    everything.mkdir(parents=True)
    (everything / "capabilities.json").write_bytes(opa.run(["capabilities", "--current"]).stdout)
    source = write_policy(
        tmp_path / "bad",
        'package tipstaff.decision\n\nverdict := {"env": opa.runtime().env, "sent": s} if {\n'
        '\ts := http.send({"method": "get", "url": input.url, "raise_error": false})\n}\n'
        "else := {}\n",
    )
    bundle.new_key(tmp_path / "key.pem")
    monkeypatch.setenv("CANARY_SECRET", "canary-value")
    with monkeypatch.context() as patch:
        patch.setattr(declared, "folder", lambda name: everything)
        built = bundle.build(
            opa, source, name="tipstaff", key=tmp_path / "key.pem", out=tmp_path / "bad.tar.gz"
        )
    heard: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        found = sidecar.join(state, opa, [built])
        client = found.client(deadline_s=WIDE_S)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        body = json.dumps({"input": {"url": url}}).encode()
        result = (
            client.ask(VERDICT, body).result if sidecar.status(state)[0].network == "own" else None
        )
        try:
            heard.append(server.accept())
        except TimeoutError:
            pass
        client.close()
    if result is None:
        pytest.skip("this kernel gives no network namespace, and status says so")
    assert heard == []
    assert result["sent"]["status_code"] == 0
    assert "canary" not in json.dumps(result)


def test_other_user_is_refused(running: Sidecar, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    code = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try:\n    socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
        "except PermissionError:\n    print('refused')\n"
    )
    link = tmp_path / "s"
    for path in (running.socket, link):
        if not path.exists():
            os.link(running.socket, path)
            tmp_path.chmod(0o755)
        run = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, check=True
        )
        assert run.stdout == b"refused\n"
    assert stat.S_IMODE(running.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(running.socket.stat().st_mode) == 0o600


def test_distinct_bundle_names_are_demanded(state: Path, opa: Opa, policy: Bundle) -> None:
    for bundles in ([policy, policy], [replace(policy, name="../x")]):
        with pytest.raises(Error) as refused:
            sidecar.join(state, opa, bundles)
        assert refused.value.code == "policy.invalid"


def test_state_folder_that_cannot_be_made_is_not_ready(
    opa: Opa, policy: Bundle, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DecisionError) as refused:
        sidecar.join(tmp_path / "file" / "state", opa, [policy])
    assert refused.value.code == "engine.not_ready"
