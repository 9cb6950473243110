"""What the sidecar keeps out: changed bundles, exposed folders, other users, our environment, the network."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from support.policies import build_policy, write_policy
from support.sidecars import WIDE_S, keeper_of
from tipstaff import declared
from tipstaff.errors import DecisionError, Error
from tipstaff.pdp import bundle, sidecar
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.client import VERDICT
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.sidecar import Sidecar


@pytest.fixture
def running(state: Path, opa: Opa, policy: Bundle) -> Sidecar:
    return sidecar.join(state, opa, [policy])


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


@pytest.mark.promise("BR-13")
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


@pytest.mark.promise("BR-15")
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


@pytest.mark.promise("D6")
@pytest.mark.req("E-10")
def test_environment_stays_outside(
    state: Path, opa: Opa, policy: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_SECRET", "canary-value")
    found = sidecar.join(state, opa, [policy])
    assert Path(f"/proc/{found.pid}/environ").read_bytes() == b""
    keeper = Path(f"/proc/{keeper_of(found)}/environ").read_bytes()
    assert b"canary" not in keeper.lower()
    names = {os.readlink(link) for link in Path(f"/proc/{found.pid}/fd").iterdir()}
    files = {
        name for name in names if name.startswith("/") and not name.startswith(("/dev/", "/sys/"))
    }
    assert files <= {str(found.directory / "opa.log")}
    status = Path(f"/proc/{found.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    assert "CapEff:\t0000000000000000" in status


@pytest.mark.promise("D6", "row 39")
@pytest.mark.req("E-10")
def test_forced_impure_bundle_reaches_nothing(
    state: Path, opa: Opa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = tmp_path / "everything" / "policy"
    everything.mkdir(parents=True)
    (everything / "capabilities.json").write_bytes(opa.run(["capabilities", "--current"]).stdout)
    source = write_policy(
        tmp_path / "bad",
        "package tipstaff.decision\n\ndefault verdict := {}\n\nverdicts := []\n\n"
        'verdict := {"env": opa.runtime().env, "sent": s} if {\n'
        '\ts := http.send({"method": "get", "url": input.url, "raise_error": false})\n}\n',
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


@pytest.mark.promise("D7", "row 55", "BR-15")
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
            [sys.executable, "-c", code, path.name],
            cwd=path.parent,  # so that the address is short, and only this folder's mode counts
            capture_output=True,
            check=True,
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


@pytest.mark.promise("D5", "row 36")
def test_policy_that_fails_on_every_question_is_not_ready_and_says_why(
    state: Path, opa: Opa, tmp_path: Path
) -> None:
    rules = ("default verdict := 0", "verdict := 1", "verdict := 2", "default verdicts := []")
    rego = "\n\n".join(["package tipstaff.decision", *rules, ""])
    built = build_policy(opa, tmp_path / "p", rego)
    with pytest.raises(DecisionError, match="conflict") as refused:
        sidecar.join(state, opa, [built], deadline_s=1.0)
    assert refused.value.code == "engine.not_ready"
