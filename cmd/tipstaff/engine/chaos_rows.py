"""The faults of the unavailability table: what becomes of an answer, and what becomes of the engine itself."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Timer
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.engine import faults
from tipstaff.engine.policy import Policy
from tipstaff.pdp import archive
from tipstaff.pdp.bundle import Bundle, check, content
from tipstaff.pdp.client import Client
from tipstaff.pdp.opa import ensure
from tipstaff.pdp.signing import SIGNATURES
from tipstaff.pdp.transport import Transport

DEADLINE_S = 0.5
_FORWARD_S = 5.0
_IN_CALL_S = 0.1
_FLOOD_BYTES = 50 << 20


@dataclass(frozen=True)
class Exchange:
    """A question on its way to the real engine, and the deadline in seconds that it has."""

    real: Transport
    path: str
    body: bytes
    deadline_s: float

    def allowed(self) -> Json:
        """What the real engine answers, turned into an allow and otherwise whole."""
        _, data = self.real.post(self.path, self.body, time.monotonic() + _FORWARD_S)
        document: Json = json.loads(data)
        document["result"] |= {"effect": "allow", "confirmations": 0}
        return document

    def allowed_bytes(self) -> bytes:
        """The same as it would be sent."""
        return json.dumps(self.allowed()).encode()


Fault = Callable[[Exchange], faults.Play]
Connect = Callable[[tuple[Bundle, ...]], Client]
Prepare = Callable[[Policy, Path], AbstractContextManager[Connect]]


def _status(line: str) -> Fault:
    return lambda exchange: faults.answer(exchange.allowed_bytes(), line)


def _body(data: bytes) -> Fault:
    return lambda exchange: faults.answer(data)


def _half(end: faults.Play) -> Fault:
    return lambda exchange: faults.half_then(exchange.allowed_bytes(), end)


def _changed(**parts: Any) -> Fault:
    """The answer with other parts; None takes one away."""

    def fault(exchange: Exchange) -> faults.Play:
        whole = exchange.allowed() | parts
        return faults.says({key: value for key, value in whole.items() if value is not None})

    return fault


def _verdict(**parts: Any) -> Fault:
    def fault(exchange: Exchange) -> faults.Play:
        whole = exchange.allowed()
        return faults.says(whole | {"result": whole["result"] | parts})

    return fault


def _provenance(change: Callable[[Json], Json]) -> Fault:
    def fault(exchange: Exchange) -> faults.Play:
        whole = exchange.allowed()
        whole["provenance"]["bundles"] = change(whole["provenance"]["bundles"])
        return faults.says(whole)

    return fault


def _without_last(bundles: Json) -> Json:
    return {name: bundles[name] for name in list(bundles)[:-1]}


def _twice(exchange: Exchange) -> faults.Play:
    data = exchange.allowed_bytes()
    return faults.answer(b'{"result":{"effect":"deny"},' + data[1:])


def _elsewhere(exchange: Exchange) -> faults.Play:
    path = exchange.path.replace("/verdict", "/nothing")
    status, data = exchange.real.post(path, exchange.body, time.monotonic() + _FORWARD_S)
    return faults.answer(data, f"{status} As the engine says")


def _late(exchange: Exchange) -> faults.Play:
    return faults.late(exchange.allowed_bytes(), exchange.deadline_s + 0.001)


ANSWERS: Mapping[str, Fault] = {
    "no answer": lambda exchange: faults.hang,
    "one millisecond over the deadline": _late,
    "one byte each 50 ms": lambda exchange: faults.drip(exchange.allowed_bytes()),
    "half a body, then silence": _half(faults.hang),
    "half a body, then the end": _half(faults.close),
    "half a body, then a reset": _half(faults.reset),
    "reset before the answer": lambda exchange: faults.reset,
    "HTTP 301": _status("301 Moved Permanently"),
    "HTTP 401": _status("401 Unauthorized"),
    "HTTP 404": _status("404 Not Found"),
    "HTTP 429": _status("429 Too Many Requests"),
    "HTTP 500": _status("500 Internal Server Error"),
    "{}": _body(b"{}"),
    "null": _body(b"null"),
    "true": _body(b"true"),
    "[]": _body(b"[]"),
    '"allow"': _body(b'"allow"'),
    "an HTML page": _body(b"<html><body>allow</body></html>"),
    "a key twice": _twice,
    "50 MB": lambda exchange: faults.flood(_FLOOD_BYTES),
    "unknown path": _elsewhere,
    "undefined decision": _changed(result=None),
    "no provenance": _changed(provenance=None),
    "another revision": _provenance(
        lambda bundles: {name: {"revision": "another"} for name in bundles}
    ),
    "one bundle absent": _provenance(_without_last),
    "a verdict that is true": _changed(result=True),
    "a verdict with nothing but allow": _changed(result={"effect": "allow"}),
    "an effect in capitals": _verdict(effect="ALLOW"),
    "an unknown obligation": _verdict(obligations=[{"id": "something_else"}]),
    "a verdict on another decision": _verdict(decision_id="01890000-0000-7000-8000-000000000000"),
    "a verdict of another kind": _verdict(kind="control"),
}


@contextmanager
def _killed_embedded(policy: Policy, folder: Path) -> Iterator[Connect]:
    """A sidecar of our own, stopped so that the call can't be over before it is killed."""
    from tipstaff.pdp import sidecar

    running = sidecar.join(folder / "killed", ensure(lambda line: None), policy.bundles())
    try:
        faults.freeze(running.pid)
        with _soon(lambda: os.kill(running.pid, signal.SIGKILL)) as start:
            yield lambda bundles: start(running.client)
    finally:
        sidecar.stop(folder / "killed")


@contextmanager
def _killed_docker(policy: Policy, folder: Path) -> Iterator[Connect]:
    from tipstaff.pdp import docker_daemon, docker_sidecar

    state = folder / "killed"
    running = docker_sidecar.start(state, ensure(lambda line: None), policy.bundles())
    try:
        docker_daemon.pause(running.container)
        with _soon(lambda: docker_daemon.kill(running.container)) as start:
            yield lambda bundles: start(running.client)
    finally:
        docker_sidecar.stop(state)


@contextmanager
def _soon(act: Callable[[], None]) -> Iterator[Callable[[Callable[..., Client]], Client]]:
    """Do it a moment after the client was made."""
    timer = Timer(_IN_CALL_S, act)

    def start(client: Callable[..., Client]) -> Client:
        timer.start()
        return client(deadline_s=DEADLINE_S)

    yield start
    if timer.is_alive():
        timer.join()


def _refused(change: Callable[[bytes], bytes]) -> Prepare:
    """A start on a bundle that is not what was signed."""

    @contextmanager
    def prepare(policy: Policy, folder: Path) -> Iterator[Connect]:
        first, *others = policy.bundles()
        data = change(content(first))
        file = folder / "changed.tar.gz"
        file.write_bytes(data)
        bundle = replace(first, file=file)

        def connect(_: tuple[Bundle, ...]) -> Client:
            if policy.mode == "embedded":
                from tipstaff.pdp import sidecar

                opa = ensure(lambda line: None)
                running = sidecar.join(folder / "changed", opa, [bundle, *others])
                return running.client(deadline_s=_FORWARD_S)
            check(bundle, data)
            return policy.client()

        yield connect

    return prepare


def _unsigned(data: bytes) -> bytes:
    files = archive.unpack(data)
    return archive.pack({name: files[name] for name in files if name != SIGNATURES})


def _tampered(data: bytes) -> bytes:
    """One byte of the middle of a file changed, in the one form that bundles are read in."""
    files = archive.unpack(data)
    name = max(files, key=lambda each: len(files[each]))
    middle = len(files[name]) // 2
    text = bytearray(files[name])
    text[middle] ^= 1
    return archive.pack({**files, name: bytes(text)})


@contextmanager
def _stranger(policy: Policy, folder: Path) -> Iterator[Connect]:
    """The engine as a client sees it that trusts another authority."""
    from tipstaff.pdp.certificate import write_pinned

    write_pinned(folder, "127.0.0.1")
    yield _as(policy, ca=folder / "server.pem")


@contextmanager
def _intruder(policy: Policy, folder: Path) -> Iterator[Connect]:
    yield _as(policy, token="not-the-token")  # noqa: S106  no secret: it is meant to be refused


def _as(policy: Policy, **other: Any) -> Connect:
    from tipstaff.pdp.remote import RemoteTransport

    remote = policy.remote()
    assert remote is not None  # noqa: S101  only such engines have this row

    def connect(bundles: tuple[Bundle, ...]) -> Client:
        revisions = {bundle.name: bundle.revision for bundle in bundles}
        transport = RemoteTransport(replace(remote, **other))
        return Client(transport, revisions=revisions, deadline_s=_FORWARD_S)

    return connect


_BUNDLES: dict[str, Prepare] = {
    "unsigned bundle": _refused(_unsigned),
    "tampered bundle": _refused(_tampered),
}


def engines(policy: Policy) -> dict[str, Prepare]:
    """What can be done to the engine of the mode in use."""
    remote = policy.remote()
    found: dict[str, Prepare] = {}
    if policy.mode == "embedded":
        found["OPA killed during the call"] = _killed_embedded
    if policy.mode == "docker":
        found["container killed during the call"] = _killed_docker
    if remote and remote.is_encrypted:
        found["another certificate"] = _stranger
    if remote and remote.token:
        found["another token"] = _intruder
    return found | _BUNDLES
