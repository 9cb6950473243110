"""Where pull requests live: a forge, or a folder where there is none.

A forge opens, marks ready and closes; it never merges. Each act may be repeated: what is done already stays as
it is, so a caller that doesn't know whether an act arrived simply repeats it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tipstaff.documents.text import visible
from tipstaff.enforce.github import GitHubForge
from tipstaff.enforce.github_address import Server, slug_of
from tipstaff.enforce.pull_request import PullRequest, check_decision_id
from tipstaff.errors import ForgeError
from tipstaff.files import locked, private_folder, write_atomically

if TYPE_CHECKING:
    from tipstaff.evidence.repository import Repository

__all__ = ["Forge", "LocalForge", "PullRequest", "choose"]

REMOTE = "origin"
LOCK_SECONDS = 10


class Forge(Protocol):
    """A place for pull requests. Every act raises ``ForgeError`` when it could not be carried out."""

    @property
    def name(self) -> str:
        """What kind of forge it is."""
        ...

    @property
    def reason(self) -> str:
        """Why it was chosen, for people."""
        ...

    def open(self, pull_request: PullRequest) -> str:
        """Open it, or find it open; returns its URL or path, the reference that the other acts take."""
        ...

    def mark_ready(self, reference: str, *, commit: str | None = None) -> None:
        """Turn a draft into a pull request that is ready for review; no effect on one that is.

        Refused where it would bring another ``commit`` than this, if one is named.
        """
        ...

    def close(self, reference: str, comment: str) -> None:
        """Close it under a comment in Markdown; no effect on one that is closed."""
        ...


def choose(repository: Repository, state: Path, environ: Mapping[str, str] | None = None) -> Forge:
    """GitHub where ``origin`` is on its server and ``GITHUB_TOKEN`` is set; else the folder in ``state``."""
    environ = os.environ if environ is None else environ
    url = _fetch_url(repository)
    if url is None:
        return LocalForge(state, reason=f"there is no remote {REMOTE}")
    host = Server.host(environ)
    slug = slug_of(url, host)
    if slug is None:
        return LocalForge(state, reason=f"{REMOTE} is not an https or ssh address on {host}")
    server = Server.from_environment(environ)
    if server is None:
        return LocalForge(state, reason="GITHUB_TOKEN is not set")
    reason = f"{REMOTE} is {slug} on {host} and GITHUB_TOKEN is set"
    return GitHubForge(repository, slug=slug, server=server, remote=REMOTE, reason=reason)


def _fetch_url(repository: Repository) -> str | None:
    # What a remote is called by, also where pushes take another way.
    if repository.remote_url(REMOTE) is None:
        return None
    return os.fsdecode(repository.run("remote", "get-url", REMOTE)).rstrip("\n")


@dataclass(frozen=True)
class LocalForge:
    """Pull requests as Markdown files ``<state>/pull-requests/<decision_id>.md``, with a front matter.

    A file is there whole or not at all, also when the process is killed, and only its owner can read it.
    """

    state: Path
    reason: str = "no forge was asked for"
    name: str = field(default="local", init=False)

    def open(self, pull_request: PullRequest) -> str:
        """Write the file unless it is there; returns its path.

        Raises ``ForgeError`` (``forge.refused``) when the file belongs to another decision or can't be written.
        """
        path = self._folder / f"{check_decision_id(pull_request.decision_id)}.md"
        with self._locked():
            if path.exists() or path.is_symlink():
                self._require_same(path, pull_request)
                return str(path)
            facts = {
                "decision": pull_request.decision_id,
                "status": "draft" if pull_request.draft else "ready",
                "branch": pull_request.branch,
                "base": pull_request.base_branch,
                "commit": pull_request.commit,
                "title": pull_request.title,
            }
            write_atomically(path, _document(facts, pull_request.body))
        return str(path)

    def mark_ready(self, reference: str, *, commit: str | None = None) -> None:
        """Set the status to ``ready``; raises ``ForgeError`` (``forge.refused``) when it is closed or absent."""
        with self._locked():
            path, facts, body = self._read(reference)
            if commit is not None and facts["commit"] != commit:
                raise _refusal(path, "it is of another commit", fix="propose the change again")
            if facts["status"] == "closed":
                raise _refusal(path, "it is closed", fix="propose the change again")
            if facts["status"] != "ready":
                write_atomically(path, _document({**facts, "status": "ready"}, body))

    def close(self, reference: str, comment: str) -> None:
        """Set the status to ``closed`` and append the comment; raises ``ForgeError`` when it is absent."""
        with self._locked():
            path, facts, body = self._read(reference)
            if facts["status"] != "closed":
                text = f"{body.rstrip()}\n\n## Closed\n\n{comment.strip()}\n"
                write_atomically(path, _document({**facts, "status": "closed"}, text))

    @property
    def _folder(self) -> Path:
        return self.state / "pull-requests"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        folder = self._folder
        try:
            private_folder(folder)
            if folder.is_symlink():
                raise _refusal(folder, "it is a symbolic link", fix="replace it by a folder")
            with locked(folder / ".lock", timeout_s=LOCK_SECONDS):
                yield
        except TimeoutError as error:
            raise _refusal(folder, "another process holds it", fix="try again") from error
        except OSError as error:
            fix = "make the folder writable and give it space"
            raise _refusal(folder, str(error.strerror), fix=fix) from error

    def _read(self, reference: str) -> tuple[Path, dict[str, str], str]:
        # By name, so that a reference keeps its meaning when the project moves.
        path = self._folder / Path(reference).name
        if path.suffix != ".md" or path.is_symlink() or not path.is_file():
            raise _refusal(path, "there is no such pull request", fix="see `tipstaff change list`")
        facts, body = _parse(path)
        if f"{facts['decision']}.md" != path.name:
            raise _refusal(path, "it belongs to another decision", fix="move the file away")
        return path, facts, body

    def _require_same(self, path: Path, pull_request: PullRequest) -> None:
        _, facts, _ = self._read(str(path))
        if facts["commit"] != pull_request.commit or facts["branch"] != pull_request.branch:
            raise _refusal(path, "it is of another branch or commit", fix="move the file away")


def _document(facts: Mapping[str, str], body: str) -> bytes:
    lines = (
        f"{key}: {json.dumps(visible(text), ensure_ascii=False)}" for key, text in facts.items()
    )
    return "\n".join(["---", *lines, "---", "", body.strip(), ""]).encode()


def _parse(path: Path) -> tuple[dict[str, str], str]:
    try:
        text = path.read_text(encoding="utf-8")
        head, _, body = text.removeprefix("---\n").partition("\n---\n")
        pairs = (line.partition(": ") for line in head.splitlines())
        facts = {key: str(json.loads(text)) for key, _, text in pairs}
    except ValueError as error:
        raise _refusal(path, "its front matter cannot be read", fix="move the file away") from error
    if not {"decision", "status", "branch", "commit"} <= facts.keys():
        raise _refusal(path, "its front matter is incomplete", fix="move the file away")
    return facts, body


def _refusal(path: Path, complaint: str, *, fix: str) -> ForgeError:
    return ForgeError("forge.refused", complaint, file=str(path), fix=fix)
