"""GitHub as the forge, through PyGithub.

Nothing that changes something is sent twice by itself; what may have arrived is looked for first when the caller
repeats the act. No message contains the token. It never merges.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from tipstaff.documents.text import visible
from tipstaff.enforce.github_address import Server
from tipstaff.enforce.pull_request import TRAILER, PullRequest
from tipstaff.errors import ForgeError

if TYPE_CHECKING:
    from github import Github, GithubException
    from github.PullRequest import PullRequest as RemotePullRequest
    from github.Repository import Repository as RemoteRepository

    from tipstaff.evidence.repository import Repository

PULLS_READ = 100
_AGAIN = "try again; a pull request that was opened is found, not opened twice"


@dataclass(frozen=True)
class GitHubForge:
    """Pull requests of one repository on GitHub; branches are pushed with git to ``remote``."""

    repository: Repository
    slug: str
    server: Server
    remote: str = "origin"
    reason: str = "it was asked for"
    name: str = field(default="github", init=False)

    def open(self, pull_request: PullRequest) -> str:
        """Push the branch and open the pull request, or find the one this decision has; returns its URL.

        Raises ``ForgeError``. A branch of that name with another commit is never moved: ``forge.refused``.
        """
        act = "opening the pull request"
        with self._connection() as connection:
            with self._speaking(act):
                remote = self._repository(connection)
                found = _find(remote, pull_request)
                if found is not None:
                    return _address(found)
                pushed = _is_pushed(remote, pull_request)
            if not pushed:
                self.repository.push(
                    self.remote,
                    pull_request.commit,
                    pull_request.branch,
                    environment=self.server.git_credentials(),
                )
            with self._speaking(act):
                return _address(_create(remote, pull_request))

    def mark_ready(self, reference: str, *, commit: str | None = None) -> None:
        """Make a draft ready for review.

        Raises ``ForgeError``; ``forge.refused`` where it was closed unmerged, or its branch has another commit on top.
        """
        with self._connection() as connection, self._speaking("marking the pull request ready"):
            found = self._pull(self._repository(connection), reference)
            if found.merged_at is not None:
                return
            if found.state != "open":
                raise _refusal(f"{reference} is closed", fix="reopen it, or propose again")
            if commit is not None and found.head.sha != commit:
                raise _refusal(
                    f"{reference} brings {found.head.sha[:12]}, not {commit[:12]}",
                    fix="look who pushed to its branch, and propose the change again",
                )
            if found.draft:
                found.mark_ready_for_review()

    def close(self, reference: str, comment: str) -> None:
        """Comment and close, each unless it was done already. Raises ``ForgeError``."""
        with self._connection() as connection, self._speaking("closing the pull request"):
            found = self._pull(self._repository(connection), reference)
            if found.state != "open":
                return
            earlier = {(said.body or "").strip() for said in found.get_issue_comments()}
            if comment.strip() not in earlier:
                found.create_issue_comment(comment)
            found.edit(state="closed")

    def _repository(self, connection: Github) -> RemoteRepository:
        remote = connection.get_repo(self.slug)
        # PyGithub makes up the name where the answer has none, but not the id.
        if not isinstance(remote.id, int):
            raise ValueError("not a repository")
        return remote

    def _pull(self, remote: RemoteRepository, reference: str) -> RemotePullRequest:
        slug, _, number = reference.removeprefix(f"{self.server.web}/").rpartition("/pull/")
        ours = (self.slug.lower(), remote.full_name.lower())
        if slug.lower() not in ours or not (number.isascii() and number.isdigit()):
            shown = visible(reference, limit=300)
            raise _refusal(f"{shown} is no pull request of {self.slug}", fix="check `origin`")
        return remote.get_pull(int(number))

    @contextmanager
    def _connection(self) -> Iterator[Github]:
        from github import Auth, Github

        with Github(
            auth=Auth.Token(self.server.token),
            base_url=self.server.api,
            timeout=self.server.timeout_s,
            retry=0,
            seconds_between_requests=None,
            seconds_between_writes=None,
            user_agent="tipstaff",
        ) as connection:
            yield connection

    @contextmanager
    def _speaking(self, act: str) -> Iterator[None]:
        from github import BadAttributeException, GithubException
        from requests import RequestException
        from urllib3.exceptions import HTTPError

        # What PyGithub raises, depending on where it stumbles, when an answer is not GitHub's.
        strange = (
            BadAttributeException,
            AssertionError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        )
        try:
            yield
        except GithubException as error:
            raise self._translated(error, act) from self._cause(error)
        except (RequestException, HTTPError, OSError) as error:
            message = f"no answer from GitHub while {act} ({type(error).__name__})"
            raise _unreachable(message) from self._cause(error)
        except strange as error:
            message = f"an answer that is not GitHub's while {act} ({type(error).__name__})"
            raise _unreachable(message) from self._cause(error)

    def _translated(self, error: GithubException, act: str) -> ForgeError:
        from github import RateLimitExceededException

        said = visible(_said(error.data).replace(self.server.token, "***"), limit=300)
        message = f"GitHub answered {error.status} while {act}" + (f": {said}" if said else "")
        limited = isinstance(error, RateLimitExceededException) or error.status == 429
        if limited or error.status >= 500:
            return _unreachable(message)
        if error.status in (401, 403):
            fix = f"give GITHUB_TOKEN write access to contents and pull requests of {self.slug}"
            return ForgeError("forge.unauthorized", message, fix=fix)
        fix = f"check that {self.slug} exists, that GITHUB_TOKEN sees it and what GitHub says"
        return _refusal(message, fix=fix)

    def _cause(self, error: Exception) -> Exception | None:
        # A server may echo what it was sent; a chain that shows it is cut.
        return None if self.server.token in f"{error!r} {error}" else error


def _find(remote: RemoteRepository, wanted: PullRequest) -> RemotePullRequest | None:
    owner = remote.full_name.partition("/")[0]
    listed = remote.get_pulls(state="all", head=f"{owner}:{wanted.branch}")
    # GitHub ignores a head it can't read and lists everything, so the branch is compared here too.
    same = [pull for pull in islice(listed, PULLS_READ) if _is_from(pull, remote, wanted.branch)]
    ours = [pull for pull in same if _is_of(pull, wanted)]
    ours.sort(key=lambda pull: pull.state != "open")
    if ours:
        return ours[0]
    other = next((pull for pull in same if pull.state == "open"), None)
    if other is not None:
        raise _refusal(
            f"{other.html_url} is open from the branch {wanted.branch} for another decision",
            fix="review or close that one first",
        )
    return None


def _is_from(pull: RemotePullRequest, remote: RemoteRepository, branch: str) -> bool:
    home = pull.head.repo  # None where a fork was deleted
    return pull.head.ref == branch and home is not None and home.full_name == remote.full_name


def _is_of(pull: RemotePullRequest, wanted: PullRequest) -> bool:
    trailer = f"{TRAILER}: {wanted.decision_id}"
    return pull.head.sha == wanted.commit or trailer in (pull.body or "").splitlines()


def _is_pushed(remote: RemoteRepository, wanted: PullRequest) -> bool:
    from github import GithubException

    try:
        there = remote.get_git_ref(f"heads/{wanted.branch}").object.sha
    except GithubException as error:
        if error.status == 404:
            return False
        raise
    if there != wanted.commit:
        raise _refusal(
            f"the branch {wanted.branch} is on GitHub with another commit, and is not moved",
            fix="delete it there if nobody needs it, and propose again",
        )
    return True


def _create(remote: RemoteRepository, wanted: PullRequest) -> RemotePullRequest:
    from github import GithubException

    try:
        return remote.create_pull(
            wanted.base_branch,
            wanted.branch,
            title=wanted.title,
            body=wanted.body,
            draft=wanted.draft,
        )
    except GithubException as error:
        # 422 is also the answer to the second of two who open the same one at once.
        found = _find(remote, wanted) if error.status == 422 else None
        if found is None:
            raise
        return found


def _address(pull: RemotePullRequest) -> str:
    if not pull.html_url.endswith(f"/pull/{pull.number}"):
        raise ValueError("not the address of a pull request")
    return pull.html_url


def _said(data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    details = data.get("errors")
    parts = [data, *(details if isinstance(details, list) else [])]
    said = (part.get("message") for part in parts if isinstance(part, dict))
    return "; ".join(text for text in said if isinstance(text, str))


def _unreachable(message: str) -> ForgeError:
    return ForgeError("forge.unreachable", message, fix=_AGAIN)


def _refusal(message: str, *, fix: str) -> ForgeError:
    return ForgeError("forge.refused", message, fix=fix)
