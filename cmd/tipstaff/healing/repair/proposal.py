"""A proposal that takes up a contract: the snapshot as it was observed, and what depends on it, as one change.

What differs and who depends on it are facts. Of which class the change is, and what may become of it, policy says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tipstaff.documents.approval import ChangeRecord
from tipstaff.documents.contract import Snapshot, text
from tipstaff.documents.contract_diff import ContractDiff
from tipstaff.documents.contract_facts import CanaryOutcome
from tipstaff.documents.input import ContractResource
from tipstaff.enforce.drift_section import Place, Repair
from tipstaff.enforce.pull_request import branch_name
from tipstaff.enforce.target import demand_ruled
from tipstaff.engine import Engine
from tipstaff.errors import ContractError, DecisionError
from tipstaff.evidence.edit import difference, edited
from tipstaff.evidence.repository import Repository
from tipstaff.healing import pin_facts
from tipstaff.healing.contracts import Graded, asking, evidence, found_in, graded
from tipstaff.healing.pin_paths import place
from tipstaff.healing.proposal import NOT_RUN, Draft, Outcome, Request
from tipstaff.healing.repair.dependents import Dependents, find, grouped
from tipstaff.healing.repair.hits import Hit
from tipstaff.healing.repair.names import names_of
from tipstaff.ledger.changes import Changes
from tipstaff.ledger.database import open_database

_REFERENCES = ("refs/heads/tipstaff", "refs/remotes/origin/tipstaff")
_MOST_REFERENCES = 100
Status = Literal["unchanged", "proposed", "already_proposed"]


@dataclass(frozen=True)
class RepairRequest:
    """What was observed of which server, and for whom it is proposed; ``tests`` is as for any change.

    ``canaries`` is what came of the recorded calls when it was observed.
    """

    name: str
    observed: Snapshot
    subject: str
    tests: str | None = None
    canaries: tuple[CanaryOutcome, ...] = ()


@dataclass(frozen=True)
class RepairOutcome:
    """What came of it.

    ``unchanged`` where the contract means what is pinned; ``already_proposed`` where a branch holds this very change,
    which ``earlier`` is if it was made here. ``change`` is the outcome of a proposal that was judged now.
    """

    status: Status
    diff: ContractDiff
    repair: Repair
    change: Outcome | None = None
    branch: str | None = None
    earlier: ChangeRecord | None = None


def propose(
    engine: Engine, repository: Repository, request: RepairRequest, *, say: Callable[[str], None]
) -> RepairOutcome:
    """Propose what was observed in place of what is pinned; the user's tree, index and branch are never touched.

    Raises ``ContractError`` for a pin that cannot be read, and as ``change propose`` does.
    """
    return _Repairing.begin(engine, repository, request, say=say).propose()


@dataclass(frozen=True)
class _Repairing:
    engine: Engine
    repository: Repository
    request: RepairRequest
    base: str
    old: Snapshot | None
    beside: list[Snapshot]
    say: Callable[[str], None]

    @classmethod
    def begin(
        cls,
        engine: Engine,
        repository: Repository,
        request: RepairRequest,
        *,
        say: Callable[[str], None],
    ) -> _Repairing:
        demand_ruled(repository, engine.project.root)
        base = repository.resolve("HEAD")
        path = place(request.name)
        old = pin_facts.pinned(repository, base, path)
        beside = pin_facts.others(repository, base, path)
        return cls(engine, repository, request, base, old, beside, say)

    def propose(self) -> RepairOutcome:
        found = self._graded()
        if self.old is not None and not found.diff.drift:
            return RepairOutcome("unchanged", found.diff, self._repair(found, Dependents()))
        depends = self._dependents(found)
        draft = self._draft(found, depends)
        out_of_reach = self._out_of_reach(draft)
        if out_of_reach & depends.files.keys():
            depends = depends.without(out_of_reach)
            draft = self._draft(found, depends)
        repair = self._repair(found, depends)
        branch, earlier = self._earlier(draft)
        if branch is not None:
            return RepairOutcome(
                "already_proposed", found.diff, repair, branch=branch, earlier=earlier
            )
        run = draft.test()
        outcome = draft.settle(draft.document(run), run, repair)
        return RepairOutcome("proposed", found.diff, repair, outcome, branch=outcome.effects.branch)

    def _graded(self) -> Graded:
        """The difference as policy grades it; that nothing changed is a decision of its own, on record."""
        old, new = self.old, self.request.observed
        seen = found_in(old, new, self.beside)
        facts = evidence(seen).model_copy(update={"canaries": list(self.request.canaries)})
        resource = ContractResource(
            id=new.server_id, old_digest=seen.old_digest, new_digest=new.digest
        )
        document = asking(self.engine, resource, "propose", facts)
        found = graded(self.engine.evaluate([document])[0], document, seen.changes)
        if old is not None and not found.diff.drift:
            self.engine.decide(document)
        return found

    def _dependents(self, found: Graded) -> Dependents:
        if self.old is None:
            return Dependents()
        names = names_of(self.old, found.changes, self.beside)
        folders = self.engine.project.team_setting("contracts", "dependents")
        return find(self.repository, self.base, names, folders)

    def _draft(self, found: Graded, depends: Dependents) -> Draft:
        snapshot = self._as_proposed_before()
        files = {**depends.files, place(self.request.name): text(snapshot).encode()}
        tree = edited(self.repository, self.base, files)
        request = Request(
            diff=difference(self.repository, self.base, tree),
            action_class=found.diff.change_class or "",
            subject=self.request.subject,
            base=self.base,
            tests=self.request.tests,
            observed=pin_facts.Observed(snapshot.digest, self.request.canaries),
        )
        return Draft.read(self.engine, self.repository, request, say=self.say)

    def _as_proposed_before(self) -> Snapshot:
        """What was observed, in the very bytes of an earlier proposal of it, which may differ in its time only."""
        wanted = self.request.observed.digest
        same = (one for one in self._proposed() if one.digest == wanted)
        return next(same, self.request.observed)

    def _proposed(self) -> Iterator[Snapshot]:
        listed = self.repository.run(
            "for-each-ref", f"--count={_MOST_REFERENCES}", "--format=%(objectname)", *_REFERENCES
        )
        path = place(self.request.name)
        for commit in dict.fromkeys(listed.decode("ascii").split()):
            try:
                found = pin_facts.pinned(self.repository, commit, path)
            except ContractError:
                continue
            if found is not None:
                yield found

    def _out_of_reach(self, draft: Draft) -> set[str]:
        try:
            verdict = self.engine.evaluate([draft.document(NOT_RUN)])[0]
        except DecisionError:
            return set()  # the same comes again as the recorded verdict, and refuses
        told = verdict.facts.get("drift") or {}
        return set(told.get("out_of_reach") or [])

    def _earlier(self, draft: Draft) -> tuple[str | None, ChangeRecord | None]:
        """The branch that holds this very change already, and its record if it was made here."""
        digest = draft.patch.diff_sha256
        changes = Changes(open_database(self.engine.project.state))
        if draft.request.action_class == "" or changes.unfinished(digest):
            return None, None
        name = branch_name(draft.request.action_class, digest)
        made = [one for one in changes.list() if one.diff_sha256 == digest and one.branch]
        for reference in (f"refs/heads/{name}", f"refs/remotes/origin/{name}"):
            if self._holds(reference, draft.patch.tree):
                return name, made[-1] if made else None
        return None, None

    def _holds(self, reference: str, tree: str) -> bool:
        try:
            commit = self.repository.resolve(reference)
        except ContractError:
            return False
        return self.repository.run("rev-parse", f"{commit}^{{tree}}").decode().strip() == tree

    def _repair(self, found: Graded, depends: Dependents) -> Repair:
        return Repair(
            server=self.request.name,
            diff=found.diff,
            rewritten=list(_places(depends.rewritten)),
            todo=list(_places(depends.todo)),
            read=depends.skipped.read,
            skipped=depends.skipped.told(),
            unseen=depends.unseen,
        )


def _places(hits: Iterable[Hit]) -> Iterator[Place]:
    for hit, more in grouped(hits):
        why = "; ".join(part for part in (hit.name.why, hit.doubt) if part)
        if hit.name.new is None:
            why = hit.name.why
        yield Place(hit.path, hit.line, hit.name.text, hit.name.new, why, hit.preview, more)
