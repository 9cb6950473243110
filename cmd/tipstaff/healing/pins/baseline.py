"""The committed snapshot of a server, and what stands in its place where it is missing or cannot be relied on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tipstaff.documents.base import parse
from tipstaff.documents.contract import SUFFIX, Snapshot, read_snapshot
from tipstaff.documents.server import SERVER_NAME, Server, demand_name
from tipstaff.errors import ContractError
from tipstaff.healing.pin_paths import FOLDER
from tipstaff.project import Project


@dataclass(frozen=True)
class Baseline:
    """What is committed for a server.

    ``status`` is ``compared`` where ``snapshot`` is there, else ``unbaselined``, ``unreadable`` or ``foreign`` with the
    ``error`` that says why.
    """

    name: str
    path: Path
    status: str
    snapshot: Snapshot | None = None
    error: ContractError | None = None

    @property
    def digest(self) -> str | None:
        """The digest of the snapshot; None where there is none that could be relied on."""
        return self.snapshot.digest if self.snapshot else None

    def relied_on(self) -> Snapshot | None:
        """The snapshot, None where there is none; raises the error of one that cannot be relied on."""
        if self.error is not None:
            raise self.error
        return self.snapshot


def read_baseline(root: Path, name: str) -> Baseline:
    """The committed snapshot of this name; nothing about it is an exception, since each state is a result."""
    path = pin_path(root, name)
    try:
        found = read_snapshot(path)
    except ContractError as error:
        if isinstance(error.__cause__, FileNotFoundError) and not path.is_symlink():
            return Baseline(name, path, "unbaselined")
        return Baseline(name, path, "unreadable", error=error)
    if found.server_id != name:
        foreign = ContractError(
            "contract.foreign",
            f"the snapshot is one of the server {found.server_id}",
            file=str(path),
            field="server_id",
            fix="restore the file from git; a snapshot is named after its server",
        )
        return Baseline(name, path, "foreign", error=foreign)
    return Baseline(name, path, "compared", found)


def pin_path(root: Path, name: str) -> Path:
    """Where the snapshot of a server is committed; raises ``ContractError`` for what is no name."""
    return root / FOLDER / f"{demand_name(name)}{SUFFIX}"


def pinned(root: Path) -> list[str]:
    """The names that snapshots are committed under."""
    names = (path.name.removesuffix(SUFFIX) for path in (root / FOLDER).glob(f"*{SUFFIX}"))
    return sorted(name for name in names if SERVER_NAME.fullmatch(name))


def servers(project: Project) -> dict[str, Server]:
    """The servers of the team's configuration by name."""
    found = project.team_setting("contracts", "servers") or {}
    return {name: parse(Server, value) for name, value in sorted(found.items())}


def server(project: Project, name: str) -> Server:
    """One of them; raises ``ContractError`` (``contract.unknown``)."""
    found = servers(project).get(name)
    if found is None:
        raise ContractError(
            "contract.unknown",
            f"the configuration names no server {name[:100]!r}",
            file="tipstaff.yaml",
            field="contracts.servers",
            fix="add it with its command or url; `contracts snapshot` also takes them by themselves",
        )
    return found


def others(root: Path, name: str, *, each: bool = False) -> Iterator[Snapshot]:
    """The committed snapshots of other servers, in whose names this one's could hide.

    One that cannot be relied on is left out, or with ``each`` its ``ContractError`` is raised.
    """
    for other in pinned(root):
        if other == name:
            continue
        baseline = read_baseline(root, other)
        found = baseline.relied_on() if each else baseline.snapshot
        if found is not None:
            yield found
