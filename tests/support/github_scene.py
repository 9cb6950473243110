"""A clone of a repository on GitHub, as far as the double and a bare repository play it."""

from __future__ import annotations

import subprocess
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.github_server import SLUG, TOKEN, WEB, GitHub
from support.verdicts import DECISION
from tipstaff.enforce.forge import PullRequest
from tipstaff.enforce.github import GitHubForge
from tipstaff.enforce.github_address import Server
from tipstaff.errors import ForgeError
from tipstaff.evidence.repository import Repository

BRANCH = "tipstaff/heal_additive/3f3f3f3f3f3f"


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@dataclass
class Scene:
    """A clone of acme/widgets whose pushes go to a bare repository, and the double that shows it."""

    root: Path
    github: GitHub
    forge: GitHubForge
    pull_request: PullRequest

    @property
    def reference(self) -> str:
        return f"{WEB}/{SLUG}/pull/1"


@contextmanager
def a_scene(tmp_path: Path) -> Iterator[Scene]:
    """The scene, with its server running."""
    bare, root = tmp_path / "bare.git", tmp_path / "clone"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.com")
    git(root, "commit", "-q", "--allow-empty", "-m", "base")
    git(root, "remote", "add", "origin", f"{WEB}/{SLUG}.git")
    git(root, "remote", "set-url", "--push", "origin", str(bare))
    git(root, "push", "-q", "origin", "main")
    commit = git(root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "change")
    repository = Repository.open(root)
    with GitHub(bare).running() as github:
        server = Server(web=WEB, api=github.url, token=TOKEN, timeout_s=1)
        yield Scene(
            root,
            github,
            GitHubForge(repository, SLUG, server),
            PullRequest(
                DECISION, BRANCH, "main", commit, "title", f"Tipstaff-Decision: {DECISION}\n", False
            ),
        )


def refused(act: Callable[[], Any]) -> ForgeError:
    """The error of an act, which nowhere shows the token."""
    with pytest.raises(ForgeError) as caught:
        act()
    error = caught.value
    told = "".join(traceback.format_exception(error)) + str(error.diagnostics()) + repr(error)
    assert TOKEN not in told
    assert error.fix
    return error
