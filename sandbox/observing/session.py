"""One session with an MCP server, by the official SDK: greeting, every list with every page, and calls.

The SDK speaks; what is handed on is what the server sent. Results that the SDK finds odd are handed on as well: it is
for the reader to say what they are worth.
"""

import time

import anyio
import mcp.client.session as sdk
import mcp_types as types
from client import CLIENT, callbacks, declared
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError
from tape import Fault, Noted, plain

from tipstaff.documents.contract import definition_sha256

ANYTHING = TypeAdapter(dict[str, object])
LISTS = (
    ("tools", "tools", types.ListToolsRequest),
    ("prompts", "prompts", types.ListPromptsRequest),
    ("resources", "resources", types.ListResourcesRequest),
    ("resourceTemplates", "resources", types.ListResourceTemplatesRequest),
)
NO_SUCH_METHOD = -32601
TICK_S = 0.1
# Of one processor; less is no work that an answer could come of.
WORKING = 0.01


class Gone(Exception):
    """The server ended at the probe, or is deaf since, which a server that knows none may be."""


class Conversation:
    """Asks one server. ``work`` gives the processor seconds that it has used so far, or None where nobody can tell."""

    def __init__(self, session, tape, work):
        self.session, self.tape, self.work = session, tape, work
        self.limits = tape.limits
        self.era, self.greeting = None, None
        self.notes = []
        # What was listed last, while nothing else was asked since.
        self._listed = None

    async def ask(self, send, seconds, silent_s=None):
        """The bytes of the answer to one request; raises ``Fault``, or ``TimeoutError`` with the reason."""
        before = len(self.tape.asked)
        reason = []
        with anyio.CancelScope() as scope:
            self.tape.stop = scope
            if self.tape.fault is not None:
                raise self.tape.fault
            async with anyio.create_task_group() as group:
                group.start_soon(
                    self._watch, scope, seconds, silent_s or self.limits["silent_s"], reason
                )
                try:
                    await send()
                except (MCPError, ValidationError, RuntimeError, ValueError) as error:
                    if isinstance(error, (ValidationError, RuntimeError)):
                        self._note(f"the SDK does not accept an answer: {_first_line(error)}")
                group.cancel_scope.cancel()
        self.tape.stop = None
        if self.tape.fault is not None:
            raise self.tape.fault
        if reason:
            raise TimeoutError(reason[0])
        number = self.tape.asked[before].id if len(self.tape.asked) > before else None
        return self.tape.answers.get(number)

    async def _watch(self, scope, seconds, silent_s, reason):
        begun = mark = time.monotonic()
        worked = self.work()
        while True:
            await anyio.sleep(TICK_S)
            now = time.monotonic()
            if now - begun > seconds:
                reason.append(f"no answer within {seconds:.0f} s")
                scope.cancel()
            if worked is None or now - max(mark, self.tape.heard) < silent_s:
                continue
            used = self.work()
            if used - worked < WORKING * silent_s:
                reason.append(f"no answer, no byte and no work for {silent_s:.0f} s")
                scope.cancel()
            mark, worked = now, used

    def _note(self, text):
        if text not in self.notes and len(self.notes) < self.tape.kept["noise"]:
            self.notes.append(text)

    async def greet(self, probing):
        """Say hello: by ``server/discover``, and where that is not known by ``initialize``."""
        if probing and await self._discover():
            return
        try:
            self.greeting = await self.ask(self.session.initialize, self.limits["start_s"])
        except TimeoutError as error:
            if probing:
                raise Gone from error
            raise Fault("unreachable", f"initialize: {error}") from error
        self.era = "initialize"
        if self.greeting is None:
            if probing:
                raise Gone
            raise Fault("unreachable", "the server ended before it answered initialize")
        refused = plain(self.greeting).get("error")
        if refused is not None:
            raise Fault(
                "error_response", f"initialize was answered with an error: {_said(refused)}"
            )
        if self.session.initialize_result is None:
            raise Fault("incomplete", f"the answer to initialize is none: {'; '.join(self.notes)}")

    async def _discover(self):
        try:
            wait = self.limits["probe_s"]
            answer = await self.ask(self.session.discover, self.limits["start_s"], wait)
        except TimeoutError as error:
            raise Gone from error
        if self.session.discover_result is not None:
            # The last one: a first may have been asked in a version that the server does not speak.
            self.era, self.greeting = "discover", self.tape.answers[self.tape.asked[-1].id]
            return True
        if answer is None:
            raise Gone
        self.notes.clear()
        return False

    def advertised(self):
        """The capabilities of the server, as it wrote them."""
        found = plain(self.greeting)["result"].get("capabilities")
        return found if isinstance(found, dict) else {}

    async def lists(self):
        """The answers of every list, page by page, by the name of the list."""
        known, size, found = self.advertised(), self.tape.received, {}
        for member, capability, request in LISTS:
            if capability in known or member == "tools":
                found[member] = await self._list(member, request, capability in known)
            if self.tape.received - size > self.limits["list_bytes"]:
                raise Fault(
                    "incomplete", f"the lists are more than {self.limits['list_bytes']} bytes"
                )
        return found

    async def _list(self, member, request, is_advertised):
        pages, cursor, seen, entries = [], None, set(), 0
        while True:
            params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
            answer = await self._page(member, request(params=params), len(pages) + 1)
            whole = plain(answer)
            if "error" in whole:
                if self._is_no_list(member, whole["error"], pages, is_advertised):
                    return []
                code = "incomplete" if pages else "error_response"
                raise Fault(
                    code, f"page {len(pages) + 1} of {member} is an error: {_said(whole['error'])}"
                )
            pages.append(answer)
            listed = whole["result"].get(member) if isinstance(whole["result"], dict) else None
            if not isinstance(listed, list):
                raise Fault(
                    "incomplete", f"page {len(pages)} of {member} holds no list of that name"
                )
            entries += len(listed)
            cursor = whole["result"].get("nextCursor")
            self._demand_bounds(member, len(pages), entries)
            if cursor is None:
                return pages
            self._demand_cursor(member, cursor, seen, len(pages))
            seen.add(cursor)

    async def _page(self, member, request, number):
        try:
            answer = await self.ask(
                lambda: self.session.send_request(request, ANYTHING), self.limits["answer_s"]
            )
        except TimeoutError as error:
            raise Fault("incomplete", f"page {number} of {member}: {error}") from error
        if answer is None:
            raise Fault("incomplete", f"the server ended before page {number} of {member}")
        return answer

    def _is_no_list(self, member, error, pages, is_advertised):
        """Whether an error says that there is no such list: never of a list that has begun, or of advertised tools."""
        code = error.get("code") if isinstance(error, dict) else None
        if pages or code != NO_SUCH_METHOD or (member == "tools" and is_advertised):
            return False
        if is_advertised:
            self._note(
                f"{member} cannot be listed, though the server advertises them: {_said(error)}"
            )
        return True

    def _demand_bounds(self, member, pages, entries):
        for number, limit, what in ((pages, "pages", "pages"), (entries, "entries", "entries")):
            if number > self.limits[limit]:
                raise Fault("incomplete", f"{member} has more than {self.limits[limit]} {what}")

    def _demand_cursor(self, member, cursor, seen, page):
        if not isinstance(cursor, str) or not cursor:
            raise Fault(
                "incomplete", f"page {page} of {member} goes on at no cursor: {str(cursor)[:40]!r}"
            )
        if cursor in seen:
            raise Fault(
                "incomplete", f"page {page} of {member} goes on at a cursor that was there before"
            )

    async def call(self, wanted):
        """The answers to one wanted call, each checked against what the server lists before and after it."""
        return [await self._call_once(wanted) for _ in range(wanted["times"])]

    async def _call_once(self, wanted):
        if self._listed is None:
            self._listed = await self._tools()
        refused, self._listed = _difference(self._listed, wanted), None
        if refused is not None:
            return {"refused": refused}
        params = types.CallToolRequestParams(name=wanted["tool"], arguments=wanted["arguments"])
        request = types.CallToolRequest(params=params)
        try:
            answer = await self.ask(
                lambda: self.session.send_request(request, ANYTHING), self.limits["call_s"]
            )
        except TimeoutError as error:
            return {"refused": str(error)}
        if answer is None:
            raise Fault("incomplete", f"the server ended while {wanted['tool'][:100]!r} was called")
        self._listed = await self._tools()
        refused = _difference(self._listed, wanted)
        return {"answer": answer} if refused is None else {"refused": f"{refused}, after the call"}

    async def _tools(self):
        """Every tool that the server lists now."""
        pages = await self._list("tools", types.ListToolsRequest, True)
        return [tool for page in pages for tool in plain(page)["result"]["tools"]]


async def converse(streams, job, tape, work, plan):
    """A whole session: what came of it as data, with answers as bytes. Raises ``Fault`` and ``Gone``.

    ``plan`` is whether to probe, and whether this is the session with the calls.
    """
    read, write = streams
    probing, first = plan
    sdk.DISCOVER_TIMEOUT_SECONDS = tape.limits["start_s"] + tape.limits["whole_s"]
    given = callbacks(job["client_capabilities"])
    async with ClientSession(read, Noted(write, tape), client_info=CLIENT, **given) as session:
        talk = Conversation(session, tape, work)
        await talk.greet(probing)
        passes = [await talk.lists()]
        calls = {}
        if first:
            for wanted in job["calls"]:
                calls[wanted["id"]] = await talk.call(wanted)
            passes.append(await talk.lists())
        return {
            "era": talk.era,
            "version": session.protocol_version,
            "capabilities": declared(tape.asked),
            "greeting": talk.greeting,
            "passes": passes,
            "calls": calls,
            "notes": talk.notes,
        }


def _difference(tools, wanted):
    """Why the tool that a server lists is not the wanted one; None if it is."""
    named = [
        tool for tool in tools if isinstance(tool, dict) and tool.get("name") == wanted["tool"]
    ]
    if len(named) != 1:
        return "the tool is not listed" if not named else "the tool is listed more than once"
    if definition_sha256(named[0]) != wanted["definition_sha256"]:
        return "the tool's definition is another one now"
    return None


def _said(error):
    if not isinstance(error, dict):
        return str(error)[:200]
    return f"{error.get('code')} {str(error.get('message'))[:200]}"


def _first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])[:200]
