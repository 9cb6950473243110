"""A double of GitHub: its REST and GraphQL shape as far as Tipstaff uses it, on loopback.

The branches are those of a real bare repository, so a pull request from a branch that was never pushed is refused
as GitHub refuses it. ``fail`` switches faults on.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.http_double import Answer, Double, Fault, Kind, Request, Server

SLUG = "acme/widgets"
TOKEN = "token-of-the-double-0123456789"
WEB = "https://github.com"


@dataclass
class Pull:
    """A pull request."""

    number: int
    branch: str
    base: str
    sha: str
    title: str
    body: str
    draft: bool
    owner: str = "acme"
    state: str = "open"
    merged_at: str | None = None
    comments: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address of its page."""
        return f"{WEB}/{SLUG}/pull/{self.number}"


class GitHub(Double):
    """The double. ``pulls`` and ``requests`` are what it holds and saw; ``url`` is its API's base address."""

    def __init__(self, bare: Path) -> None:
        self.bare = bare
        self.pulls: list[Pull] = []
        self.requests: list[Request] = []
        self.drafts_supported = True
        self.heads_ignored = False
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point Tipstaff here."""
        return {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": self.url}

    def fail(self, method: str, path: str, kind: Kind = "status", **more: Any) -> None:
        """Let requests whose method and whole path match fail in that way until ``heal``."""
        self._faults.append(Fault(method, path, kind, **more))

    def heal(self) -> None:
        """End every fault."""
        self._faults.clear()

    def seen(self, method: str, path: str = ".*") -> list[Request]:
        """The recorded requests that match."""
        return [
            request
            for request in self.requests
            if request.method == method and re.fullmatch(path, request.path)
        ]

    def head(self, branch: str) -> str | None:
        """The commit a branch of the bare repository points at."""
        done = subprocess.run(
            ["git", "--git-dir", self.bare, "rev-parse", "--verify", "-q", f"refs/heads/{branch}"],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() or None

    def open_pull(self, branch: str, *, sha: str, **more: Any) -> Pull:
        """Put a pull request there, as somebody else would have."""
        facts = {"base": "main", "title": "other", "body": "", "draft": False, **more}
        pull = Pull(number=len(self.pulls) + 1, branch=branch, sha=sha, **facts)
        self.pulls.append(pull)
        return pull

    def answer(self, request: Request) -> tuple[Answer, Fault | None]:
        """What a request is answered, and the fault that spoils it."""
        with self._lock:
            self.requests.append(request)
            fault = self._fault(request)
            if fault and not fault.done:
                return (fault.status, fault.body), fault
            if request.headers.get("authorization") not in (f"token {TOKEN}", f"Bearer {TOKEN}"):
                return (401, {"message": "Bad credentials"}), fault
            answer = self._route(request)
            return ((fault.status, fault.body) if fault else answer), fault

    def _fault(self, request: Request) -> Fault | None:
        for fault in self._faults:
            if fault.method == request.method and re.fullmatch(fault.path, request.path):
                return fault
        return None

    def wait(self) -> None:
        """Hang until the double stops."""
        self._closing.wait()

    def _route(self, request: Request) -> Answer:
        for method, pattern, act in (
            ("GET", f"/repos/{SLUG}", self._repository),
            ("GET", f"/repos/{SLUG}/git/refs?/heads/(.+)", self._ref),
            ("GET", f"/repos/{SLUG}/pulls", self._list),
            ("POST", f"/repos/{SLUG}/pulls", self._create),
            ("GET", f"/repos/{SLUG}/pulls/([0-9]+)", self._show),
            ("PATCH", f"/repos/{SLUG}/pulls/([0-9]+)", self._edit),
            ("GET", f"/repos/{SLUG}/issues/([0-9]+)/comments", self._comments),
            ("POST", f"/repos/{SLUG}/issues/([0-9]+)/comments", self._comment),
            ("POST", "/graphql", self._graphql),
        ):
            found = re.fullmatch(pattern, request.path)
            if found and method == request.method:
                return act(request, *found.groups())
        return 404, {"message": "Not Found"}

    def _repository(self, _: Request) -> Answer:
        return 200, self._home("acme")

    def _ref(self, _: Request, branch: str) -> Answer:
        sha = self.head(branch)
        if sha is None:
            return 404, {"message": "Not Found"}
        return 200, {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": sha}}

    def _list(self, request: Request) -> Answer:
        state = request.query.get("state", ["open"])[0]
        head = "" if self.heads_ignored else request.query.get("head", [""])[0]
        shown = [
            self._pull(pull)
            for pull in reversed(self.pulls)
            if state in ("all", pull.state) and head in ("", f"{pull.owner}:{pull.branch}")
        ]
        return 200, shown

    def _create(self, request: Request) -> Answer:
        asked = request.body
        sha = self.head(asked["head"])
        if sha is None:
            return _invalid("PullRequest", field="head", code="invalid")
        if any(pull.branch == asked["head"] and pull.state == "open" for pull in self.pulls):
            return _invalid(message=f"A pull request already exists for acme:{asked['head']}.")
        if asked.get("draft") and not self.drafts_supported:
            message = "Draft pull requests are not supported in this repository."
            return 422, {"message": message}
        pull = self.open_pull(
            asked["head"],
            sha=sha,
            base=asked["base"],
            title=asked["title"],
            body=asked["body"],
            draft=asked.get("draft", False),
        )
        return 201, self._pull(pull)

    def _show(self, _: Request, number: str) -> Answer:
        pull = self._numbered(number)
        return (200, self._pull(pull)) if pull else (404, {"message": "Not Found"})

    def _edit(self, request: Request, number: str) -> Answer:
        pull = self._numbered(number)
        if pull is None:
            return 404, {"message": "Not Found"}
        pull.state = request.body.get("state", pull.state)
        return 200, self._pull(pull)

    def _comments(self, _: Request, number: str) -> Answer:
        pull = self._numbered(number)
        if pull is None:
            return 404, {"message": "Not Found"}
        return 200, [{"id": place, "body": body} for place, body in enumerate(pull.comments)]

    def _comment(self, request: Request, number: str) -> Answer:
        pull = self._numbered(number)
        if pull is None:
            return 404, {"message": "Not Found"}
        pull.comments.append(request.body["body"])
        return 201, {"id": len(pull.comments) - 1, "body": pull.comments[-1]}

    def _graphql(self, request: Request) -> Answer:
        mutation = "markPullRequestReadyForReview"
        node = request.body["variables"].get("input", {}).get("pullRequestId", "")
        pull = self._numbered(node.removeprefix("PR_"))
        if mutation not in request.body["query"] or pull is None:
            return 200, {"data": None, "errors": [{"type": "NOT_FOUND", "message": "no node"}]}
        pull.draft = False
        done = {"clientMutationId": None, "pullRequest": {"isDraft": False}}
        return 200, {"data": {mutation: done}}

    def _numbered(self, number: str) -> Pull | None:
        return next((pull for pull in self.pulls if str(pull.number) == number), None)

    def _home(self, owner: str) -> dict[str, Any]:
        slug = f"{owner}/widgets"
        return {
            "id": 1,
            "name": "widgets",
            "full_name": slug,
            "owner": {"login": owner},
            "default_branch": "main",
            "url": f"{self.url}/repos/{slug}",
        }

    def _pull(self, pull: Pull) -> dict[str, Any]:
        return {
            "id": 1000 + pull.number,
            "node_id": f"PR_{pull.number}",
            "number": pull.number,
            "state": pull.state,
            "draft": pull.draft,
            "merged_at": pull.merged_at,
            "title": pull.title,
            "body": pull.body,
            "url": f"{self.url}/repos/{SLUG}/pulls/{pull.number}",
            "issue_url": f"{self.url}/repos/{SLUG}/issues/{pull.number}",
            "html_url": pull.url,
            "head": {
                "label": f"{pull.owner}:{pull.branch}",
                "ref": pull.branch,
                "sha": pull.sha,
                "repo": self._home(pull.owner),
            },
            "base": {"label": f"acme:{pull.base}", "ref": pull.base, "repo": self._home("acme")},
        }

    @contextmanager
    def running(self) -> Iterator[GitHub]:
        """The double, answering."""
        serving = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        serving.start()
        try:
            yield self
        finally:
            self._closing.set()
            self._server.shutdown()
            self._server.server_close()
            serving.join()


def _invalid(resource: str = "PullRequest", **more: str) -> Answer:
    errors = [{"resource": resource, "code": "custom", **more}]
    return 422, {"message": "Validation Failed", "errors": errors}
