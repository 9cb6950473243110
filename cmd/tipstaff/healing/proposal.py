"""The main job: gather a change's facts, have it judged once, carry the verdict out.

A diff's facts come from the diff, its test counts from a run on the patched tree in a sandbox. What the caller says
about the change is its class and what it asks for, and policy holds both against the facts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from tipstaff.documents.base import Json, parse
from tipstaff.documents.drift_facts import DriftFacts
from tipstaff.documents.input import AugmentFacts, ChangeInput
from tipstaff.documents.redaction import redact
from tipstaff.documents.verdict import Verdict
from tipstaff.enforce.drift_section import Repair
from tipstaff.enforce.enforcer import Effects, Enforcer, Proposed
from tipstaff.enforce.target import demand_base, demand_ruled
from tipstaff.engine import Engine
from tipstaff.errors import ContractError
from tipstaff.evidence import golden
from tipstaff.evidence.diff import Patch, read
from tipstaff.evidence.golden import GoldenRun
from tipstaff.evidence.isolation import configured
from tipstaff.evidence.repository import Repository
from tipstaff.healing.pin_paths import touched
from tipstaff.ledger.trail import NewRecord
from tipstaff.sandbox.backend import SandboxBackend

if TYPE_CHECKING:
    from tipstaff.healing.pin_facts import Observed

NOT_RUN = GoldenRun(tests=None, sandbox=None, result=None, reason="no test command was given")


@dataclass(frozen=True)
class Request:
    """What somebody proposes: the diff's bytes, its class, for whom, on which base, and how it is tested.

    ``tests`` is a command line, else the team's own; without either there is no test evidence. ``test_paths`` are
    judged by the base's version, in addition to the configured ones. ``observed`` is what a server was seen to
    advertise, where the diff takes it up.
    """

    diff: bytes
    action_class: str
    subject: str
    base: str = "HEAD"
    tests: str | None = None
    test_paths: tuple[str, ...] = ()
    requested_capabilities: tuple[str, ...] = ()
    observed: Observed | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a proposal: the verdict, what was measured, and what was carried out."""

    verdict: Verdict
    document: ChangeInput
    golden: GoldenRun
    effects: Effects


def propose(
    engine: Engine, repository: Repository, request: Request, *, say: Callable[[str], None]
) -> Outcome:
    """Judge a change and carry the verdict out. The user's tree, index and branch are never touched.

    Raises ``ContractError`` for a diff that is not one, does not apply, or reaches outside the repository, for a base
    that the target branch lacks, and for a request of the wrong shape; nothing is written then.
    """
    draft = Draft.read(engine, repository, request, say=say)
    draft.document(NOT_RUN)  # so that a wrong shape is refused before tests are run
    files = f"{len(draft.patch.files)} {'file' if len(draft.patch.files) == 1 else 'files'}"
    say(f"judging a change of {files} on commit {draft.patch.base[:12]}")
    run = draft.test()
    return draft.settle(draft.document(run), run)


@dataclass(frozen=True)
class Draft:
    """A proposal on its way: what is asked for, by whom it is judged, and the patch that its diff makes."""

    engine: Engine
    repository: Repository
    request: Request
    patch: Patch
    drift: DriftFacts | None
    say: Callable[[str], None]

    @classmethod
    def read(
        cls,
        engine: Engine,
        repository: Repository,
        request: Request,
        *,
        say: Callable[[str], None],
    ) -> Self:
        """Read the diff and hold its base against the target branch; raises as ``propose`` does."""
        demand_ruled(repository, engine.project.root)
        try:
            patch = read(repository, request.diff, base=request.base)
        except ContractError as error:
            if error.file is None and error.field is None:
                error.field = "diff"
            raise
        demand_base(repository, patch.base)
        drift = _measured(repository, patch, request.observed)
        return cls(engine, repository, request, patch, drift, say)

    def test(
        self, *, tree: str | None = None, choose: Callable[[], SandboxBackend] | None = None
    ) -> GoldenRun:
        """Run the golden tests on the patched tree, or on another; ``choose`` gives another backend than the usual."""
        command = self.request.tests
        if command is None:
            command = self.engine.project.team_setting("tests", "command")
        if command is None:
            return NOT_RUN
        if tree is None:
            self.say(f"running the golden tests on the patched tree: {command}")
        judged = self.engine.project.team_setting("tests", "paths") or []
        isolation = configured(self.engine.project)
        return golden.run(
            self.repository,
            replace(self.patch, tree=tree or self.patch.tree),
            command,
            profile=isolation.profile,
            test_paths=[*judged, *self.request.test_paths],
            choose=choose or isolation.strongest,
        )

    def document(self, run: GoldenRun, augment: AugmentFacts | None = None) -> ChangeInput:
        """What is judged: the patch's facts and what was measured. Raises ``ContractError`` for a wrong shape."""
        request, patch = self.request, self.patch
        plain: Json = {
            "schema_version": 1,
            "kind": "change",
            "subject": {"id": request.subject},
            "action": {
                "class": request.action_class,
                "requested_capabilities": sorted(set(request.requested_capabilities)),
                "found_capabilities": list(patch.found_capabilities),
            },
            "resource": {
                "base": patch.base,
                "diff_sha256": patch.diff_sha256,
                "files": [file.model_dump() for file in patch.files],
            },
            "evidence": {
                "tests": redact(run.tests.model_dump()) if run.tests else None,
                "sandbox": run.sandbox.model_dump() if run.sandbox else None,
                "drift": redact(self.drift.model_dump()) if self.drift else None,
                "augment": redact(augment.model_dump(by_alias=True)) if augment else None,
            },
        }
        return parse(ChangeInput, plain)

    def settle(
        self, document: ChangeInput, run: GoldenRun, repair: Repair | None = None
    ) -> Outcome:
        """Have it judged, on record, and carry the verdict out; ``repair`` is told in the pull request."""
        verdict = self.engine.decide(document, preceded_by=self._detected())
        enforcer = Enforcer(self.engine, self.repository, say=self.say)
        proposed = Proposed(document, self.request.diff, self.patch, repair)
        effects = enforcer.carry_out(verdict, proposed)
        return Outcome(verdict, document, run, effects)

    def _detected(self) -> list[NewRecord]:
        """The first of healing's four audited steps; the decision, the proposal and the wait for a person follow."""
        detail: Json = {
            "base": self.patch.base,
            "files": [file.path for file in self.patch.files],
        }
        if self.drift is not None:
            shown = {"server", "status", "old_digest", "new_digest"}
            detail["drift"] = [pin.model_dump(include=shown) for pin in self.drift.contracts]
        return [
            NewRecord(
                decision="detected",
                target=f"diff:{self.patch.diff_sha256[:12]}",
                detail=detail,
                actor=self.engine.actor,
                action_class=self.request.action_class,
            )
        ]


def _measured(repository: Repository, patch: Patch, observed: Observed | None) -> DriftFacts | None:
    """What a patch does to pinned contracts; what compares them is not even loaded where it touches none."""
    if not touched(patch):
        return None
    from tipstaff.healing.pin_facts import measured

    return measured(repository, patch, observed)
