"""Embedded, in Docker, remote: the same verdicts, the same refusals, the same closed API."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.certificates import write_certificates
from support.documents import a_change, an_act
from support.engines import (
    TOKEN,
    Docker,
    Elsewhere,
    Embedded,
    Machine,
    RemoteOpa,
    demand_docker,
    name_remote,
    status_of,
    unclosed_sockets,
)
from support.probes import CLOSED, OPEN
from support.workshop import AUTOMATIC, Workshop, contents
from tipstaff.engine import chaos
from tipstaff.engine.policy import Policy
from tipstaff.errors import DecisionError
from tipstaff.pdp import docker_daemon, docker_sidecar
from tipstaff.pdp.client import Answer, Client
from tipstaff.pdp.mode import MODES
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.places import witness_folder
from tipstaff.project import Project

IN_DOCKER = pytest.param("docker", marks=pytest.mark.network)
DEADLINE_S = 0.4
MARGIN_S = 3.0
KINDS = [
    (a_change(), "allow", ["tier.auto_if_tests_pass"]),
    (a_change("augment"), "require_approval", ["gate.require_human", "tier.propose"]),
    (
        a_change(action__found_capabilities=["raw_shell_execution"]),
        "deny",
        ["forbid:raw_shell_execution"],
    ),
    (a_change(None), "escalate", ["input.missing:class"]),
    (an_act("approve"), "allow", ["control.granted"]),
]


@pytest.fixture(scope="module")
def stand(
    shared: object, _initialised: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder for what the tests of this module share: a container and a remote OPA, each started once."""
    folder = tmp_path_factory.mktemp("modes")
    shutil.copytree(_initialised, folder / "project", symlinks=True)
    yield folder
    docker_sidecar.stop(folder / "project/.tipstaff")
    for served in _SERVED.values():
        served.end()
    _SERVED.clear()


_SERVED: dict[Path, RemoteOpa] = {}


def _shared_policy(stand: Path) -> Policy:
    """The shared project's; each test is another person, whose witness has seen none of its bundles."""
    policy = Policy(Project.find(stand / "project"), print)
    policy.holds_marks = False
    return policy


def _remote(stand: Path, opa: Opa) -> RemoteOpa:
    if stand not in _SERVED:
        bundles = _shared_policy(stand).bundles()
        (stand / "remote").mkdir()
        _SERVED[stand] = RemoteOpa(stand / "remote", opa, bundles)
    return _SERVED[stand]


@pytest.fixture(params=["embedded", IN_DOCKER, "remote"])
def machine(
    request: pytest.FixtureRequest,
    stand: Path,
    project: Path,
    opa: Opa,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Machine]:
    """A project whose decisions are made in this mode. Container and server are shared until a test needs its own."""
    workshop = Workshop(project)
    workshop.configure(autonomy=AUTOMATIC)
    if request.param == "embedded":
        yield Embedded(workshop)
    elif request.param == "docker":
        demand_docker()
        _shared_policy(stand).container()
        workshop.state.mkdir(mode=0o700, exist_ok=True)
        shutil.copytree(stand / "project/.tipstaff/docker", workshop.state / "docker")
        yield Docker(workshop)
    else:
        served = _remote(stand, opa)
        name_remote(monkeypatch, served.remote)
        yield Elsewhere(workshop, served)


@pytest.fixture
def own(machine: Machine, stand: Path) -> Iterator[Machine]:
    """The same with an engine that may be stopped and ended."""
    if isinstance(machine, Docker):
        shutil.rmtree(machine.workshop.state / "docker")
        machine.revive()
    yield machine
    if isinstance(machine, Docker):
        docker_sidecar.stop(machine.workshop.state)
    if isinstance(machine, Elsewhere):
        machine.served.end()
        del _SERVED[stand]
        shutil.rmtree(stand / "remote")


@pytest.mark.promise("D1")
def test_verdicts_are_the_same_in_every_mode(machine: Machine) -> None:
    with machine.workshop.engine() as engine:
        found = [engine.decide(document) for document, _, _ in KINDS]
        many = engine.decide_many([document for document, _, _ in KINDS] * 50)
    expected = [(effect, codes) for _, effect, codes in KINDS]
    assert [(one.effect, one.codes) for one in found] == expected
    assert [(one.effect, one.codes) for one in many] == expected * 50
    assert {one.policy.revision for one in found} == {found[0].policy.revision}
    assert machine.workshop.is_sound()


@pytest.mark.req("E-08")
@pytest.mark.promise("row 54")
def test_policy_that_was_signed_anew_is_never_answered_by_the_old_one(machine: Machine) -> None:
    rego = (
        'package org.all\n\ndeny contains {"code": "org.all", "message": "no", "solution": "no"}\n'
    )
    machine.workshop.sign({"org/all/all.rego": rego})
    verdict = machine.workshop.decide(a_change())
    code = {Embedded: "org.all", Docker: "engine.not_ready", Elsewhere: "engine.revision"}
    assert (verdict.effect, code[type(machine)] in verdict.codes) == ("deny", True)


@pytest.mark.req("E-09")
@pytest.mark.promise("D7", "row 55")
@pytest.mark.parametrize("machine", [IN_DOCKER, "remote"], indirect=True)
def test_only_the_decisions_are_open_and_only_with_the_token(machine: Machine) -> None:
    remote = Policy(Project.find(machine.workshop.root), print).remote()
    assert remote is not None
    for method, path in OPEN:
        assert status_of(remote, method, path, token=remote.token, body=b"{}") == 200, path
    for method, path in CLOSED:
        answered = status_of(remote, method, path, token=remote.token, body=b"{}")
        assert answered in (301, 307, 308, 400, 401, 403, 404, 405), (method, path)
    for token in (None, "wrong", f"{remote.token}x", f" {remote.token}"[:-1]):
        for method, path in OPEN:
            assert status_of(remote, method, path, token=token, body=b"{}") in (401, 403), path


@pytest.mark.req("E-09")
@pytest.mark.promise("row 55")
@pytest.mark.parametrize("machine", [IN_DOCKER, "remote"], indirect=True)
def test_policy_cannot_be_written_and_verdicts_stay(machine: Machine) -> None:
    remote = Policy(Project.find(machine.workshop.root), print).remote()
    assert remote is not None
    before = machine.workshop.decide(a_change("augment"))
    rego = b'package tipstaff.decision\n\nverdict := {"effect": "allow"}\n'
    for method, path in (
        ("PUT", "/v1/policies/x"),
        ("PUT", "/v1/data/tipstaff-access"),
        ("PATCH", "/v1/data/tipstaff-access"),
        ("DELETE", "/v1/data/tipstaff-access"),
        ("DELETE", "/v1/policies/tipstaff/decision/decision.rego"),
    ):
        for token in (remote.token, None):
            answered = status_of(remote, method, path, token=token, body=rego)
            assert answered in (401, 403)
    after = machine.workshop.decide(a_change("augment"))
    assert (after.effect, after.codes) == (before.effect, before.codes)


@pytest.mark.req("E-03")
@pytest.mark.promise("D2", "row 53")
def test_stopped_and_killed_engine_denies_and_is_back(own: Machine) -> None:
    with own.workshop.engine(deadline_s=DEADLINE_S) as engine:
        assert engine.decide(a_change()).effect == "allow"
        own.freeze()
        assert engine.decide(a_change()).codes == ["engine.timeout"]
        own.thaw()
    with own.workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "allow"
        own.kill()
        killed = engine.decide(a_change())
        if isinstance(own, Embedded):
            assert killed.codes in (["engine.unavailable"], ["tier.auto_if_tests_pass"])
        else:
            assert (killed.effect, killed.codes) == ("deny", ["engine.unavailable"])
            assert engine.decide(a_change()).codes == ["engine.unavailable"]
        own.revive()
        assert engine.decide(a_change()).effect == "allow"


@pytest.mark.promise("row 53")
@pytest.mark.parametrize("machine", [IN_DOCKER], indirect=True)
def test_program_that_takes_the_containers_port_is_not_believed(
    own: Machine, tmp_path: Path
) -> None:
    with own.workshop.engine() as engine:
        remote = engine.policy.remote()
        assert remote is not None
        own.kill()
        heard: list[bytes] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        folder = write_certificates(tmp_path)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        with socket.create_server((remote.host, remote.port)) as server:
            thief = threading.Thread(target=_steal, args=(server, context, heard))
            thief.start()
            verdict = engine.decide(a_change())
            thief.join()
    assert (verdict.effect, verdict.codes) == ("deny", ["engine.certificate"])
    assert heard == []


def _steal(server: socket.socket, context: ssl.SSLContext, heard: list[bytes]) -> None:
    peer, _ = server.accept()
    with peer:
        try:
            with context.wrap_socket(peer, server_side=True) as open_peer:
                heard.append(open_peer.recv(65536))
        except OSError:
            return


@pytest.mark.promise("D1", "D2")
def test_every_fault_of_the_table_denies_in_time_and_leaves_no_trace(machine: Machine) -> None:
    workshop = machine.workshop
    workshop.decide(a_change())
    kept = contents(workshop.state), contents(witness_folder(), without=())
    answer = workshop.run("doctor", "--chaos", "--json")
    rows = answer.json["rows"]
    assert [row["fault"] for row in rows if row["effect"] != "deny"] == []
    assert [row["fault"] for row in rows if row["ms"] > 1000 * (chaos.DEADLINE_S + MARGIN_S)] == []
    assert len(rows) >= 34
    in_time = all(row["in_time"] for row in rows)
    assert (answer.code, answer.json["holds"]) == (0 if in_time else 1, in_time)
    assert (contents(workshop.state), contents(witness_folder(), without=())) == kept
    assert workshop.decide(a_change()).effect == "allow"


@pytest.mark.promise("D1")
@pytest.mark.parametrize("machine", ["embedded"], indirect=True)
def test_client_that_takes_an_empty_object_for_allow_turns_the_table_red(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Client.ask
    good: list[Answer] = []

    def gullible(self: Client, entrypoint: str, body: bytes) -> Answer:
        try:
            good.append(ask(self, entrypoint, body))
        except Exception as error:
            if getattr(error, "code", "") != "engine.undefined":
                raise
            return next(one for one in good if one.result.get("effect") == "allow")
        return good[-1]

    monkeypatch.setattr(Client, "ask", gullible)
    answer = machine.workshop.run("doctor", "--chaos")
    assert answer.code == 1
    red = answer.stderr.partition("not denied in time: ")[2]
    assert {"{}", "undefined decision"} <= set(red.strip().split(", "))


@pytest.mark.network
def test_container_is_closed_all_round(stand: Path, opa: Opa) -> None:
    import docker

    demand_docker()
    started = _shared_policy(stand).container()
    client = docker.from_env()
    facts = client.containers.get(started.container).attrs
    image = client.api.inspect_image(facts["Image"])
    client.close()
    host = facts["HostConfig"]
    assert host["ReadonlyRootfs"] and host["CapDrop"] == ["ALL"] and not host["Privileged"]
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert host["PidsLimit"] > 0 and host["Memory"] > 0
    assert facts["Config"]["User"] == "65534:65534"
    assert [(m["Destination"], m["RW"]) for m in facts["Mounts"]] == [("/policy", False)]
    assert [p["HostIp"] for p in facts["NetworkSettings"]["Ports"]["8181/tcp"]] == ["127.0.0.1"]
    assert len(image["RootFS"]["Layers"]) == 1
    token = (started.folder / "token").read_text()
    assert (started.folder / "token").stat().st_mode & 0o777 == 0o600
    shown = [file.read_bytes() for file in (started.folder / "served").iterdir()]
    assert token and not any(
        token.encode() in data for data in [*shown, json.dumps(facts).encode()]
    )


@pytest.mark.network
def test_stop_ends_only_the_containers_of_its_own_state_folder(stand: Path, project: Path) -> None:
    demand_docker()
    other = _shared_policy(stand).container()
    workshop = Workshop(project)
    started = workshop.run("sidecar", "start", "--mode", "docker", "--json")
    assert (started.code, started.json["mode"]) == (0, "docker")
    assert [
        row["mode"] for row in workshop.run("sidecar", "status", "--json").json["sidecars"]
    ] == ["docker"]
    assert workshop.run("sidecar", "stop", "--json").json == {"stopped": 1}
    assert docker_daemon.find(docker_sidecar.owner(workshop.state)) == []
    assert [
        one.id for one in docker_daemon.find(docker_sidecar.owner(stand / "project/.tipstaff"))
    ] == [other.container]
    assert workshop.run("sidecar", "start", "--json").json["mode"] == "embedded"


def test_daemon_that_is_not_there_is_named_with_its_fix(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{project}/nobody.sock")
    with unclosed_sockets():
        answer = Workshop(project).run("sidecar", "start", "--mode", "docker", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (3, "docker.unreachable")
    assert "DOCKER_HOST" in answer.json["error"]["fix"]
    assert Workshop(project).run("sidecar", "start", "--json").json["mode"] == "embedded"


def test_daemon_that_refuses_this_user_is_named_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import docker  # noqa: F401  nobody, as whom the daemon is asked, may not read the environment's files

    address = tmp_path / "docker.sock"
    user = os.geteuid()
    with socket.socket(socket.AF_UNIX) as daemon, unclosed_sockets():
        daemon.bind(str(address))
        address.chmod(0)
        assert _refusal(monkeypatch, tmp_path / "nobody.sock") == "docker.unreachable"
        if user == 0:
            os.seteuid(65534)
        try:
            assert _refusal(monkeypatch, address) == "docker.permission"
        finally:
            os.seteuid(user)


def _refusal(patch: pytest.MonkeyPatch, address: Path) -> str:
    patch.setenv("DOCKER_HOST", f"unix://{address}")
    try:
        docker_daemon.find("nobody")
    except DecisionError as error:
        return error.code
    return ""


def test_program_that_needs_libraries_is_refused(
    project: Path, tmp_path: Path, opa: Opa, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "opa"
    program.write_text(f'#!/bin/sh\nexec {opa.path} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("TIPSTAFF_OPA", str(program))
    answer = Workshop(project).run("sidecar", "start", "--mode", "docker", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (3, "docker.program")
    assert "CGO_ENABLED=0" in answer.json["error"]["fix"]


@pytest.mark.parametrize("mode", MODES)
def test_mode_that_no_decision_would_use_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    if mode != "remote":
        name_remote(monkeypatch, _nobody())
    answer = Workshop(project).run("sidecar", "start", "--mode", mode, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "sidecar.mode")


def _nobody():
    from tipstaff.pdp.address import Remote

    return Remote("http://127.0.0.1:9", TOKEN)
