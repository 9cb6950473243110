"""Reading a specification, and every file that it names, before anything is judged or run.

All of it is input: whatever is wrong is a ``ContractError`` that names the field, and nothing is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tipstaff.documents import strict_json
from tipstaff.documents.base import Contract, Json, parse
from tipstaff.documents.governed import (
    AttestedScores,
    FileState,
    FileStates,
    GovernedSpec,
    Scores,
)
from tipstaff.documents.harness_settings import SpecGate, SpecRules
from tipstaff.errors import ContractError
from tipstaff.files import read_named

MAX_BYTES = 8 << 20
_DOMAIN = "tipstaff.governed.v1"
C = TypeVar("C", bound=Contract)
Read = Callable[[Path], bytes]


@dataclass(frozen=True)
class Measured:
    """Scores by task in billionths, the digest of them as they were given, and who stands for them."""

    scores: Mapping[str, int]
    sha256: str
    producer: str | None = None
    source_sha256: str | None = None


@dataclass(frozen=True)
class Specification:
    """A specification with all that it names read in; ``sha256`` is of what it says, however it is written.

    ``gate`` is None where there is none or where ``gate_reference`` has to be asked for it. ``current`` and
    ``previous`` are the two sides of a rollback, or None.
    """

    spec: GovernedSpec
    folder: Path
    sha256: str
    source_sha256: str
    before: Measured
    after: Measured
    gate: SpecGate | None
    rules: SpecRules
    current: Mapping[str, FileState] | None
    previous: Mapping[str, FileState] | None

    @property
    def gate_reference(self) -> str | None:
        """The ``module:attribute`` that gives the gate's settings, if one was named."""
        return self.spec.gate if isinstance(self.spec.gate, str) else None

    @property
    def references(self) -> tuple[str, ...]:
        """Each ``module:attribute`` that is asked, after what it is asked for."""
        named = {"gate": self.gate_reference, "prover": self.spec.prover}
        return tuple(f"{name} {reference}" for name, reference in named.items() if reference)

    def path(self, name: str) -> Path:
        """A path of the specification, beside the specification where it is relative."""
        return self.folder / name


def load(path: Path, read: Read | None = None) -> Specification:
    """The specification in a file; ``read`` may refuse paths and raise ``ContractError`` for them."""
    reader = _Reader(path.parent, str(path), read or _read)
    data = reader.bytes(path, field=None)
    found = reader.specification(strict_json.loads(data, file=str(path), max_bytes=MAX_BYTES))
    _demand_store(found, str(path))
    return found


def from_object(value: Any, folder: Path, read: Read | None = None) -> Specification:
    """The same from plain data; relative paths are of ``folder``."""
    reader = _Reader(folder, None, read or _read)
    return reader.specification(value)


@dataclass(frozen=True)
class _Reader:
    folder: Path
    file: str | None
    read: Read

    def specification(self, value: Any) -> Specification:
        spec = parse(GovernedSpec, value, file=self.file)
        gate = spec.gate if isinstance(spec.gate, dict) else None
        _demand_both(spec, self.file)
        return Specification(
            spec=spec,
            folder=self.folder,
            sha256=strict_json.digest(value, domain=_DOMAIN),
            source_sha256=hashlib.sha256(spec.modification.source.encode()).hexdigest(),
            before=self._measured("before", spec.before),
            after=self._measured("after", spec.after),
            gate=None if gate is None else read_gate(gate, self.file),
            rules=self._parsed(SpecRules, "rules", spec.rules) or SpecRules(),
            current=self._files("rollback_current", spec.rollback_current),
            previous=self._files("rollback_previous", spec.rollback_previous),
        )

    def bytes(self, path: Path, *, field: str | None) -> bytes:
        """A file's bytes; raises ``ContractError`` (``file.unreadable``) naming the field that names the file."""
        try:
            return self.read(path)
        except ContractError as error:
            raise ContractError(
                error.code, error.message, file=self.file, field=field, fix=error.fix
            ) from error
        except OSError as error:
            raise ContractError(
                "file.unreadable",
                f"{path}: {error.strerror or error}" if field else error.strerror or str(error),
                file=self.file or str(path),
                field=field,
                fix=f"name a readable file of at most {MAX_BYTES >> 20} MiB",
            ) from error

    def _object(self, field: str, value: Json | str) -> Json:
        if isinstance(value, dict):
            return value
        path = self.folder / value
        found = strict_json.loads(
            self.bytes(path, field=field), file=str(path), max_bytes=MAX_BYTES
        )
        if not isinstance(found, dict):
            raise ContractError(
                "document.invalid",
                "must hold one JSON object",
                file=str(path),
                field=field,
                fix="write an object",
            )
        return found

    def _measured(self, field: str, value: Json | str) -> Measured:
        found = self._object(field, value)
        sha256 = strict_json.digest(found, domain=_DOMAIN)
        if "scores" in found and isinstance(found["scores"], dict):
            attested = self._parse(AttestedScores, field, found)
            return Measured(attested.scores, sha256, attested.producer, attested.source_sha256)
        plain = self._parse(Scores, field, {"scores": found}, inside="scores")
        return Measured(plain.scores, sha256)

    def _files(self, field: str, value: Json | str | None) -> Mapping[str, FileState] | None:
        if value is None:
            return None
        found = self._object(field, value)
        whole = {
            path: {"content": state} if isinstance(state, str) else state
            for path, state in found.items()
        }
        return self._parse(FileStates, field, {"files": whole}, inside="files").files

    def _parsed(self, model: type[C], field: str, value: Json | str | None) -> C | None:
        return None if value is None else self._parse(model, field, self._object(field, value))

    def _parse(self, model: type[C], field: str, value: Json, *, inside: str = "") -> C:
        try:
            return parse(model, value, file=self.file)
        except ContractError as error:
            raise _below(field, error, inside) from error


def read_gate(value: Json, file: str | None = None) -> SpecGate:
    """A gate's settings; raises ``ContractError`` naming the key."""
    try:
        gate = parse(SpecGate, value, file=file)
    except ContractError as error:
        raise _below("gate", error, "") from error
    canary, most = gate.canary_risk, gate.max_risk
    if canary is not None and most is not None and canary > most:
        raise ContractError(
            "document.invalid",
            "must not be above max_risk",
            file=file,
            field="gate.canary_risk",
            fix="lower canary_risk, or raise max_risk",
        )
    return gate


def _demand_both(spec: GovernedSpec, file: str | None) -> None:
    given = {"rollback_current": spec.rollback_current, "rollback_previous": spec.rollback_previous}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == 1:
        raise ContractError(
            "document.invalid",
            "required, because the other side of the rollback is given",
            file=file,
            field=missing[0],
            fix="give both rollback_current and rollback_previous, or neither",
        )


def _demand_store(given: Specification, file: str) -> None:
    """What is there and can never be a store is an error of the specification, before anything is run."""
    named = given.spec.approval_store
    if named is None or "://" in named:
        return
    place = given.path(named)
    if place.exists() and not place.is_file():
        raise ContractError(
            "file.unreadable",
            f"{place}: not a regular file",
            file=file,
            field="approval_store",
            fix="name a file of approvals, which need not be there yet",
        )


def _below(field: str, error: ContractError, inside: str) -> ContractError:
    place = (error.field or "").removeprefix("(document)")
    if inside:
        place = place.removeprefix(inside).removeprefix(".")
    return ContractError(
        error.code,
        error.message,
        file=error.file,
        field=".".join(part for part in (field, place) if part),
        fix=error.fix,
    )


def _read(path: Path) -> bytes:
    return read_named(path, limit=MAX_BYTES)
