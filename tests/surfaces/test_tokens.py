"""Tokens of the MCP surface: a person issues them, their secret is kept nowhere, and policy says which one counts."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.racing import race
from support.workshop import Workshop
from tipstaff.documents.input import Actor
from tipstaff.documents.redaction import redact_text
from tipstaff.errors import ContractError
from tipstaff.ledger.database import open_database
from tipstaff.ledger.tokens import Tokens
from tipstaff.surfaces import access

PERSON = Actor(id="alice@desk", type="human")


def issued(workshop: Workshop, name: str = "desk", *options: str) -> str:
    """The text of a new token."""
    answer = workshop.run("mcp", "token", "issue", name, "--json", *options)
    assert answer.code == 0, answer.stdout
    return str(answer.json["issued"]["token"])


def standing(workshop: Workshop, name: str = "desk") -> list[str]:
    """What policy says of a token."""
    listed = workshop.run("mcp", "token", "list", "--json").json["tokens"]
    return next(each["codes"] for each in listed if each["name"] == name)


@pytest.mark.req("M-07")
def test_token_is_shown_once_and_only_its_digest_is_kept(workshop: Workshop) -> None:
    text = issued(workshop)
    secret = text.rpartition("_")[2].encode()
    kept = b"".join(file.read_bytes() for file in workshop.state.glob("*") if file.is_file())
    assert secret not in kept
    with sqlite3.connect(workshop.state / "ledger.sqlite3") as ledger:
        digests = ledger.execute("SELECT secret_sha256 FROM tokens").fetchall()
    ledger.close()
    assert digests == [(hashlib.sha256(text.encode()).hexdigest(),)]
    listed = [workshop.run("mcp", "token", "list", *how) for how in ([], ["--json"])]
    assert not [each for each in listed if each.code or secret.decode() in each.stdout]


def test_token_is_printed_alone_so_that_it_can_be_piped(workshop: Workshop) -> None:
    answer = workshop.run("mcp", "token", "issue", "desk")
    assert answer.code == 0
    assert access.tokens_of(workshop.engine().project).presented(answer.stdout.strip()) is not None
    assert answer.stdout.strip() not in answer.stderr


@pytest.mark.req("M-07")
def test_issuing_and_revoking_are_on_record_with_who_did_them(workshop: Workshop) -> None:
    issued(workshop)
    assert workshop.run("mcp", "token", "revoke", "desk").code == 0
    records = workshop.records()
    assert [record["decision"] for record in records] == ["allow", "issued", "allow", "revoked"]
    assert {record["target"] for record in records} == {"mcp:desk"}
    assert {record["actor"]["type"] for record in records} == {"human"}
    assert records[1]["decision_id"] == records[0]["decision_id"]
    assert workshop.is_sound()


@pytest.mark.req("M-07")
@pytest.mark.parametrize("variable", ["CLAUDECODE", "CI"])
def test_agent_and_ci_issue_no_token(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    answer = workshop.run("mcp", "token", "issue", "desk", "--json")
    assert (answer.code, answer.json["verdict"]["codes"]) == (1, ["control.human_only"])
    assert answer.json["issued"] is None
    assert workshop.run("mcp", "token", "list", "--json").json == {"tokens": []}
    assert workshop.entries() == ["deny"]


def test_ci_revokes_a_token_that_leaked_and_an_agent_revokes_none(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued(workshop)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert workshop.run("mcp", "token", "revoke", "desk").code == 1
    assert standing(workshop) == ["control.granted"]
    monkeypatch.delenv("CLAUDECODE")
    monkeypatch.setenv("CI", "1")
    assert workshop.run("mcp", "token", "revoke", "desk").code == 0
    assert standing(workshop) == ["access.revoked"]


def test_second_revocation_changes_nothing(workshop: Workshop) -> None:
    issued(workshop)
    times = {
        workshop.run("mcp", "token", "revoke", "desk", "--json").json["revoked"]["revoked_at"]
        for _ in range(2)
    }
    assert len(times) == 1


def test_lifetime_out_of_bounds_or_unreadable_issues_nothing(workshop: Workshop) -> None:
    def ask(lifetime: str) -> tuple[int, Any]:
        answer = workshop.run("mcp", "token", "issue", "desk", "--lifetime", lifetime, "--json")
        return answer.code, answer.json

    code, found = ask("91d")
    assert (code, found["verdict"]["codes"]) == (1, ["access.lifetime"])
    for lifetime in ("0d", "-1d", "soon", "1w", "", "1.5h", "1000000d"):
        code, found = ask(lifetime)
        assert (code, found["error"]["code"]) == (2, "token.lifetime"), lifetime
        assert found["error"]["field"] == "--lifetime"
    assert not access.tokens_of(workshop.engine().project).all()


def test_lifetime_is_what_was_asked_for_or_what_policy_says(workshop: Workshop) -> None:
    issued(workshop, "short", "--lifetime", "90m")
    issued(workshop, "usual")
    spans = {
        token.name: datetime.fromisoformat(token.expires_at)
        - datetime.fromisoformat(token.issued_at)
        for token in access.tokens_of(workshop.engine().project).all()
    }
    assert spans == {"short": timedelta(minutes=90), "usual": timedelta(days=30)}


def test_name_that_is_none_issues_nothing(workshop: Workshop) -> None:
    for name in (*("", "A", "alice@desk", "../x", "d\u0435sk", "a b", "-a", "x" * 65), "desk\n"):
        answer = workshop.run("mcp", "token", "issue", "--json", "--", name)
        assert (answer.code, answer.json["error"]["code"]) == (2, "token.name"), name
    assert workshop.entries() == []


def test_name_stands_for_one_token_for_ever(workshop: Workshop) -> None:
    issued(workshop)
    workshop.run("mcp", "token", "revoke", "desk")
    answer = workshop.run("mcp", "token", "issue", "desk", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "token.exists")
    answer = workshop.run("mcp", "token", "revoke", "other", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (2, "token.unknown")


@pytest.mark.req("M-07")
def test_token_stops_to_count_the_instant_it_expires(tmp_path: Path) -> None:
    now = datetime(2026, 7, 1, 12, tzinfo=UTC)
    tokens = Tokens(open_database(tmp_path), clock=lambda: now)
    token, text = tokens.issue("desk", "read", lifetime_s=60, by=PERSON)
    assert token.expires_at == "2026-07-01T12:01:00.000000Z"
    assert tokens.presented(text) == token


def test_only_the_exact_text_is_the_token(tmp_path: Path) -> None:
    tokens = Tokens(open_database(tmp_path))
    _, text = tokens.issue("desk", "read", lifetime_s=60, by=PERSON)
    other = tokens.issue("other", "propose", lifetime_s=60, by=PERSON)[1]
    assert tokens.presented(text) is not None
    near = [
        text[:place] + ("0" if text[place] == "1" else "1") + text[place + 1 :]
        for place in range(len(text))
    ]
    near += [text[:-1], text + "=", text + "\n", f" {text}", text.upper(), text.swapcase(), ""]
    near += [text[: text.rindex("_")] + other[other.rindex("_") :], "\udcff", "tsmcp__"]
    assert not [one for one in near if tokens.presented(one) is not None]


def test_one_of_many_who_race_for_a_name_gets_it(tmp_path: Path) -> None:
    open_database(tmp_path)

    def act() -> None:
        Tokens(open_database(tmp_path)).issue("desk", "read", lifetime_s=60, by=PERSON)

    ends = race([act] * 8)
    assert ends == [("done", 0), *[("token.exists", 2)] * 7]


def test_token_in_a_text_is_taken_out(tmp_path: Path) -> None:
    _, text = Tokens(open_database(tmp_path)).issue("d", "read", lifetime_s=60, by=PERSON)
    assert redact_text(f"curl -H 'X: {text}'") == "curl -H 'X: [redacted]'"


def test_revoking_what_is_not_there_is_an_error_that_names_the_list(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="no token of this name"):
        Tokens(open_database(tmp_path)).revoke("desk", by=PERSON)


def test_list_is_one_document_also_where_there_is_none(workshop: Workshop) -> None:
    assert json.loads(workshop.run("mcp", "token", "list", "--json").stdout) == {"tokens": []}
