"""The branch that a pull request goes to, and what it brings there: the judged change and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tipstaff.errors import ActionDenied, ContractError, Error

if TYPE_CHECKING:
    from pathlib import Path

    from tipstaff.documents.approval import ChangeRecord
    from tipstaff.evidence.repository import Repository

_DEFAULT_BRANCH = "main"


def target_branch(repository: Repository) -> str:
    """The branch that the user is on; a usual name where HEAD is detached."""
    return _current_branch(repository) or _DEFAULT_BRANCH


def demand_ruled(repository: Repository, root: Path) -> None:
    """Raise ``ContractError`` unless the project is the whole repository: its rules come from its root."""
    if not repository.root.samefile(root):
        raise ContractError(
            "project.inner",
            f"the repository begins at {repository.root}, and the rules of a folder in it are not its rules",
            file=str(root),
            fix="remove the .git and tipstaff.yaml that lie in this folder, or make it a repository",
        )


def demand_base(repository: Repository, base: str) -> None:
    """Raise ``ContractError`` unless the target branch holds the base.

    Else the pull request would bring the base's own commits along, which nobody has judged.
    """
    if any(_holds(repository, head, base) for head in _heads(repository)):
        return
    target = target_branch(repository)
    raise ContractError(
        "repository.foreign_base",
        f"{base[:12]} is not a commit of {target}, which the pull request goes to",
        field="base",
        fix=f"make the diff against a commit of {target}, or check out the branch that it is for",
    )


def demand_in_place(repository: Repository, change: ChangeRecord) -> None:
    """Raise ``ActionDenied`` unless the change's branch still points at the commit that was proposed."""
    if change.branch is None or change.commit is None:
        return
    try:
        found = repository.resolve(f"refs/heads/{change.branch}")
    except ContractError:
        found = None
    if found == change.commit:
        return
    where = f"points at {found[:12]}" if found else "is gone"
    raise ActionDenied(
        "enforce.moved",
        f"the branch {change.branch} {where}, and what was asked about is {change.commit[:12]}",
        fix=f"git branch -f {change.branch} {change.commit[:12]}, or reject it and propose again",
    )


def _heads(repository: Repository) -> list[str]:
    if _current_branch(repository) is not None:
        return ["HEAD"]
    return [f"refs/heads/{_DEFAULT_BRANCH}", f"refs/remotes/origin/{_DEFAULT_BRANCH}"]


def _holds(repository: Repository, head: str, base: str) -> bool:
    try:
        return not repository.run("rev-list", "-n1", base, f"^{repository.resolve(head)}")
    except ContractError:
        return False


def _current_branch(repository: Repository) -> str | None:
    try:
        return repository.run("symbolic-ref", "--short", "HEAD").decode().strip()
    except Error:
        return None
