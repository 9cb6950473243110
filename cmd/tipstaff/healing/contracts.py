"""Contracts held against each other: what changed, as ``drift`` finds it, and what that is worth, as policy says it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tipstaff.documents.base import Json, parse
from tipstaff.documents.contract import Snapshot
from tipstaff.documents.contract_diff import ContractDiff
from tipstaff.documents.contract_facts import ContractChange, ContractEvidence, ContractVersion
from tipstaff.documents.input import ContractAction, ContractInput, ContractResource, Subject
from tipstaff.documents.verdict import Verdict
from tipstaff.drift.change import Change
from tipstaff.drift.diff import diff
from tipstaff.drift.sight import first_sight, new_beside
from tipstaff.drift.versions import declared_versions
from tipstaff.engine import Engine
from tipstaff.errors import DecisionError


@dataclass(frozen=True)
class Wanted:
    """What the caller fails on: findings of at least this severity, or of this authority."""

    fail_on: str | None = None
    fail_on_authority: str | None = None


@dataclass(frozen=True)
class Found:
    """What was found in a contract: its changes since ``old_digest``, and the versions that it declares."""

    new: Snapshot
    old_digest: str | None
    changes: Sequence[Change]
    versions: Sequence[Json] = ()

    @property
    def status(self) -> str:
        """Whether there was a contract to compare with."""
        return "unbaselined" if self.old_digest is None else "compared"


@dataclass(frozen=True)
class Graded:
    """A difference with its grades, the verdict that gave them, and whether it is one to fail on."""

    diff: ContractDiff
    verdict: Verdict
    fails: bool
    changes: tuple[Change, ...] = ()


def found_in(old: Snapshot | None, new: Snapshot, beside: Iterable[Snapshot] = ()) -> Found:
    """What changed, also beside other servers' contracts; of a first contract what it shows at first sight."""
    if old is None:
        return Found(new, None, first_sight(new, beside))
    changes = [*diff(old, new), *new_beside(old, new, beside)]
    return Found(new, old.digest, changes, declared_versions(old, new))


def compare(
    engine: Engine,
    old: Snapshot | None,
    new: Snapshot,
    wanted: Wanted = Wanted(),
    beside: Iterable[Snapshot] = (),
) -> Graded:
    """What changed between two snapshots of one server, as ``found_in`` finds it, graded; nothing is recorded.

    Raises ``DecisionError`` where policy gives no grades.
    """
    found = found_in(old, new, beside)
    resource = ContractResource(
        id=new.server_id, old_digest=found.old_digest, new_digest=new.digest
    )
    document = asking(engine, resource, "diff", evidence(found), wanted)
    return graded(engine.evaluate([document])[0], document, found.changes)


def evidence(found: Found, status: str | None = None) -> ContractEvidence:
    """What was found, as policy sees it; ``status`` is that of a baseline which cannot be relied on."""
    return ContractEvidence(
        status=status or found.status,
        changes=[parse(ContractChange, _fact(change)) for change in found.changes],
        versions=[ContractVersion(**version) for version in found.versions],
    )


def asking(
    engine: Engine,
    resource: ContractResource,
    act: str,
    facts: ContractEvidence,
    wanted: Wanted = Wanted(),
) -> ContractInput:
    """The document that asks policy about an act upon a contract."""
    return ContractInput(
        schema_version=1,
        kind="contract",
        subject=Subject(id=engine.actor.id),
        action=ContractAction(
            type=act, fail_on=wanted.fail_on, fail_on_authority=wanted.fail_on_authority
        ),
        resource=resource,
        evidence=facts,
    )


def ask_about(engine: Engine, pin: Snapshot, act: str, facts: ContractEvidence) -> ContractInput:
    """The document that asks about an act upon a committed contract as it is."""
    resource = ContractResource(id=pin.server_id, old_digest=pin.digest, new_digest=pin.digest)
    return asking(engine, resource, act, facts)


def _fact(change: Change) -> Json:
    known = ContractChange.model_fields.keys()
    fact = {name: value for name, value in change.as_fact().items() if name in known}
    return {**fact, "tools": list(change.tools)}


def graded(verdict: Verdict, document: ContractInput, changes: Sequence[Change]) -> Graded:
    """The changes with the grades of a verdict on them.

    Raises ``DecisionError`` where it does not grade each of them.
    """
    facts = verdict.facts
    grades, lies = facts.get("grades"), facts.get("lies")
    if not isinstance(grades, list) or len(grades) != len(changes) or not isinstance(lies, list):
        raise _ungraded(verdict)
    findings = [{**_shown(change), **grade} for change, grade in zip(changes, grades, strict=True)]
    findings += [_lie(document.evidence.versions[lie["place"]], lie) for lie in lies]
    whole = {
        "schema_version": 1,
        "old_digest": document.resource.old_digest,
        "new_digest": document.resource.new_digest,
        **{name: facts[name] for name in ContractDiff.model_fields if name in facts},
        "findings": findings,
    }
    return Graded(parse(ContractDiff, whole), verdict, facts.get("fails") is True, tuple(changes))


def _shown(change: Change) -> Json:
    members = ("kind", "tool", "path", "before", "after", "message")
    return {name: getattr(change, name) for name in members}


def _lie(version: ContractVersion, grade: Json) -> Json:
    what = f"the tool {version.tool}" if version.tool else "the server"
    step = (
        f"stays {version.after}"
        if version.before == version.after
        else f"goes from {version.before} to {version.after}"
    )
    return {
        "kind": "version_lie",
        "tool": version.tool,
        "path": "/version" if version.tool else "/contractVersion",
        "before": version.before,
        "after": version.after,
        "message": f"the version that {what} declares {step}, and more than that changed",
        "severity": grade["severity"],
        "authority": grade["authority"],
    }


def _ungraded(verdict: Verdict) -> DecisionError:
    codes = ", ".join(verdict.codes)
    return DecisionError(
        "contract.ungraded",
        f"policy grades the changes in no way that can be read: {verdict.effect} {codes}",
        fix="run `tipstaff doctor`; an overlay or an edited bundle may stand in the way",
    )
