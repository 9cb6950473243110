"""Asking what a ``module:attribute`` names, inside a sandbox: a prover for its proof, a gate for its settings.

Whatever is not one whole answer in time is none: hanging, ending early, leaving processes behind, printing instead.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tipstaff import declared
from tipstaff.documents import strict_json
from tipstaff.documents.base import Contract, Json, parse
from tipstaff.documents.harness_settings import SpecGate
from tipstaff.documents.modification import ProofFacts
from tipstaff.documents.redaction import redact_text
from tipstaff.documents.sandbox import SandboxResult
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.evidence.isolation import Isolation
from tipstaff.harness.specification import Specification, read_gate
from tipstaff.sandbox import toolchain, transfer
from tipstaff.sandbox.backend import RunSpec, workplace
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.toolchain import Host
from tipstaff.sandbox.tree import content_sha256

_ANSWER = "/scratch/answer.json"
_MAX_DETAIL = 500
_MAX_STATUS = 50


class _Answer(Contract):
    status: str
    detail: str = ""


@dataclass(frozen=True)
class _Asked:
    result: SandboxResult
    answer: bytes | None
    code_sha256: str

    @property
    def why_not(self) -> str:
        """Why there is no answer, as the run shows it."""
        said = self.result.stderr.strip().splitlines()
        return (
            said[-1] if said else f"it ended with exit code {self.result.exit_code} and no answer"
        )


def prove(specification: Specification, isolation: Isolation) -> ProofFacts:
    """What the prover says of the modification; raises ``SandboxError`` where it cannot be isolated."""
    modification = specification.spec.modification
    reference = specification.spec.prover
    assert reference is not None  # noqa: S101 (asked for only where there is one)
    plain = {
        "modification_id": modification.modification_id,
        "source": modification.source,
        "target": modification.target,
        "requested_capabilities": list(modification.requested_capabilities),
        "artifact_id": specification.spec.artifact_id,
    }
    asked = _ask(specification, reference, plain, isolation)
    status, detail = _status(asked)
    return ProofFacts(
        status=status,
        detail=_shown(detail),
        code_sha256=asked.code_sha256,
        backend=asked.result.backend,
        isolated=asked.result.isolated,
    )


def gate(specification: Specification, isolation: Isolation) -> SpecGate:
    """The settings that the named gate gives.

    Raises ``ContractError`` (``harness.reference``, or naming the key) where it gives none.
    """
    reference = specification.gate_reference
    assert reference is not None  # noqa: S101 (asked for only where there is one)
    asked = _ask(specification, reference, None, isolation)
    if asked.answer is None:
        raise _refused("gate", f"{reference} gave no settings: {asked.why_not}")
    value = strict_json.loads(asked.answer, file=reference)
    if not isinstance(value, dict):
        raise _refused("gate", f"{reference} gave no object")
    return read_gate(value, reference)


def _status(asked: _Asked) -> tuple[str, str]:
    if asked.result.timed_out:
        return "timeout", f"it did not end within {asked.result.limits.wall_s} s"
    if asked.answer is None or asked.result.exit_code:
        return "error", asked.why_not
    try:
        answer = parse(_Answer, strict_json.loads(asked.answer))
    except ContractError as error:
        return "error", f"its answer is not one: {error}"
    return visible(answer.status, limit=_MAX_STATUS) or "none", answer.detail


def _shown(detail: str) -> str:
    return visible(redact_text(detail), limit=_MAX_DETAIL)


def _ask(
    specification: Specification, reference: str, modification: Json | None, isolation: Isolation
) -> _Asked:
    with _folder(specification, reference) as work:
        code_sha256 = content_sha256(work / "code")
        python = toolchain.find("python3", Host.current(specification.folder.resolve()))
        inside = PurePosixPath(workplace(python.readonly))
        job: dict[str, Any] = {
            "reference": reference,
            "code": str(inside / "code"),
            "modification": modification,
        }
        (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
        spec = RunSpec(
            argv=(
                python.program,
                "-B",
                str(inside / "runner.py"),
                str(inside / "job.json"),
                _ANSWER,
            ),
            workdir=work,
            profile=isolation.profile,
            outputs=(_ANSWER,),
            environment={"PATH": python.search_path(isolation.profile.environment.get("PATH", ""))},
            readonly=python.readonly,
        )
        result, outputs = isolation.strongest().run(spec)
    return _Asked(result, outputs.get(_ANSWER), code_sha256)


@contextmanager
def _folder(specification: Specification, reference: str) -> Iterator[Path]:
    """A private folder with the runner and, where it lies beside the specification, the module that is named."""
    package = reference.partition(":")[0].split(".")[0]
    with temporary_folder() as private:
        work = private / "input"
        work.mkdir()
        code = work / "code"
        code.mkdir()
        source = specification.folder / package
        if source.is_dir() and not source.is_symlink():
            transfer.copy_in(source, code / package)
        else:
            _copy_module(source.with_suffix(".py"), code)
        shutil.copyfile(declared.folder("sandbox") / "harness/runner.py", work / "runner.py")
        yield work


def _copy_module(source: Path, code: Path) -> None:
    if source.is_file() and not source.is_symlink():
        shutil.copyfile(source, code / source.name)


def _refused(field: str, message: str) -> ContractError:
    return ContractError(
        "harness.reference",
        visible(message, limit=_MAX_DETAIL),
        field=field,
        fix="name a module:attribute whose module lies beside the specification or is installed",
    )
