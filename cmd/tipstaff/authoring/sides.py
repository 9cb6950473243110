"""Two policies side by side: the one at a commit and the one in the working tree, each laid out for OPA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff import declared
from tipstaff.authoring.changed import path_within, tree_at
from tipstaff.authoring.evaluation import Rules
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import Json
from tipstaff.documents.config import TeamConfig
from tipstaff.engine.policy import OVERLAY_FOLDER
from tipstaff.errors import ContractError
from tipstaff.evidence.repository import Repository
from tipstaff.pdp.building import lay_out
from tipstaff.pdp.bundle import SHIPPED
from tipstaff.pdp.capabilities import FILE as CAPABILITIES
from tipstaff.pdp.identity import Issue, identify
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.source import OVERLAY, Source, read
from tipstaff.project import TEAM_FILE, ConfigFile, read_config

HEAD = "the working tree"
_NO_RULES = Source(Path(), OVERLAY, {}, "none", "none")


@dataclass(frozen=True)
class Side:
    """One side: its rules, its revision, and what its ``tipstaff.yaml`` says, empty where both sides say the same."""

    rules: Rules
    revision: str
    team: Json = field(default_factory=dict)

    def document(self, document: Json) -> Json:
        """The document as this side is asked about it: it expects this side's revisions, and has its team file."""
        context = {**document["context"], "bundles": self.rules.revisions}
        if self.team:
            context["config"] = {**(context.get("config") or {}), **self.team}
        return {**document, "context": context}


@dataclass(frozen=True)
class Edit:
    """What is compared: a folder with the root ``name`` in the working tree, and the same at a commit."""

    opa: Opa
    repository: Repository
    folder: Path
    name: str
    commit: str
    base_label: str


@contextmanager
def both(edit: Edit) -> Iterator[tuple[Side, Side]]:
    """Base and head, laid out in a temporary folder that ends with the context.

    Raises ``ContractError``: ``policy.invalid`` with side, file and line, ``config.*`` or ``document.invalid`` for a
    team file, ``repository.path`` for a folder outside the repository.
    """
    with TemporaryDirectory(prefix="tipstaff-") as name:
        desk = Path(name)
        base_team, head_team = _team_at(edit), _team_here(edit.repository.root)
        old = _folder_at(edit, base_team, desk / "source")
        if _loses_key(edit, base_team, head_team):
            old = None
        new = None if _loses_key(edit, head_team, base_team) else edit.folder
        base = _side(edit, edit.base_label, old, desk / "base")
        head = _side(edit, HEAD, new, desk / "head")
        old_facts, new_facts = _team_facts(base_team), _team_facts(head_team)
        if edit.name == OVERLAY and old_facts["team"] != new_facts["team"]:
            base, head = replace(base, team=old_facts), replace(head, team=new_facts)
        for side in (base, head):
            side.rules.demand_loadable()
        yield base, head


def _side(edit: Edit, label: str, folder: Path | None, desk: Path) -> Side:
    try:
        ours = folder if edit.name == SHIPPED and folder else declared.folder("policy")
        shipped = read(ours, SHIPPED)
        own = shipped if edit.name == SHIPPED else _overlay(folder)
    except ContractError as error:
        file = _named(error.file, folder, edit.folder)
        raise ContractError(
            error.code, f"{label}: {error.message}", file=file, fix=error.fix
        ) from error
    team = _NO_RULES if edit.name == SHIPPED else own
    bundles = []
    revisions: dict[str, str | None] = {}
    for source in (shipped, team):
        identity = identify(source, Issue())
        lay_out(desk / source.name, source, identity)
        revisions[source.name] = identity.revision
        bundles.append(desk / source.name)
    capabilities = ours / CAPABILITIES
    if not capabilities.exists():
        capabilities = declared.folder("policy") / CAPABILITIES
    return Side(
        Rules(label, edit.opa, tuple(bundles), revisions, capabilities), str(revisions[own.name])
    )


def _overlay(folder: Path | None) -> Source:
    """The team's rules; none where there is no folder, or no Rego in it yet."""
    if folder is None or next(folder.rglob("*.rego"), None) is None:
        return _NO_RULES
    return read(folder, OVERLAY)


def _named(file: str | None, folder: Path | None, shown: Path) -> str | None:
    if file and folder and file.startswith(str(folder)):
        return f"{shown}{file.removeprefix(str(folder))}"
    return file


def _folder_at(edit: Edit, team: ConfigFile | None, target: Path) -> Path | None:
    """The folder as it is at the commit, written below ``target``; None where the commit has none."""
    path = _inside(edit, team)
    tree = tree_at(edit.repository, edit.commit, path)
    if tree is None:
        if edit.name == SHIPPED:
            raise ContractError(
                "policy.none",
                f"{edit.base_label} has no such policy folder",
                file=path,
                fix="name a commit that has the folder",
            )
        return None
    edit.repository.extract(tree, target)
    return target


def _inside(edit: Edit, team: ConfigFile | None) -> str:
    """The folder's path in the repository; where the team's file of the base names another overlay, that one."""
    path = path_within(edit.repository, edit.folder)
    here = _named_overlay(_team_here(edit.repository.root))
    if edit.name == OVERLAY and path == here:
        path = _named_overlay(team)
    return "" if path == "." else path


def _loses_key(edit: Edit, team: ConfigFile | None, other: ConfigFile | None) -> bool:
    """Whether only the other side names a key: without one, decisions use no overlay at all."""
    return (
        edit.name == OVERLAY
        and not _policy(team).get("public_key")
        and bool(_policy(other).get("public_key"))
    )


def _policy(team: ConfigFile | None) -> Json:
    return (team.value.get("policy") if team else None) or {}


def _named_overlay(team: ConfigFile | None) -> str:
    return str(Path(_policy(team).get("overlay") or OVERLAY_FOLDER).as_posix())


def _team_here(root: Path) -> ConfigFile | None:
    file = root / TEAM_FILE
    return read_config(strict_yaml.read(file), file, TeamConfig) if file.exists() else None


def _team_at(edit: Edit) -> ConfigFile | None:
    data = edit.repository.blob(edit.commit, TEAM_FILE)
    return read_config(data, Path(f"{edit.base_label}:{TEAM_FILE}"), TeamConfig) if data else None


def _team_facts(team: ConfigFile | None) -> Json:
    return {"team": team.value if team else None, "team_sha256": team.sha256 if team else None}
