"""What a driver heard, as snapshots: the server's own bytes are read strictly here, outside of the sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tipstaff.documents import strict_json
from tipstaff.documents.base import Json, parse
from tipstaff.documents.capture import from_capture
from tipstaff.documents.contract import MAX_BYTES, Snapshot, Source, whole_numbers
from tipstaff.documents.observation import ObservationReport
from tipstaff.documents.sandbox import SandboxResult
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, UnobservedError

_GREETED = ("capabilities", "instructions", "protocolVersion", "serverInfo")
_SHOWN = 5
_FIX = "capture it again; what a server says twice must be the same"


class Heard:
    """An index of a driver and the answers that it points to."""

    def __init__(
        self, index: Json, answers: Sequence[Sequence[bytes]], sandbox: SandboxResult | None
    ) -> None:
        self.index, self.answers, self.sandbox = index, answers, sandbox

    def report(self, transport: str) -> ObservationReport:
        """What happened besides, as the driver told it."""
        told = dict(self.index["report"])
        sessions = self.index["sessions"]
        notes = list(dict.fromkeys(note for session in sessions for note in session["notes"]))
        pages = sum(len(p) for s in sessions for found in s["passes"] for p in found.values())
        whole = {
            **told,
            "schema_version": 1,
            "transport": transport,
            "era": sessions[0]["era"] if sessions else None,
            "sandbox": self.sandbox,
            "notes": [visible(note) for note in notes],
            "noise": [visible(line) for line in told["noise"]],
            "written": [visible(path) for path in told["written"]],
            "requests": [visible(method) for method in told["requests"]],
            "stderr": visible(told["stderr"], limit=len(told["stderr"]), multiline=True),
            "attempts": [{**one, "what": visible(one["what"])} for one in told["attempts"]],
            "pages": pages,
        }
        return parse(ObservationReport, whole)

    def demand_whole(self) -> None:
        """Raise ``UnobservedError`` where the driver could not hear everything."""
        fault = self.index["fault"]
        if fault is not None:
            raise UnobservedError(
                f"contract.{fault['code']}",
                visible(str(fault["message"]), limit=500),
                fix="see what the server needs, and capture it again",
            )

    def snapshots(self, name: str, captured_at: str, source: Source) -> list[Snapshot]:
        """A snapshot of each time that the lists were taken; raises ``UnobservedError`` for what cannot be read."""
        found = []
        file = 0
        for session in self.index["sessions"]:
            lists = self.answers[file : file + len(session["passes"])]
            file += len(lists)
            greeting = _result(self.answers[file][session["greeting"]], "greeting")
            file += 1
            own = source.model_copy(update={"client_capabilities": session["capabilities"]})
            for numbers, lines in zip(session["passes"], lists, strict=True):
                value = _capture(greeting, session, numbers, lines)
                found.append(_snapshot(value, name, captured_at, own))
        return found

    def called(self) -> Mapping[str, Sequence[Json]]:
        """The answers to calls, by the call's id."""
        for session, lines in zip(self.index["sessions"], self._greetings(), strict=True):
            if session["calls"]:
                return {
                    key: [_called(one, lines) for one in answers]
                    for key, answers in session["calls"].items()
                }
        return {}

    def _greetings(self) -> list[Sequence[bytes]]:
        file, found = -1, []
        for session in self.index["sessions"]:
            file += len(session["passes"]) + 1
            found.append(self.answers[file])
        return found


def demand_steady(snapshots: Sequence[Snapshot]) -> None:
    """Raise ``UnobservedError`` (``contract.unsteady``) where two lists of one server differ, naming what does."""
    first = snapshots[0]
    for place, other in enumerate(snapshots[1:], start=1):
        if other.digest == first.digest:
            continue
        what = sorted(_differences(first, other))
        named = ", ".join(visible(name, limit=100) for name in what[:_SHOWN])
        more = f" and {len(what) - _SHOWN} more" if len(what) > _SHOWN else ""
        when = "within one session" if place < len(snapshots) - 1 else "between two sessions"
        raise UnobservedError(
            "contract.unsteady",
            f"the server changes {when}: {named}{more}",
            fix=_FIX,
        )


def _differences(old: Snapshot, new: Snapshot) -> set[str]:
    found = set()
    for member in ("protocol_version", "server_info", "capabilities", "instructions", "source"):
        if getattr(old, member) != getattr(new, member):
            found.add(member)
    for member, key in (
        ("tools", "name"),
        ("prompts", "name"),
        ("resources", "uri"),
        ("resource_templates", "uriTemplate"),
    ):
        before, after = (_named(getattr(one, member), key) for one in (old, new))
        found |= {
            f"{member}/{name}"
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        }
    return found


def _named(entries: Sequence[Json], key: str) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for entry in entries:
        found.setdefault(entry[key], []).append(strict_json.canonical(entry))
    return found


def _capture(greeting: Json, session: Json, numbers: Json, lines: Sequence[bytes]) -> Json:
    value = {key: greeting[key] for key in _GREETED if greeting.get(key) is not None}
    meta = greeting.get("_meta")
    named = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
    if isinstance(named, dict):
        value.setdefault("serverInfo", named)
    value.setdefault("protocolVersion", session["version"])
    for member, pages in numbers.items():
        value[member] = [entry for page in pages for entry in _result(lines[page], member)[member]]
    value.setdefault("tools", [])
    return value


def _snapshot(value: Json, name: str, captured_at: str, source: Source) -> Snapshot:
    try:
        found = from_capture(value, name, captured_at, source=source)
        _ = found.digest
    except ContractError as error:
        raise _unreadable(error, error.field) from error
    return found


def _result(data: bytes, what: str) -> Json:
    try:
        whole = strict_json.loads(data, max_bytes=MAX_BYTES, any_form=True)
    except ContractError as error:
        raise _unreadable(error, what) from error
    result: Json = whole["result"]
    return result


def _called(answer: Json, lines: Sequence[bytes]) -> Json:
    if "refused" in answer:
        return {"refused": answer["refused"]}
    try:
        whole: Any = strict_json.loads(lines[answer["answer"]], max_bytes=MAX_BYTES, any_form=True)
    except ContractError as error:
        return {"refused": f"the answer cannot be read: {error.message}"}
    whole = whole_numbers(whole)
    return {key: whole[key] for key in ("result", "error") if key in whole}


def _unreadable(error: ContractError, field: str | None) -> UnobservedError:
    return UnobservedError(
        "contract.incomplete",
        f"what the server said cannot be read: {error.message}",
        field=None if field is None else visible(field, limit=100),
        fix="tell the server's author; it has to send plain JSON in the shape of MCP",
    )
