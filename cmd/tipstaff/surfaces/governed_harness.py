"""The tool ``governed_harness``: the pipeline of a governed modification, for a caller that is never a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.documents import strict_json
from tipstaff.documents.base import Contract, Json, parse
from tipstaff.documents.governed import Receipt
from tipstaff.errors import ContractError
from tipstaff.files import write_atomically
from tipstaff.surfaces.call import Call, Work
from tipstaff.surfaces.principal import Principal

# Members of a receipt that hold what the caller, a prover or a person wrote.
_UNTRUSTED = (
    "artifact_id",
    "modification_id",
    "target",
    "stages",
    "reasons",
    "clamped",
    "notes",
    "effect",
    "proof",
    "approval",
    "rehearsal",
    "rollback_plan",
)


class _Arguments(Contract):
    spec: Json
    dry_run: bool = False
    out: str | None = None


def prepare(call: Call) -> Work:
    """Read all that is named and refuse what may not be; raises ``ContractError``, and nothing is written or run."""
    from tipstaff.harness import specification

    asked = parse(_Arguments, call.arguments)
    _demand_scope(call.principal, asked)
    given = specification.from_object(asked.spec, call.project.root, _reader(call))
    call.confinement.demand_references(given)
    store = call.confinement.store(given.spec.approval_store, given.folder)
    if asked.out is not None:
        _demand_place(call, Path(asked.out))

    def work() -> Json:
        from tipstaff.engine import Engine
        from tipstaff.harness.pipeline import Pipeline

        with Engine(call.project, say=call.say, actor=call.principal.actor) as engine:
            pipeline = Pipeline(engine, given, caller="mcp", store=store, say=call.say)
            judged = pipeline.plan() if asked.dry_run else pipeline.run()
        if asked.out is not None:
            _write(call, Path(asked.out), judged.receipt)
        return {
            **judged.receipt.model_dump(),
            "dry_run": asked.dry_run,
            "untrusted": list(_UNTRUSTED),
        }

    return work


def _demand_scope(principal: Principal, asked: _Arguments) -> None:
    """A run leaves requests for approval and runs provers, so that looking does not give a right to it."""
    if principal.scope == "read" and not asked.dry_run:
        raise ContractError(
            "mcp.forbidden",
            "this caller may only plan",
            field="dry_run",
            fix="call it with dry_run, or have the operator give the scope propose",
        )
    if asked.dry_run and asked.out is not None:
        raise ContractError(
            "document.invalid",
            "a plan is written nowhere",
            field="out",
            fix="leave out, or dry_run, away",
        )


def _reader(call: Call) -> Callable[[Path], bytes]:
    from tipstaff.harness.specification import MAX_BYTES

    return lambda path: call.confinement.read(path, limit=MAX_BYTES)


def _demand_place(call: Call, out: Path) -> None:
    """Only what is no file yet, or a receipt, is written over: everything else is somebody's."""
    with _writable(call, out) as place:
        if not place.exists():
            return
        try:
            parse(Receipt, strict_json.load(place))
        except ContractError as error:
            raise ContractError(
                "file.exists",
                "is there already, and is no receipt",
                file=str(out),
                field="out",
                fix="name a file that is not there",
            ) from error


def _write(call: Call, out: Path, receipt: Receipt) -> None:
    text = json.dumps(receipt.model_dump(), indent=2) + "\n"
    with _writable(call, out) as place:
        write_atomically(place, text.encode(), mode=0o644)


@contextmanager
def _writable(call: Call, out: Path) -> Iterator[Path]:
    try:
        with call.confinement.folder_to_write(call.project.root / out) as place:
            yield place
    except ContractError as error:
        raise ContractError(
            error.code, error.message, file=error.file, field="out", fix=error.fix
        ) from error
    except OSError as error:
        raise ContractError(
            "file.unwritable",
            error.strerror or str(error),
            file=str(out),
            field="out",
            fix="name a file in a folder that is there and can be written",
        ) from error
