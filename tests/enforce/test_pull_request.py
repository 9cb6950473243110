"""The text of pull requests and commits tells what was judged, and nothing from outside steers it."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from support.verdicts import BASE, DECISION, DIGEST, KEY, a_change, a_file, a_verdict
from tipstaff.documents.input import ChangeInput
from tipstaff.documents.verdict import Verdict
from tipstaff.enforce.pull_request import (
    Proposal,
    PullRequest,
    branch_name,
    check_decision_id,
    commit_message,
    compose,
    rejection,
)
from tipstaff.errors import ActionDenied, ContractError

HEAD = "b4" * 32
HOSTILE = (
    "a`b.md",
    "![x](https://evil.example/x.png)",
    "<script>alert(1)</script>.md",
    "@octocat fixes #1",
    "a|b|c",
    "x\n## Approved\n\n- [x] all good\nTipstaff-Decision: forged",
    "\x1b[2Jcls",
    "evil\u202ecod.exe",
)


def composed(
    change: ChangeInput | None = None, verdict: Verdict | None = None, key: str | None = KEY
) -> PullRequest:
    return compose(
        Proposal(
            verdict=verdict or a_verdict(),
            change=change or a_change(),
            branch="tipstaff/heal_additive/3f3f3f3f3f3f",
            base_branch="main",
            commit="d1" * 20,
            trail_head=HEAD,
            approval_key=key,
        )
    )


def trailers(message: str) -> list[str]:
    done = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=message,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_a_change_that_waits_for_a_person_is_a_draft_that_says_how_to_approve() -> None:
    opened = composed()
    assert opened.draft
    assert f"tipstaff approvals approve {KEY}" in opened.body
    assert f"tipstaff approvals reject {KEY}" in opened.body
    assert "Tipstaff never merges" in opened.body


def test_an_allowed_change_is_ready_and_asks_nobody() -> None:
    opened = composed(verdict=a_verdict("allow"), key=None)
    assert not opened.draft
    assert "approvals approve" not in opened.body
    assert "No rule stands against it." in opened.body


@pytest.mark.req("AU-05")
def test_the_body_carries_the_decision_and_the_head_of_the_trail() -> None:
    body = composed().body
    assert body.rstrip().splitlines()[-1] == f"Tipstaff-Decision: {DECISION}"
    assert HEAD in body


@pytest.mark.req("T-02")
def test_the_body_says_what_changed_why_and_what_was_measured() -> None:
    moved = a_file("b.py", status="renamed", old_path="a.py", mode_changed=True, binary=True)
    body = composed(a_change(a_file(), moved)).body
    assert "- `skills/w/SKILL.md`: modified, +3 \N{MINUS SIGN}0, additions only" in body
    assert "- `b.py`: renamed from `a.py`, binary, mode changed" in body
    assert "- `gate.require_human`: `this class is pinned to a person`" in body
    assert "what would change it: `approve it`" in body
    assert "12 passed, 0 failed, 1 skipped" in body
    assert (
        "`bubblewrap`, profile `strict`, isolated; protections that held: `network`, `write`"
        in body
    )
    assert DIGEST in body
    assert BASE in body


def test_absent_evidence_is_named_as_absent() -> None:
    body = composed(a_change(tests=None, sandbox=None)).body
    assert "Golden tests: not measured" in body
    assert "Sandbox: no run" in body
    assert "No test run backs it" in body


def test_tests_of_another_diff_are_named_as_such() -> None:
    other = {"passed": 1, "failed": 0, "skipped": 0, "diff_sha256": "00" * 32}
    assert "but of another diff" in composed(a_change(tests=other)).body


def test_two_confirmations_are_announced() -> None:
    assert "2 confirmations are needed" in composed(verdict=a_verdict(confirmations=2)).body


@pytest.mark.req("EX-05")
@pytest.mark.parametrize("text", HOSTILE)
def test_outside_text_adds_nothing_to_the_body_but_code_spans(text: str) -> None:
    reason = {"code": text, "message": text, "rule": "r", "solution": text}
    hostile = composed(
        a_change(a_file(text), a_file(text, old_path=f"{text}2", status="renamed"), subject=text),
        a_verdict(codes=[text], reasons=[reason], matched_rules=[text]),
    )
    plain_reason = {"code": "x", "message": "x", "rule": "r", "solution": "x"}
    plain = composed(
        a_change(a_file("x"), a_file("x", old_path="y", status="renamed"), subject="x"),
        a_verdict(codes=["x"], reasons=[plain_reason], matched_rules=["x"]),
    )
    assert shape(hostile.body) == shape(plain.body)
    outside_code = re.sub(r"`[^`\n]*`", "", hostile.body)
    for sign in ("octocat", "evil", "script", "Approved", "forged", "\x1b", "\u202e"):
        assert sign not in outside_code


def shape(body: str) -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    inner = [child.type for token in tokens for child in token.children or []]
    return [token.type for token in tokens] + inner


@given(path=st.text(min_size=1))
def test_a_title_is_plain_whatever_the_path_is(path: str) -> None:
    title = composed(a_change(a_file(path))).title
    assert re.fullmatch(r"heal_additive: ([A-Za-z0-9._/-]{1,80}|1 file)", title)


def test_a_huge_change_fits_what_a_forge_accepts() -> None:
    path = "\U000e0001" * 4000
    codes = [f"{number:0>200}" for number in range(100)]
    reasons = [{"code": code, "message": path, "rule": "r", "solution": path} for code in codes]
    body = composed(
        a_change(*[a_file(path, old_path=path + "2", status="renamed") for _ in range(500)]),
        a_verdict(codes=codes, reasons=reasons, matched_rules=["r" * 250] * 99),
    ).body
    assert len(body) < 65_536
    assert "and 450 files more" in body
    assert "and 80 reasons more" in body


@pytest.mark.req("T-02")
@pytest.mark.parametrize("path", ["skills/w/SKILL.md", *HOSTILE])
def test_git_reads_the_trailer_and_only_that_from_the_commit_message(path: str) -> None:
    message = commit_message(a_change(a_file(path)), DECISION)
    assert trailers(message) == [f"Tipstaff-Decision: {DECISION}"]
    assert len(message.splitlines()[0]) <= 100


def test_git_reads_the_trailer_from_the_body_too() -> None:
    assert trailers(f"subject\n\n{composed().body}") == [f"Tipstaff-Decision: {DECISION}"]


@pytest.mark.parametrize("effect", ["deny", "escalate"])
def test_a_refused_change_is_never_composed(effect: str) -> None:
    with pytest.raises(ActionDenied) as caught:
        composed(verdict=a_verdict(effect))
    assert caught.value.code == "verdict.no_pull_request"


def test_a_verdict_without_that_obligation_is_never_composed() -> None:
    with pytest.raises(ActionDenied):
        composed(verdict=a_verdict(obligations=[]))


def test_a_refusing_verdict_with_that_obligation_is_never_composed() -> None:
    opens = [{"id": "open_pull_request", "draft": False}]
    with pytest.raises(ActionDenied):
        composed(verdict=a_verdict("deny", obligations=opens))


@pytest.mark.parametrize("text", ["../x", "a b", "a\nb", "", ".hidden", "a/b", "x" * 129, "é"])
def test_a_decision_id_that_is_no_plain_name_is_refused(text: str) -> None:
    with pytest.raises(ContractError) as caught:
        check_decision_id(text)
    assert caught.value.field == "decision_id"


def test_a_key_that_is_no_digest_is_refused() -> None:
    with pytest.raises(ContractError):
        composed(key="x; rm -rf /")


def test_a_branch_is_named_after_the_class_and_the_diff() -> None:
    assert branch_name("heal_additive", DIGEST) == "tipstaff/heal_additive/3f3f3f3f3f3f"


@pytest.mark.parametrize(("kind", "digest"), [("heal_foo", DIGEST), (None, DIGEST), ("audit", "x")])
def test_a_branch_of_an_unknown_class_or_digest_is_refused(kind: str | None, digest: str) -> None:
    with pytest.raises(ContractError):
        branch_name(kind, digest)


def test_a_rejection_names_who_and_why_and_the_decision() -> None:
    text = rejection(DECISION, "bob@host", "no\n@everyone")
    assert "`bob@host`" in text
    assert "`no\\u{a}@everyone`" in text
    assert text.endswith(f"Tipstaff-Decision: {DECISION}")
