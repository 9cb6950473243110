"""What a caller's specification may name: references, files to read, files to write, and the store of approvals.

Each list is a variable of the server's environment. Where a second product's name of it is set too, both must agree. A
list that is empty, or not set at all, holds nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.files import read_descriptor
from tipstaff.harness.specification import Specification

ALLOW = ("TIPSTAFF_SURFACE_ALLOW", "AGENTDESCENT_SURFACE_ALLOW")
WRITE_DIRS = ("TIPSTAFF_SURFACE_WRITE_DIRS", "AGENTDESCENT_SURFACE_WRITE_DIRS")
READ_DIRS = ("TIPSTAFF_SURFACE_READ_DIRS",)
STORE = "TIPSTAFF_APPROVAL_STORE"
_SHOWN = 200


@dataclass(frozen=True)
class Confinement:
    """The lists of one environment; methods raise ``ContractError`` for what is on none."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def demand_references(self, specification: Specification) -> None:
        """Refuse a specification by the first of its references that is on no list, before any is looked for."""
        named = {"gate": specification.gate_reference, "prover": specification.spec.prover}
        for name, reference in named.items():
            if reference is not None:
                self.demand_reference(reference, name)

    def demand_reference(self, reference: str, name: str) -> None:
        """Refuse a ``module:attribute`` unless its module is listed, or below a listed one (``surface.reference``)."""
        lists = [re.split(r"[,\s]+", value) for value in self._set(ALLOW)]
        if not lists or not all(_is_listed(reference, entries) for entries in lists):
            raise ContractError(
                "surface.reference",
                f"{visible(reference, limit=_SHOWN)} is not on the list of references",
                field=name,
                fix=f"leave it out, or have the operator name its module in {self._names(ALLOW)}",
            )

    def read(self, path: Path, *, limit: int) -> bytes:
        """The bytes of a regular file below a listed folder (``surface.read``); ``OSError`` where it can't be read."""
        with self._opened(path, READ_DIRS, "surface.read", os.O_RDONLY | os.O_NONBLOCK) as found:
            return read_descriptor(found, path, limit=limit)

    @contextmanager
    def file_to_write(self, path: Path) -> Iterator[Path]:
        """The path to write the file by while this is open, though a link is put in its way (``surface.write``)."""
        refused = _refused("surface.write", WRITE_DIRS)
        if path.name in {"", ".", ".."} or path.is_symlink():
            raise refused
        flags = os.O_PATH | os.O_DIRECTORY
        with self._opened(path.parent, WRITE_DIRS, "surface.write", flags) as folder:
            yield Path(f"/proc/self/fd/{folder}") / path.name

    def store(self, named: str | None, folder: Path) -> str | None:
        """The operator's store, which is the only one; None where a specification names none and none is set.

        Raises ``ContractError`` (``approval.store_not_pinned``) where another one is named.
        """
        pinned = self.environment.get(STORE) or None
        if named is None or (pinned and _place(named, folder) == _place(pinned, folder)):
            return pinned
        raise ContractError(
            "approval.store_not_pinned",
            "this store is not the operator's",
            field="approval_store",
            fix=f"name the store that the operator set in {STORE}, or none",
        )

    @contextmanager
    def _opened(self, path: Path, names: tuple[str, ...], code: str, flags: int) -> Iterator[int]:
        """A descriptor of what a path leads to in the end, inside by where it truly lies."""
        real = Path(os.path.realpath(path))
        lists = [_folders(value) for value in self._set(names)]
        self._demand_inside(real, lists, _refused(code, names))
        descriptor = os.open(real, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            # What was checked may have been moved since; what is open can't be.
            self._demand_inside(
                Path(os.readlink(f"/proc/self/fd/{descriptor}")), lists, _refused(code, names)
            )
            yield descriptor
        finally:
            os.close(descriptor)

    @staticmethod
    def _demand_inside(real: Path, lists: list[list[Path]], refused: ContractError) -> None:
        for folders in lists:
            if not any(real.is_relative_to(folder) for folder in folders):
                raise refused
        if not lists:
            raise refused

    def _names(self, names: tuple[str, ...]) -> str:
        """The lists that count: those that are set, or the one to set."""
        return " and ".join(name for name in names if name in self.environment) or names[0]

    def _set(self, names: tuple[str, ...]) -> list[str]:
        return [self.environment[name] for name in names if name in self.environment]


def _is_listed(reference: str, entries: list[str]) -> bool:
    module = reference.partition(":")[0]
    return any(
        entry and (reference == entry or module == entry or module.startswith(f"{entry}."))
        for entry in entries
    )


def _folders(value: str) -> list[Path]:
    """Only whole paths count; one that is none allows nothing."""
    return [
        Path(os.path.realpath(entry)) for entry in value.split(os.pathsep) if os.path.isabs(entry)
    ]


def _place(named: str, folder: Path) -> str:
    return named if "://" in named else os.path.realpath(folder / named)


def _refused(code: str, names: tuple[str, ...]) -> ContractError:
    return ContractError(
        code,
        "lies in no folder that this surface may use",
        fix=f"give the content itself, or have the operator list its folder in {names[0]}",
    )
