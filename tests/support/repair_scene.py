"""A governed repository in which a server's contract is pinned, with skills and code that name its tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from support.contracts import TIME, Tool, edited, taken
from support.repositories import commit, git, write
from support.workshop import Workshop
from tipstaff.documents.contract import Snapshot, text
from tipstaff.evidence.repository import Repository
from tipstaff.healing.repair.proposal import RepairOutcome, RepairRequest, propose

PIN = "contracts/weather.mcpc.json"
SKILL = "skills/w/SKILL.md"
SKILL_TEXT = """\
# Weather

Call `get_forecast` with `days` set to how many days are asked for, or
`get_forecast(location="Bern", days=3)`. The days count from today, says get_forecast.
"""
AGENT = "agent/run.py"
AGENT_TEXT = """\
def get_forecast(session, days):
    return session.call_tool("get_forecast", {"days": days})
"""
FILES = {SKILL: SKILL_TEXT, AGENT: AGENT_TEXT, "notes/plan.md": "In some days we meet.\n"}
Edit = Callable[[dict[str, Any]], object]


def rename_days(value: dict[str, Any]) -> None:
    """The parameter ``days`` becomes ``day_count``."""
    found = value["tools"][0]["inputSchema"]["properties"]
    found["day_count"] = found.pop("days")


def reword(value: dict[str, Any]) -> None:
    """Other words for a model."""
    value["tools"][0]["description"] = "Forecast for a place. Ask twice."


def add_radars(value: dict[str, Any]) -> None:
    """A tool that destroys nothing."""
    value["tools"].append({"name": "list_radars", "inputSchema": {"type": "object"}})


def add_deletion(value: dict[str, Any]) -> None:
    """A tool that destroys something."""
    value["tools"].append({"name": "delete_station", "inputSchema": {"type": "object"}})


def remove(value: dict[str, Any]) -> None:
    """A tool less."""
    del value["tools"][0]


def nothing(value: dict[str, Any]) -> None:
    """No edit."""


@dataclass(frozen=True)
class RepairScene:
    """A workshop with the pin committed, and what tests do in it again and again."""

    workshop: Workshop

    @classmethod
    def set(
        cls,
        workshop: Workshop,
        *tools: Tool,
        files: dict[str, str] | None = None,
        pinned: bool = True,
    ) -> RepairScene:
        """Commit the files and, unless it is to be the first contract, the pin."""
        write(workshop.root, FILES if files is None else files)
        if pinned:
            write(workshop.root, {PIN: text(taken(edited(nothing, *tools)))})
        commit(workshop.root, "use a weather server")
        return cls(workshop)

    def observed(self, edit: Edit, *tools: Tool, at: str = TIME) -> Snapshot:
        """What the server advertises after an edit."""
        return taken(edited(edit, *tools)).model_copy(update={"captured_at": at})

    def propose(self, edit: Edit, *tools: Tool, at: str = TIME, **more: Any) -> RepairOutcome:
        """Propose it as ``tipstaff contracts propose`` does."""
        said = more.pop("say", lambda line: None)
        with self.workshop.engine() as engine:
            request = RepairRequest(
                name=more.pop("name", "weather"),
                observed=more.pop("observed", None) or self.observed(edit, *tools, at=at),
                subject=engine.actor.id,
                **more,
            )
            return propose(engine, Repository.open(self.workshop.root), request, say=said)

    def shown(self, branch: str | None, path: str) -> str:
        """A file on a branch."""
        return git(self.workshop.root, "show", f"{branch}:{path}")

    def changed(self, branch: str | None) -> list[str]:
        """The files that a branch changes."""
        return git(self.workshop.root, "diff", "--name-only", f"main..{branch}").split()

    def body(self) -> str:
        """The text of the one pull request."""
        [text] = self.workshop.pull_requests().values()
        return text

    def requests(self) -> list[Any]:
        """The requests for approval."""
        found: list[Any] = self.workshop.run("approvals", "list", "--json").json["requests"]
        return found
