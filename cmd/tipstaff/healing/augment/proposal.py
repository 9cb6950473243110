"""A script in place of a block of prose: measured, judged, and proposed as every other change is.

What is measured are facts: golden tests, outputs of both sides, tokens. Whether they suffice, and whether anything is
worth running at all, policy says.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tipstaff.documents.augment import (
    BlockFacts,
    ControlFacts,
    MeasuredInput,
    ProseRuns,
    ScriptFacts,
)
from tipstaff.documents.base import Json
from tipstaff.documents.input import AugmentFacts
from tipstaff.enforce.target import demand_ruled
from tipstaff.engine import Engine
from tipstaff.errors import ContractError, DecisionError
from tipstaff.evidence import paths
from tipstaff.evidence.edit import difference, edited
from tipstaff.evidence.golden import GoldenRun
from tipstaff.evidence.isolation import configured
from tipstaff.evidence.repository import Repository
from tipstaff.healing.augment import candidate, recording, replacement, runs, skill, tokens
from tipstaff.healing.augment.candidate import Candidate
from tipstaff.healing.augment.recording import Prose
from tipstaff.healing.augment.skill import Case, Skill
from tipstaff.healing.proposal import NOT_RUN, Draft, Outcome, Request

CLASS = "augment"


@dataclass(frozen=True)
class AugmentRequest:
    """Which block of which file a script is to replace, for whom, and what it is measured with.

    ``golden`` is the folder of golden cases; its tests run by ``tests``, else by the team's own command, else by
    pytest on that folder. ``recording`` is a file of recorded runs of the prose, ``prose_command`` a command that makes
    them; without either the prose is not measured.
    """

    file: Path
    block: str
    script: Path
    golden: Path
    subject: str
    recording: Path | None = None
    prose_command: str | None = None
    model: str = "not named"
    tests: str | None = None


@dataclass(frozen=True)
class AugmentOutcome:
    """What came of it: the outcome of the change, what was measured, and runs of the prose that were made for it."""

    change: Outcome
    measured: AugmentFacts
    recorded: ProseRuns | None


def propose(
    engine: Engine, repository: Repository, request: AugmentRequest, *, say: Callable[[str], None]
) -> AugmentOutcome:
    """Measure, have it judged, and carry the verdict out; the user's tree, index and branch are never touched.

    Raises ``ContractError`` for what cannot be read or does not fit together; nothing is run or written then. Raises
    ``SandboxError`` where nothing can isolate a run.
    """
    return _Augmentation.prepare(engine, repository, request, say=say).propose()


@dataclass(frozen=True)
class _Augmentation:
    draft: Draft
    request: AugmentRequest
    skill: Skill
    script: Candidate
    golden: str
    cases: Sequence[Case]
    prose: Prose | None

    @classmethod
    def prepare(
        cls,
        engine: Engine,
        repository: Repository,
        request: AugmentRequest,
        *,
        say: Callable[[str], None],
    ) -> _Augmentation:
        """Read everything and hold it together, before anything runs."""
        demand_ruled(repository, engine.project.root)
        base = repository.resolve("HEAD")
        meant = skill.read_skill(repository, base, request.file, request.block)
        script = candidate.read(request.script)
        golden, cases = skill.read_cases(repository, base, request.golden)
        prose = None
        if request.recording is not None:
            prose = recording.read(request.recording, meant.block, cases)
        if request.prose_command is not None:
            recording.parse_command(request.prose_command)
            recording.demand_model(request.model)
        change = Request(
            diff=_diff(repository, base, meant, script),
            action_class=CLASS,
            subject=request.subject,
            base=base,
            tests=request.tests or _tests(engine, golden),
            test_paths=(golden,),
        )
        draft = Draft.read(engine, repository, change, say=say)
        return cls(draft, request, meant, script, golden, cases, prose)

    def propose(self) -> AugmentOutcome:
        """Ask whether it is worth measuring, measure, and let the change take its course."""
        facts = self._facts()
        run, recorded = NOT_RUN, None
        terms = self._terms(facts)
        if terms.get("measure") is True:
            prose, recorded = self._prose(int(terms["runs"]))
            if prose is not None:
                run, facts = self._measured(facts, prose, int(terms["runs"]))
        document = self.draft.document(run, facts)
        return AugmentOutcome(self.draft.settle(document, run), facts, recorded)

    def _terms(self, facts: AugmentFacts) -> Json:
        """What policy says beforehand: whether to measure, and how many runs it takes."""
        document = self.draft.document(NOT_RUN, facts)
        try:
            verdict = self.draft.engine.evaluate([document])[0]
        except DecisionError:
            return {}  # the same comes again as the recorded verdict, and refuses
        terms: Json = verdict.facts.get("augment") or {}
        return terms

    def _facts(self) -> AugmentFacts:
        block, patch = self.skill.block, self.draft.patch
        patched = self.draft.repository.blob(patch.tree, self.skill.path)
        return AugmentFacts(
            block=BlockFacts(
                path=self.skill.path,
                id=block.id,
                class_=block.class_,
                confidence_permille=block.confidence_permille,
                prose_sha256=block.prose_sha256,
            ),
            script=ScriptFacts(path=self.script.place(self.skill.path), sha256=self.script.sha256),
            outside=replacement.outside(block, patched, file=self.skill.path),
            tokens=tokens.compare(block.prose, replacement.call_of(block, self.script)),
            prose=self.prose.facts if self.prose else None,
            inputs=self._inputs(self.prose, {}),
        )

    def _inputs(
        self, prose: Prose | None, outputs: dict[str, list[str | None]]
    ) -> list[MeasuredInput]:
        return [
            MeasuredInput(
                name=case.name,
                input_sha256=case.input_sha256,
                expected_sha256=case.expected_sha256,
                script_outputs=outputs.get(case.name),
                prose_outputs=prose.outputs.get(case.name) if prose else None,
            )
            for case in self.cases
        ]

    def _prose(self, number: int) -> tuple[Prose | None, ProseRuns | None]:
        if self.prose is not None or self.request.prose_command is None:
            return self.prose, None
        made = recording.record(
            self.request.prose_command,
            self.skill.block,
            self.cases,
            runs=number,
            model=self.request.model,
            say=self.draft.say,
        )
        return recording.known(made), made

    def _measured(
        self, facts: AugmentFacts, prose: Prose, number: int
    ) -> tuple[GoldenRun, AugmentFacts]:
        draft = self.draft
        isolation = configured(draft.engine.project)
        backend = isolation.strongest()
        run = draft.test(choose=lambda: backend)
        inert = {facts.script.path: replacement.INERT}
        control = draft.test(
            tree=edited(draft.repository, draft.patch.tree, inert), choose=lambda: backend
        )
        draft.say(f"running the script {number} times on each golden input ({len(self.cases)})")
        setting = runs.Setting(backend, isolation.profile, draft.repository, draft.patch.tree)
        measured = runs.measure(setting, facts.script.path, self.golden, self.cases, runs=number)
        more = {
            "prose": prose.facts,
            "inputs": self._inputs(prose, measured.outputs),
            "sandbox": measured.sandbox,
            "control": _control(control),
        }
        return run, facts.model_copy(update=more)


def _diff(repository: Repository, base: str, meant: Skill, script: Candidate) -> bytes:
    place = script.place(meant.path)
    if any(entry.path == paths.raw(place) for entry in repository.entries(base)):
        raise ContractError(
            "augment.script",
            f"the skill has a file {place} already",
            file=place,
            field="--script",
            fix="give the script another file name",
        )
    files = {meant.path: replacement.replaced(meant.block, script), place: script.data}
    return difference(repository, base, edited(repository, base, files))


def _tests(engine: Engine, golden: str) -> str | None:
    """None where the team names the command itself."""
    if engine.project.team_setting("tests", "command") is not None:
        return None
    return f"python -m pytest -q -- {shlex.quote(golden)}"


def _control(run: GoldenRun) -> ControlFacts | None:
    counts = run.tests
    if counts is None:
        return None
    return ControlFacts(passed=counts.passed, failed=counts.failed, skipped=counts.skipped)
