"""A judged change as a commit on a branch of its own.

Plumbing only: the user's working tree, index and HEAD are never touched. A process killed between the two steps
leaves a commit that no branch holds, which git collects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tipstaff.enforce.pull_request import branch_name

if TYPE_CHECKING:
    from tipstaff.evidence.diff import Patch
    from tipstaff.evidence.repository import Repository

IDENTITY = "Tipstaff <tipstaff@localhost>"


def branch_and_commit(
    repository: Repository,
    patch: Patch,
    *,
    action_class: str | None,
    message: str,
    author: str | None = None,
) -> tuple[str, str]:
    """Commit the patched tree on the patch's base and make the branch; returns the branch's name and the commit.

    The name gets a suffix where that branch exists. ``author`` is ``Name <mail>``; None is the identity that git
    is configured with, else Tipstaff's own. Raises ``ContractError`` for an unknown class, ``EvidenceError`` when
    git fails.
    """
    name = branch_name(action_class, patch.diff_sha256)
    author = author or _configured_identity(repository) or IDENTITY
    commit = repository.commit(patch.tree, patch.base, message, author=author)
    return repository.create_branch(name, commit), commit


def _configured_identity(repository: Repository) -> str | None:
    name, mail = (_setting(repository, key) for key in ("user.name", "user.email"))
    return f"{name} <{mail}>" if name and mail else None


def _setting(repository: Repository, key: str) -> str:
    out = repository.run("config", "--default", "", "--get", key)
    return out.decode("utf-8", "replace").strip()
