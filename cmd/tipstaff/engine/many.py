"""Asking about many documents: in batches, two at a time, each over a connection of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tipstaff.engine import answer
from tipstaff.engine.policy import Policy
from tipstaff.engine.question import Question
from tipstaff.errors import DecisionError
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.client import VERDICTS, Client

if TYPE_CHECKING:
    from concurrent.futures import Future

_LANES = 2
Results = tuple[list[Any], str]


def ask(client: Client, questions: list[Question]) -> Results:
    """What OPA answered to each question, unchecked, and its version; raises ``DecisionError``."""
    body = b'{"input":{"documents":[' + b",".join(item.body for item in questions) + b"]}}"
    answered = client.ask(VERDICTS, body)
    if not isinstance(answered.result, list) or len(answered.result) != len(questions):
        raise answer.invalid("not one answer a document")
    return answered.result, answered.opa_version


def ask_in_turns(
    policy: Policy, batches: Iterable[list[Question]]
) -> Iterator[tuple[list[Question], Callable[[], Results]]]:
    """Each batch in order, with what gives its results or raises ``DecisionError``.

    While OPA evaluates, the next batch is taken, so that a pause or another policy takes effect within a few batches.
    """
    from concurrent.futures import ThreadPoolExecutor

    lanes = [_Lane(policy) for _ in range(_LANES)]
    waiting: deque[tuple[list[Question], Future[Results]]] = deque()
    with ThreadPoolExecutor(_LANES, "tipstaff-decide") as pool:
        try:
            for place, questions in enumerate(batches):
                if len(waiting) == _LANES:
                    asked, future = waiting.popleft()
                    future.exception()  # waits: its lane is the next one's
                    yield asked, future.result
                waiting.append((questions, pool.submit(lanes[place % _LANES].ask, questions)))
            for asked, future in waiting:
                yield asked, future.result
        finally:
            pool.shutdown()
            for lane in lanes:
                lane.close()


class _Lane:
    """One connection, to the policy that held when a batch was made."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._bundles: tuple[Bundle, ...] = ()
        self._client: Client | None = None

    def ask(self, questions: list[Question]) -> Results:
        """The results of one batch; raises ``DecisionError``, and then connects anew for the next."""
        try:
            return ask(self._connected(questions), questions)
        except DecisionError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connected(self, questions: list[Question]) -> Client:
        bundles = self._policy.bundles_of(questions[0].document["context"]["bundles"])
        if self._client is None or bundles is not self._bundles:
            self.close()
            self._client, self._bundles = self._policy.connect(bundles), bundles
        return self._client
