"""With an operator's key only decisions that it vouches for, in their place, are believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.ledger_parts import ALICE, BOB, SetClock, asked
from tipstaff.documents.strict_json import canonical
from tipstaff.errors import EvidenceError
from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.ledger.approval_key import VARIABLE

A, B, C = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "operator.key"
    file.touch(0o600)
    file.write_bytes(bytes(range(32)))
    return file


@pytest.fixture
def store(tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> ApprovalFile:
    """A store of whose three requests the operator rejected one and approved one, the latter in two steps."""
    store = ApprovalFile(tmp_path / "approvals.jsonl", SetClock())
    store.request(asked(A))  # as an agent asks, who has no key
    monkeypatch.setenv(VARIABLE, str(key))
    store.reject(A, BOB, "no")
    store.request(asked(B, confirmations=2))
    token = store.confirm_first(B, BOB)
    store.approve(B, BOB, token=token)
    store.request(asked(C))
    return store


def _code(store: ApprovalFile) -> tuple[str, str | None]:
    with pytest.raises(EvidenceError) as refused:
        store.list()
    with pytest.raises(EvidenceError):
        store.approve(C, BOB)
    assert refused.value.exit_code == 3
    return refused.value.code, refused.value.field


@pytest.mark.req("AP-06")
def test_decisions_under_the_key_are_believed_by_its_holder(store: ApprovalFile) -> None:
    assert store.counts()["approved"] == store.counts()["rejected"] == 1
    assert store.approve(C, ALICE).status == "approved"
    events = [json.loads(line) for line in store.path.read_bytes().splitlines()]
    assert [bool(event.get("mac")) for event in events] == [
        False,
        True,
        False,
        True,
        True,
        False,
        True,
    ]


@pytest.mark.req("AP-06")
def test_who_has_no_key_reads_the_store_and_cannot_add_a_decision(
    store: ApprovalFile, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    assert store.counts()["pending"] == 1
    store.approve(C, ALICE)
    monkeypatch.setenv(VARIABLE, str(key))
    assert _code(store) == ("store.untrusted", "line 7")


@pytest.mark.req("AP-06")
def test_any_edit_before_a_decision_is_noticed(store: ApprovalFile) -> None:
    lines = store.path.read_bytes().splitlines(keepends=True)

    def put(changed: list[bytes]) -> tuple[str, str | None]:
        store.path.write_bytes(b"".join(changed))
        return _code(store)

    def edited(number: int, **changes: object) -> list[bytes]:
        line = canonical({**json.loads(lines[number]), **changes}) + b"\n"
        return [*lines[:number], line, *lines[number + 1 :]]

    mac = json.loads(lines[1])["mac"]
    untrusted = {
        "another verdict": edited(1, status="approved"),
        "another note": edited(1, note="yes"),
        "another person": edited(1, by={"id": "eve@desk", "type": "human"}),
        "no MAC": edited(1, mac=None),
        "another MAC": edited(1, mac=mac[::-1]),
        "a MAC from another line": edited(4, mac=mac),
        "another evidence": edited(0, evidence={"tests": {"passed": 4}}),
        "another request before": edited(2, risk="none"),
        "a request put in": [*lines[:2], edited(5, key=f"p:{C}")[5], *lines[2:]],
        "a rejection taken out with its request": lines[2:],
    }
    for name, changed in untrusted.items():
        assert put(changed)[0] == "store.untrusted", name
    assert put([lines[0], *lines[2:]])[0] == "store.untrusted"


@pytest.mark.req("AP-06")
def test_store_written_without_the_key_is_untrusted_at_its_first_decision(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ApprovalFile(tmp_path / "model.jsonl", SetClock())
    store.request(asked(C))
    store.approve(C, BOB)
    monkeypatch.setenv(VARIABLE, str(key))
    assert _code(store) == ("store.untrusted", "line 2")


@pytest.mark.parametrize("wrong", ["absent", "short", "open", "empty name", "folder", "another"])
def test_key_that_cannot_be_used_is_an_error_and_never_no_key(
    store: ApprovalFile, key: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    if wrong == "absent":
        key.unlink()
    elif wrong == "short":
        key.write_bytes(bytes(31))
    elif wrong == "open":
        key.chmod(0o640)
    elif wrong == "empty name":
        monkeypatch.setenv(VARIABLE, "")
    elif wrong == "folder":
        key.unlink()
        key.mkdir(0o700)
    else:
        key.write_bytes(bytes(32))
    code, _ = _code(store)
    assert code == ("store.untrusted" if wrong == "another" else "store.key")
