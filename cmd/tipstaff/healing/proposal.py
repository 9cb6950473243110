"""The main job: gather a change's facts, have it judged once, carry the verdict out.

A diff's facts come from the diff, its test counts from a run on the patched tree in a sandbox. What the caller says
about the change is its class and what it asks for, and policy holds both against the facts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tipstaff.documents.base import Json, parse
from tipstaff.documents.input import ChangeInput
from tipstaff.documents.redaction import redact
from tipstaff.documents.verdict import Verdict
from tipstaff.enforce.enforcer import Effects, Enforcer, Proposed
from tipstaff.enforce.target import demand_base, demand_ruled
from tipstaff.engine import Engine
from tipstaff.errors import ContractError
from tipstaff.evidence import golden
from tipstaff.evidence.diff import Patch, read
from tipstaff.evidence.golden import GoldenRun
from tipstaff.evidence.isolation import configured
from tipstaff.evidence.repository import Repository
from tipstaff.ledger.trail import NewRecord

_NOT_RUN = GoldenRun(tests=None, sandbox=None, result=None, reason="no test command was given")


@dataclass(frozen=True)
class Request:
    """What somebody proposes: the diff's bytes, its class, for whom, on which base, and how it is tested.

    ``tests`` is a command line, else the team's own; without either there is no test evidence. ``test_paths`` are
    judged by the base's version, in addition to the configured ones.
    """

    diff: bytes
    action_class: str
    subject: str
    base: str = "HEAD"
    tests: str | None = None
    test_paths: tuple[str, ...] = ()
    requested_capabilities: tuple[str, ...] = ()


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
    demand_ruled(repository, engine.project.root)
    patch = _read(repository, request)
    demand_base(repository, patch.base)
    _document(request, patch, _NOT_RUN)  # so that a wrong shape is refused before tests are run
    files = f"{len(patch.files)} {'file' if len(patch.files) == 1 else 'files'}"
    say(f"judging a change of {files} on commit {patch.base[:12]}")
    run = _test(engine, repository, patch, request, say)
    document = _document(request, patch, run)
    verdict = engine.decide(document, preceded_by=_detected(engine, patch, request))
    enforcer = Enforcer(engine, repository, say=say)
    effects = enforcer.carry_out(verdict, Proposed(document, request.diff, patch))
    return Outcome(verdict, document, run, effects)


def _read(repository: Repository, request: Request) -> Patch:
    try:
        return read(repository, request.diff, base=request.base)
    except ContractError as error:
        if error.file is None and error.field is None:
            error.field = "diff"
        raise


def _test(
    engine: Engine,
    repository: Repository,
    patch: Patch,
    request: Request,
    say: Callable[[str], None],
) -> GoldenRun:
    command = request.tests
    if command is None:
        command = engine.project.team_setting("tests", "command")
    if command is None:
        return _NOT_RUN
    say(f"running the golden tests on the patched tree: {command}")
    judged = engine.project.team_setting("tests", "paths") or []
    isolation = configured(engine.project)
    return golden.run(
        repository,
        patch,
        command,
        profile=isolation.profile,
        test_paths=[*judged, *request.test_paths],
        choose=isolation.strongest,
    )


def _document(request: Request, patch: Patch, run: GoldenRun) -> ChangeInput:
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
            "drift": None,
        },
    }
    return parse(ChangeInput, plain)


def _detected(engine: Engine, patch: Patch, request: Request) -> list[NewRecord]:
    """The first of the four audited steps of healing; the decision, the proposal and the wait for a person follow."""
    detail = {"base": patch.base, "files": [file.path for file in patch.files]}
    return [
        NewRecord(
            decision="detected",
            target=f"diff:{patch.diff_sha256[:12]}",
            detail=detail,
            actor=engine.actor,
            action_class=request.action_class,
        )
    ]
