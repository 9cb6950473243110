"""What is to be proposed in place of a pinned contract: what a server advertises now, or was seen to."""

from __future__ import annotations

from tipstaff.documents.contract import Snapshot
from tipstaff.documents.contract_check import CheckedServer
from tipstaff.documents.contract_facts import CanaryOutcome
from tipstaff.drift.candidates import Candidates
from tipstaff.engine import Engine
from tipstaff.errors import ContractError
from tipstaff.healing.contracts import Wanted
from tipstaff.healing.pins.baseline import read_baseline, server
from tipstaff.healing.pins.checking import Observe, check

Observed = tuple[Snapshot, list[CanaryOutcome]]


def seen_before(engine: Engine, name: str, digest: str) -> Observed:
    """The candidate of this digest, none of whose canaries is run.

    Raises ``ContractError`` (``contract.candidate_unknown``) where there is none.
    """
    kept = Candidates(engine.project.state).find(name, digest)
    if kept is None:
        raise ContractError(
            "contract.candidate_unknown",
            f"no contract of {name} was observed with this digest",
            field="--candidate",
            fix="copy the digest that `tipstaff contracts check` shows",
        )
    found = kept.snapshot
    return found, [CanaryOutcome(id=one.id, outcome="not_run") for one in found.canaries]


def seen_now(engine: Engine, name: str, observe: Observe) -> Observed:
    """What the server advertises, as a check of it finds, and what came of its canaries.

    Raises what observing raises, and ``ContractError``: for a pin that cannot be relied on, and
    ``contract.ambiguous``.
    """
    checked = _checked(engine, name, observe)
    digest = checked.new_digest or ""
    outcomes = [CanaryOutcome(id=one.id, outcome=one.status) for one in checked.canaries]
    pin = read_baseline(engine.project.root, name).snapshot
    if pin is not None and pin.digest == digest:
        return pin, outcomes
    kept = Candidates(engine.project.state).find(name, digest)
    if kept is None:
        raise ContractError(
            "contract.ambiguous",
            f"the contract that {name} advertises cannot be kept, for two of its tools have one name",
            fix="have the server give each tool a name of its own",
        )
    return kept.snapshot, outcomes


def _checked(engine: Engine, name: str, observe: Observe) -> CheckedServer:
    server(engine.project, name)
    [checked] = check(engine, [name], Wanted(), observe)
    if checked.error is not None:
        raise checked.error
    return checked.server
