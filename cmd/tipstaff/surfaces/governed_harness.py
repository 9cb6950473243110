"""The tool ``governed_harness``: the pipeline of a governed modification, for a caller that is never a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tipstaff.documents import strict_json
from tipstaff.documents.base import Contract, Json, parse
from tipstaff.documents.governed import AnyPath, Receipt
from tipstaff.errors import ContractError, DecisionError
from tipstaff.files import read_regular, write_atomically
from tipstaff.surfaces.call import Call, Work, failure

_MAX_RECEIPT = 16 << 20
# Members of a receipt that hold what the caller, a prover or a person wrote.
_UNTRUSTED = (
    "artifact_id",
    "modification_id",
    "target",
    "stages",
    "codes",
    "reasons",
    "gate_effective",
    "rules_effective",
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
    out: AnyPath | None = None


def prepare(call: Call) -> Work:
    """Read all that is named and refuse what may not be; raises ``ContractError``, and nothing is written or run."""
    from tipstaff.harness import specification

    asked = parse(_Arguments, call.arguments)
    if asked.dry_run and asked.out is not None:
        raise ContractError(
            "document.invalid",
            "a plan is written nowhere",
            field="out",
            fix="leave out, or dry_run, away",
        )
    given = specification.from_object(asked.spec, call.engine.project.root, _reader(call))
    call.confinement.demand_references(given)
    store = call.confinement.store(given.spec.approval_store, given.folder)
    if asked.out is not None:
        _demand_place(call, Path(asked.out))

    def work() -> Json:
        from tipstaff.harness.pipeline import Pipeline

        pipeline = Pipeline(call.engine, given, caller="mcp", store=store, say=call.say)
        judged = pipeline.plan() if asked.dry_run else pipeline.run()
        error = None if asked.out is None else _written(call, Path(asked.out), judged.receipt)
        if not judged.is_answered:
            raise _unanswered(judged.receipt)
        found = {**judged.receipt.model_dump(), "dry_run": asked.dry_run}
        if error is not None:
            return {**found, **failure(error), "untrusted": [*_UNTRUSTED, "error"]}
        return {**found, "untrusted": list(_UNTRUSTED)}

    return work


def _reader(call: Call) -> Callable[[Path], bytes]:
    from tipstaff.harness.specification import MAX_BYTES

    return lambda path: call.confinement.read(path, limit=MAX_BYTES)


def _demand_place(call: Call, out: Path) -> None:
    """Only what is no file yet, or a receipt, is written over: everything else is somebody's."""
    with _writable(call, out) as place:
        if not place.exists():
            return
        try:
            parse(Receipt, strict_json.loads(read_regular(place, limit=_MAX_RECEIPT)))
        except ContractError as error:
            raise ContractError(
                "file.exists",
                "is there already, and is no receipt",
                file=str(out),
                field="out",
                fix="name a file that is not there",
            ) from error


def _written(call: Call, out: Path, receipt: Receipt) -> ContractError | None:
    """Write the receipt; what kept it from being written, since what was decided stays decided."""
    text = json.dumps(receipt.model_dump(), indent=2) + "\n"
    try:
        with _writable(call, out) as place:
            write_atomically(place, text.encode(), mode=0o644)
    except ContractError as error:
        return error
    return None


def _unanswered(receipt: Receipt) -> DecisionError:
    reason = receipt.reasons[0]
    return DecisionError(reason["code"], reason["message"], fix=reason["solution"])


@contextmanager
def _writable(call: Call, out: Path) -> Iterator[Path]:
    try:
        with call.confinement.file_to_write(call.engine.project.root / out) as place:
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
