"""Recorded calls made again: which may be, what came of each, and the snapshot that would take the answers up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tipstaff.documents.base import Json
from tipstaff.documents.canary import Canary
from tipstaff.documents.contract import Snapshot, altered, definition_sha256
from tipstaff.documents.contract_check import CanaryStatus, CheckedCanary
from tipstaff.documents.contract_facts import CanaryCall, CanaryOutcome, ContractEvidence
from tipstaff.drift.change import Change
from tipstaff.drift.diff import stated_hints, words_of
from tipstaff.drift.masking import fingerprint
from tipstaff.drift.observing.target import Call, Observation
from tipstaff.drift.server import unstable
from tipstaff.engine import Engine
from tipstaff.errors import ContractError
from tipstaff.healing.contracts import ask_about

_OF_VERSION_1 = "behavior_fingerprint"


@dataclass(frozen=True)
class Calls:
    """The calls that may be made of a server, and the canaries that may not be run."""

    made: tuple[Call, ...] = ()
    forbidden: frozenset[str] = frozenset()


def call_facts(
    canary: Canary, tool: Json, *, runs: int | None = None, distinct: int | None = None
) -> CanaryCall:
    """What policy sees of a call of a tool, before it is made or after."""
    return CanaryCall(
        id=canary.id,
        tool=canary.tool,
        words=words_of(tool),
        stated=stated_hints(tool),
        granted=canary.granted,
        runs=runs,
        distinct=distinct,
    )


def permitted(engine: Engine, pins: Sequence[Snapshot]) -> list[Calls]:
    """Which canaries of each snapshot policy lets be run, and how often; asked for all at once and not recorded."""
    asked = [
        (place, canary, tool)
        for place, pin in enumerate(pins)
        for canary in pin.canaries
        if (tool := tool_of(pin, canary.tool)) is not None
    ]
    if not asked:
        return [Calls() for _ in pins]
    documents = [
        ask_about(
            engine,
            pins[place],
            "call",
            ContractEvidence(status="compared", changes=[], canary=call_facts(canary, tool)),
        )
        for place, canary, tool in asked
    ]
    made: list[list[Call]] = [[] for _ in pins]
    forbidden: list[set[str]] = [set() for _ in pins]
    for (place, canary, tool), verdict in zip(asked, engine.evaluate(documents), strict=True):
        if verdict.is_allowed:
            made[place].append(call_of(canary, tool, verdict.facts["runs"]))
        else:
            forbidden[place].add(canary.id)
    return [Calls(tuple(one), frozenset(other)) for one, other in zip(made, forbidden, strict=True)]


def call_of(canary: Canary, tool: Json, times: int) -> Call:
    """The call of a canary, of the tool as it is in the snapshot."""
    return Call(canary.id, canary.tool, canary.arguments, definition_sha256(tool), times)


def tool_of(snapshot: Snapshot, name: str) -> Json | None:
    """The one tool of a name, if there is exactly one."""
    found = [tool for tool in snapshot.tools if tool["name"] == name]
    return found[0] if len(found) == 1 else None


def results(pin: Snapshot, seen: Observation | None, calls: Calls) -> list[CheckedCanary]:
    """What came of each canary of a snapshot; one that version 1 kept a digest for can't be run at all."""
    times = {call.id: call.times for call in calls.made}
    found = []
    for canary in pin.canaries:
        status, new = _result(pin, canary, seen, times.get(canary.id, 0))
        status = "forbidden" if canary.id in calls.forbidden else status
        found.append(
            CheckedCanary(
                id=canary.id,
                tool=canary.tool,
                status=status,
                old_fingerprint=canary.fingerprint,
                new_fingerprint=new,
            )
        )
    if pin.behavior_fingerprint is not None:
        found.append(
            CheckedCanary(
                id=_OF_VERSION_1,
                tool=None,
                status="not_run",
                old_fingerprint=pin.behavior_fingerprint,
                new_fingerprint=None,
            )
        )
    return found


def _result(
    pin: Snapshot, canary: Canary, seen: Observation | None, times: int
) -> tuple[CanaryStatus, str | None]:
    answers = list(seen.answers.get(canary.id, ())) if seen else []
    if seen is None or not answers or len(answers) < times:
        return "not_run", None
    if any("refused" in answer for answer in answers):
        now = tool_of(seen.snapshot, canary.tool)
        then = tool_of(pin, canary.tool)
        is_same = now and then and definition_sha256(now) == definition_sha256(then)
        return ("refused" if is_same else "redefined"), None
    try:
        found = {fingerprint(answer, canary.masks) for answer in answers}
    except ContractError:
        return "not_run", None
    if len(found) > 1 or not canary.stable:
        return "unstable", None
    [new] = found
    return ("same" if new == canary.fingerprint else "changed"), new


def outcomes(found: Sequence[CheckedCanary]) -> list[CanaryOutcome]:
    """The results as policy sees them."""
    return [CanaryOutcome(id=canary.id, outcome=canary.status) for canary in found]


def renewed(pin: Snapshot, seen: Snapshot, found: Sequence[CheckedCanary] = ()) -> Snapshot:
    """What a server shows now, with the canaries of its committed snapshot and the answers that they have now.

    What was not run keeps its old answer, and a canary whose tool is gone goes with it.
    """
    result = {canary.id: canary for canary in found}
    names = {tool["name"] for tool in seen.tools}
    kept = [
        _renewed(canary, result.get(canary.id)) for canary in pin.canaries if canary.tool in names
    ]
    return altered(seen, canaries=kept, behavior_fingerprint=pin.behavior_fingerprint)


def _renewed(canary: Canary, found: CheckedCanary | None) -> Canary:
    if found is None or found.status == "same":
        return canary
    if found.status == "redefined":  # it was granted for another tool than this one
        canary = canary.model_copy(update={"granted": False})
    if found.status == "unstable":
        return canary.model_copy(update={"stable": False})
    if found.new_fingerprint is None:
        return canary
    return canary.model_copy(update={"fingerprint": found.new_fingerprint})


def still_unstable(pin: Snapshot, found: Sequence[CheckedCanary]) -> list[Change]:
    """The canaries that were accepted as unstable: no difference of the snapshot, and a finding each time."""
    ids = {canary.id for canary in found if canary.status == "unstable"}
    return [unstable(canary) for canary in pin.canaries if canary.id in ids and not canary.stable]
