"""Live servers held against their committed snapshots, side by side. Nothing here writes to what is committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from tipstaff.documents.contract import Snapshot
from tipstaff.documents.contract_check import CheckedCanary, CheckedServer
from tipstaff.documents.contract_facts import ContractEvidence
from tipstaff.documents.input import ContractInput, ContractResource
from tipstaff.documents.server import Server
from tipstaff.documents.verdict import Verdict
from tipstaff.drift.candidates import Candidates
from tipstaff.drift.change import Change
from tipstaff.drift.observing.target import Call, Observation, Target
from tipstaff.drift.versions import declared_versions
from tipstaff.engine import Engine
from tipstaff.errors import ContractError, Error
from tipstaff.healing.contracts import Found, Wanted, asking, evidence, found_in, graded
from tipstaff.healing.pin_paths import FOLDER
from tipstaff.healing.pins import canaries
from tipstaff.healing.pins.baseline import Baseline, others, pinned, read_baseline, servers

Observe = Callable[[Target, Sequence[Call]], Observation]
_SIDE_BY_SIDE = 8
# What an observation that failed is called in the evidence; any other failure leaves the contract undetermined.
_UNOBSERVED = {
    "contract.unreachable": "unreachable",
    "contract.incomplete": "incomplete",
    "contract.unsteady": "unsteady",
    "contract.error_response": "error_response",
}


@dataclass(frozen=True)
class Look:
    """What came of looking at one server: its baseline, what it shows now, and what changed."""

    baseline: Baseline
    status: str
    new: Snapshot | None = None
    changes: tuple[Change, ...] = ()
    canaries: tuple[CheckedCanary, ...] = ()
    seen: Observation | None = None
    error: Error | None = None


@dataclass(frozen=True)
class Checked:
    """One server with what policy says of it: whether all was looked at, and whether it is one to fail on.

    ``path`` is that of its snapshot from the project's root.
    """

    server: CheckedServer
    path: str
    settled: bool
    fails: bool
    error: Error | None
    verdict: Verdict


def check(engine: Engine, names: Sequence[str], wanted: Wanted, observe: Observe) -> list[Checked]:
    """Check the named servers, or all that are configured or have a snapshot; each leaves one record.

    What was observed and is not committed is kept as a candidate. Raises ``ContractError`` where there is nothing to
    check, or no server of a name; ``DecisionError`` where policy gives no grades.
    """
    root, known = engine.project.root, servers(engine.project)
    asked = list(dict.fromkeys(names)) or sorted({*known, *pinned(root)})
    _demand(asked, known, pinned(root))
    baselines = [read_baseline(root, name) for name in asked]
    pins = [one.snapshot for one in baselines if one.snapshot and one.name in known]
    calls = dict(
        zip((pin.server_id for pin in pins), canaries.permitted(engine, pins), strict=True)
    )

    def look(baseline: Baseline) -> Look:
        allowed = calls.get(baseline.name, canaries.Calls())
        return _look(baseline, known.get(baseline.name), allowed, observe)

    with ThreadPoolExecutor(max_workers=min(len(asked), _SIDE_BY_SIDE)) as pool:
        looks = list(pool.map(look, baselines))
    looks = [_compared(one, engine) for one in looks]
    documents = [_document(engine, one, wanted) for one in looks]
    verdicts = engine.decide_many(documents)
    store = Candidates(engine.project.state)
    for one in looks:
        if one.new is not None and one.new.digest != one.baseline.digest:
            store.keep(one.new, engine.actor)
    return [_checked(*each) for each in zip(looks, documents, verdicts, strict=True)]


def _demand(asked: Sequence[str], known: dict[str, Server], committed: Sequence[str]) -> None:
    for name in asked:
        if name not in known and name not in committed:
            raise ContractError(
                "contract.unknown",
                f"neither the configuration nor a snapshot names a server {name[:100]!r}",
                file="tipstaff.yaml",
                field="contracts.servers",
                fix="add it with its command or url",
            )
    if not asked:
        raise ContractError(
            "contract.no_servers",
            "there is no server to check, and nothing follows from nothing",
            file="tipstaff.yaml",
            field="contracts.servers",
            fix="name the servers with their commands or urls",
        )


def _look(
    baseline: Baseline, server: Server | None, calls: canaries.Calls, observe: Observe
) -> Look:
    """Observe one server; a baseline that cannot be relied on blocks it, and a fault of the server is a result."""
    if baseline.error is not None:
        return Look(baseline, baseline.status, error=baseline.error)
    if server is None:
        return Look(baseline, "unconfigured")
    try:
        seen = observe(Target.configured(baseline.name, server), calls.made)
    except Error as error:
        found = canaries.results(baseline.snapshot, None, calls) if baseline.snapshot else []
        status = _UNOBSERVED.get(error.code, "indeterminate")
        return Look(baseline, status, canaries=tuple(found), error=error)
    if baseline.snapshot is None:
        return Look(baseline, baseline.status, seen.snapshot, seen=seen)
    pin = baseline.snapshot
    found = canaries.results(pin, seen, calls)
    new = canaries.renewed(pin, seen.snapshot, found)
    unstable = tuple(canaries.still_unstable(pin, found))
    return Look(baseline, baseline.status, new, unstable, tuple(found), seen)


def _compared(one: Look, engine: Engine) -> Look:
    """With what changed since its baseline, also beside other servers."""
    if one.new is None or one.new.digest == one.baseline.digest:
        return one
    beside = others(engine.project.root, one.baseline.name)
    found = found_in(one.baseline.snapshot, one.new, list(beside))
    return replace(one, changes=(*found.changes, *one.changes))


def _document(engine: Engine, one: Look, wanted: Wanted) -> ContractInput:
    pin, new = one.baseline.snapshot, one.new
    facts = ContractEvidence(status=one.status, changes=[])
    if new is not None:
        versions = declared_versions(pin, new) if pin else ()
        facts = evidence(Found(new, one.baseline.digest, one.changes, versions), one.status)
    facts = facts.model_copy(update={"canaries": canaries.outcomes(one.canaries)})
    resource = ContractResource(
        id=one.baseline.name,
        old_digest=one.baseline.digest,
        new_digest=new.digest if new else None,
    )
    return asking(engine, resource, "check", facts, wanted)


def _checked(one: Look, document: ContractInput, verdict: Verdict) -> Checked:
    found = graded(verdict, document, one.changes) if one.new is not None else None
    word = verdict.facts.get("status")
    server = CheckedServer(
        name=one.baseline.name,
        status=word if isinstance(word, str) else "indeterminate",
        old_digest=one.baseline.digest,
        new_digest=one.new.digest if one.new else None,
        diff=found.diff if found else None,
        canaries=list(one.canaries),
        effect=verdict.effect,
        codes=verdict.codes,
        decision_id=verdict.decision_id,
        error=dict(one.error.diagnostics()) if one.error else None,
        report=one.seen.report if one.seen else getattr(one.error, "report", None),
    )
    return Checked(
        server,
        f"{FOLDER}/{one.baseline.path.name}",
        verdict.facts.get("settled") is True,
        verdict.facts.get("fails") is True,
        one.error,
        verdict,
    )
