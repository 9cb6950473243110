"""One fault planted against each promise about tokens and HTTP: a test of the promise turns red."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import mcp_types as types
import pytest

from support import surface
from support.edited_policy import edit_data, put_in_place
from support.surface import Caller, serving, token
from support.workshop import Workshop
from tipstaff.surfaces.principal import Principal
from tipstaff.surfaces.stdio import Rejected, read_message
from tipstaff.surfaces.web import request
from tipstaff.surfaces.web.admission import Admission
from tipstaff.surfaces.web.refused import Refusals
from tipstaff.surfaces.web.sessions import Sessions
from traceability.test_planted_faults import Plant, python, rego
from traceability.test_planted_reliability import demand_red, wanted

HTTP, CASES = "surfaces/test_http.py", "surfaces/test_http_cases.py"
TOKENS, FUZZED = "surfaces/test_tokens.py", "surfaces/test_fuzzed_messages.py"
REQUESTS = "test_each_request_is_answered_as_the_table_says"
REVOKED = "test_revoked_or_expired_token_is_refused_at_the_next_call"
ACCESS = "access/access.rego"
BROKEN = "import tipstaff.surfaces.stdio as stdio; real = stdio.read_message; kept = []\n{}\n"


def agents_issue(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """A policy under which anybody issues tokens."""

    def edit(value: Any) -> None:
        value["acts"]["mcp token issue"] = ["human", "agent", "ci"]

    put_in_place(edit_data(tmp / "policy", {"control": edit}), patch)


def admit_who_came_in_once(patch: pytest.MonkeyPatch, tmp: Path) -> None:
    """An admission that asks once for each token."""
    known: dict[str, Principal] = {}
    real = Admission.admit

    def admit(self: Admission, text: str) -> Principal:
        if text not in known:
            known[text] = real(self, text)
        return known[text]

    patch.setattr(Admission, "admit", admit)


def broken(lines: str) -> Plant:
    """Servers whose reader of messages is another one."""
    program = BROKEN.format(lines) + surface.PROGRAM
    return lambda patch, tmp: patch.setattr(surface, "PROGRAM", program)


def take_any(body: bytes) -> types.JSONRPCMessage:
    """A reader that leaves it to the SDK what a message is."""
    try:
        return read_message(body)
    except Rejected:
        return types.JSONRPCRequest(jsonrpc="2.0", id=str(uuid4()), method="ping")


def any_host(method: str, path: str, query: bytes, headers: Any, hosts: frozenset[str]) -> None:
    """A check of places that takes every host and origin."""
    known = {"host": next(iter(hosts))}
    real_place(method, path, query, known, hosts)


real_place = request.demand_place
FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "M6, row 118: hosts and origins are not looked at": (
        python(request, "demand_place", any_host),
        CASES,
        REQUESTS,
        {},
    ),
    "M6, row 118: any type will do": (
        python(request, "demand_json", lambda *_: None),
        CASES,
        REQUESTS,
        {},
    ),
    "row 118: a session is anybody's": (
        python(Sessions, "demand", lambda *_: None),
        HTTP,
        "test_session_of_another_token_is_refused_and_an_unknown_one_not_found",
        {},
    ),
    "row 119: an id counts twice": (
        python(Sessions, "claim", lambda *_: None),
        HTTP,
        "test_id_counts_once_in_a_session",
        {},
    ),
    "row 119: messages are read as they come": (
        python("tipstaff.surfaces.web.front", "read_message", take_any),
        CASES,
        "test_body_that_is_no_message_is_an_error_and_the_server_lives",
        {},
    ),
    "M-07: a revocation is overlooked": (
        rego(ACCESS, "_stands if _access.revoked_at == null", "_stands"),
        HTTP,
        REVOKED,
        {},
    ),
    "M-07: who was let in stays in": (admit_who_came_in_once, HTTP, REVOKED, {}),
    "M-07: tokens never end": (
        rego(ACCESS, "time.parse_rfc3339_ns(moment) < ends", "ends > 0"),
        HTTP,
        REVOKED,
        {},
    ),
    "M-07: the server's scope is no bound": (
        rego(ACCESS, "_access.scope in data", "_access.served in data"),
        HTTP,
        "test_server_of_the_narrow_scope_refuses_wide_tokens",
        {},
    ),
    "M-07: any secret of a token will do": (
        python("tipstaff.ledger.tokens", "fingerprint", lambda text: "0" * 64),
        TOKENS,
        "test_only_the_exact_text_is_the_token",
        {},
    ),
    "M-07: an agent issues tokens": (
        agents_issue,
        TOKENS,
        "test_agent_and_ci_issue_no_token",
        {"variable": "CLAUDECODE"},
    ),
    "M-07: refusals leave no record": (
        python(Refusals, "keep", lambda *_: None),
        HTTP,
        "test_flood_of_strangers_leaves_few_records_and_says_how_many_there_were",
        {},
    ),
    "M7: an answer shows the inside": (
        broken(
            "def read(line):\n"
            "    try: return real(line)\n"
            "    except Exception:\n"
            "        import traceback\n"
            "        raise stdio._rejected(-32600, traceback.format_exc())\n"
            "stdio.read_message = read"
        ),
        FUZZED,
        "test_fuzzed_messages_over_stdio_do_no_harm",
        {},
    ),
    "M7: messages are kept": (
        broken(
            "def read(line):\n"
            "    kept.append(b'x' * (1 << 17))\n"
            "    return real(line)\n"
            "stdio.read_message = read"
        ),
        FUZZED,
        "test_fuzzed_messages_over_stdio_do_no_harm",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_of_the_promise_red(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    plant(monkeypatch, tmp_path)
    given: dict[str, Any] = {
        **{"workshop": workshop, "monkeypatch": monkeypatch, "tmp_path": tmp_path},
        **values,
    }
    if "caller" not in wanted(path, name):
        demand_red(path, name, given)
        return
    with serving(workshop.root) as port:
        caller = Caller(port, token(workshop.state, "desk"))
        if path == CASES:
            caller.begin()
        demand_red(path, name, {**given, "port": port, "caller": caller})
