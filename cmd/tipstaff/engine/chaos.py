"""The unavailability table: each way in which the engine can fail, done to the engine in use, and what is decided then.

Between our client and the real engine stands a connection that asks the real one, turns what it said into an allow, and
then fails in one way; the fault alone must be what denies. Nothing is recorded, and nothing that others use is stopped.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from tipstaff.engine import chaos_rows as rows
from tipstaff.engine import faults
from tipstaff.engine.chaos_rows import DEADLINE_S
from tipstaff.engine.engine import Engine
from tipstaff.engine.policy import Policy
from tipstaff.engine.question import Question
from tipstaff.errors import DecisionError
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.client import Client
from tipstaff.pdp.mode import Mode
from tipstaff.pdp.transport import StreamTransport, Transport
from tipstaff.project import Project

GRACE_S = 0.5
_DOCUMENT = {
    "schema_version": 1,
    "kind": "change",
    "subject": {"id": "doctor"},
    "action": {"class": "augment", "requested_capabilities": [], "found_capabilities": []},
    "resource": {"base": "HEAD", "diff_sha256": "0" * 64, "files": []},
}


@dataclass(frozen=True)
class Row:
    """One fault, what was decided under it, in how many milliseconds, and whether that is in time."""

    fault: str
    effect: str
    codes: list[str]
    ms: float
    in_time: bool

    @property
    def holds(self) -> bool:
        """Whether it denied in time."""
        return self.effect == "deny" and self.in_time


@dataclass(frozen=True)
class Table:
    """The mode in use, the deadline of each row in seconds, and the rows."""

    mode: Mode
    deadline_s: float
    rows: list[Row]

    @property
    def holds(self) -> bool:
        """Whether every row denied in time."""
        return all(row.holds for row in self.rows)


def reproduce(project: Project, say: Callable[[str], None]) -> Table:
    """Do each fault to the engine in use.

    Raises ``DecisionError`` where that engine does not answer as it is, since a denial would then prove nothing.
    """
    engine = Engine(project, say=say, deadline_s=DEADLINE_S)
    policy = engine.policy
    question = engine.question(_DOCUMENT)
    with policy.client() as client, TemporaryDirectory(prefix="tipstaff-chaos-") as folder:
        client.check()
        bench = _Bench(engine, question, client.transport)
        bench.demand_teeth()
        found = [bench.answered(name, fault) for name, fault in rows.ANSWERS.items()]
        found.append(bench.judged("connection refused", _through(_Refused())))
        for name, prepare in rows.engines(policy).items():
            with prepare(policy, Path(folder)) as connect:
                found.append(bench.judged(name, connect))
        return Table(policy.mode, DEADLINE_S, found)


class Faulty(StreamTransport):
    """A transport whose other end asks the real engine and then fails; ``fault`` makes the part from an exchange."""

    def __init__(self, real: Transport, fault: rows.Fault) -> None:
        super().__init__("the connection", {"Host": "opa"})
        self._real = real
        self._fault = fault
        self._threads: list[Thread] = []

    def open(self, deadline: float) -> socket.socket:
        """One end of a connection over loopback; a thread plays the engine on the other one."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            ours = socket.create_connection(server.getsockname(), timeout=DEADLINE_S)
            theirs, address = server.accept()
        if address != ours.getsockname():
            raise ConnectionAbortedError("another program connected first")
        thread = Thread(target=self._serve, args=(theirs,), daemon=True)
        self._threads.append(thread)
        thread.start()
        return ours

    def close(self) -> None:
        """Close our end and wait for the other one."""
        super().close()
        for thread in self._threads:
            thread.join()

    def _serve(self, peer: socket.socket) -> None:
        with suppress(OSError), peer:
            while request := faults.read_request(peer):
                head, _, body = request.partition(b"\r\n\r\n")
                exchange = rows.Exchange(self._real, head.split(b" ")[1].decode(), body, DEADLINE_S)
                self._fault(exchange)(peer)


class _Refused(StreamTransport):
    """A transport to a port that is taken, and where nobody listens."""

    def __init__(self) -> None:
        super().__init__("a port where nobody listens", {"Host": "opa"})

    def open(self, deadline: float) -> socket.socket:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            return socket.create_connection(taken.getsockname(), timeout=DEADLINE_S)


class _Played(Policy):
    """The project's policy, connected to what a row says."""

    def __init__(self, real: Policy, connect: rows.Connect) -> None:
        super().__init__(real.project, lambda line: None, DEADLINE_S)
        self._given = connect
        self.adopt(real)

    def connect(self, bundles: tuple[Bundle, ...]) -> Client:
        """As the row says."""
        return self._given(bundles)


class _Bench:
    """Asks one question again and again, each time under another fault, by the engine's own way of judging."""

    def __init__(self, engine: Engine, question: Question, real: Transport) -> None:
        self._engine, self._question, self._real = engine, question, real
        self._policy = engine.policy

    def demand_teeth(self) -> None:
        """The allow that faults are applied to must be believed where there is no fault."""
        row = self.answered("", lambda exchange: faults.says(exchange.allowed()))
        if row.effect != "allow":
            raise DecisionError(
                "engine.invalid",
                f"even without a fault the answer was {row.effect} ({' '.join(row.codes)})",
                fix="run `tipstaff doctor`; the table means nothing before the engine answers",
            )

    def answered(self, name: str, fault: rows.Fault) -> Row:
        """The row of a fault in the answer."""
        return self.judged(name, _through(Faulty(self._real, fault)))

    def judged(self, name: str, connect: rows.Connect) -> Row:
        """The row of a connection that is what the fault says."""
        played = _Played(self._policy, connect)
        self._engine.policy = played
        began = time.monotonic()
        verdict = self._engine.judge(self._question)
        took = time.monotonic() - began
        played.disconnect()
        self._engine.policy = self._policy
        in_time = took <= DEADLINE_S + GRACE_S
        return Row(name, verdict.effect, list(verdict.codes), round(took * 1000, 1), in_time)


def _through(transport: Transport) -> rows.Connect:
    def connect(bundles: tuple[Bundle, ...]) -> Client:
        revisions = {bundle.name: bundle.revision for bundle in bundles}
        return Client(transport, revisions=revisions, deadline_s=DEADLINE_S)

    return connect
