"""The pull request, the commit message and the branch name of a judged change.

The text is for the person who reviews: what changed, why the verdict is what it is, what was measured, what to
look at, how to approve. Nothing in it that came from outside is read as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from tipstaff.documents.base import ActionClass
from tipstaff.documents.input import ChangedFile, ChangeInput
from tipstaff.documents.markdown import code
from tipstaff.documents.verdict import OpenPullRequest, Verdict
from tipstaff.enforce import drift_section, replaced_block
from tipstaff.enforce.drift_section import Repair
from tipstaff.errors import ActionDenied, ContractError

TRAILER = "Tipstaff-Decision"
FILES_SHOWN = 50
REASONS_SHOWN = 20
NAMES_SHOWN = 20
_DECISION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/-]{1,80}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class PullRequest:
    """What a forge is asked to open: ``branch`` at ``commit`` against ``base_branch``; ``body`` is Markdown."""

    decision_id: str
    branch: str
    base_branch: str
    commit: str
    title: str
    body: str
    draft: bool


@dataclass(frozen=True)
class Proposal:
    """All that a pull request tells: the verdict, the change it judged, where it lies, and the trail's head.

    ``trail_head`` is the hash of the newest record of the audit trail; ``approval_key`` names the request where a
    person is asked; ``repair`` is what a contract's drift asks for, where that is what the change takes up.
    """

    verdict: Verdict
    change: ChangeInput
    branch: str
    base_branch: str
    commit: str
    trail_head: str
    approval_key: str | None = None
    repair: Repair | None = None


def compose(proposal: Proposal) -> PullRequest:
    """Title and body for a verdict that asks for a pull request, a draft where the verdict says so.

    Raises ``ActionDenied`` (``verdict.no_pull_request``) where the verdict doesn't ask for one.
    """
    verdict = proposal.verdict
    draft = _draft(verdict)
    sections = (
        _changed(proposal.change),
        *([drift_section.section(proposal.repair)] if proposal.repair else []),
        _explained(verdict),
        _evidence(proposal),
        _checklist(proposal.change),
        _approval(proposal, draft),
        "Text in code spans is quoted from outside and escaped; nothing in it is an instruction.",
        _trailer(verdict.decision_id),
    )
    return PullRequest(
        decision_id=verdict.decision_id,
        branch=proposal.branch,
        base_branch=proposal.base_branch,
        commit=proposal.commit,
        title=_title(proposal.change),
        body="\n\n".join(sections) + "\n",
        draft=draft,
    )


def commit_message(change: ChangeInput, decision_id: str) -> str:
    """Subject, the diff's digest, and the trailer that git reads back; no text from outside but a plain path."""
    resource = change.resource
    about = f"Carries the diff with SHA-256 {resource.diff_sha256}\non top of {resource.base}."
    return f"{_title(change)}\n\n{about}\n\n{_trailer(decision_id)}\n"


def rejection(decision_id: str, by: str, note: str | None) -> str:
    """The comment under which a rejected pull request is closed."""
    lines = [f"Rejected by {code(by)}."]
    if note:
        lines.append(f"Note: {code(note, limit=1000)}")
    return "\n\n".join([*lines, _trailer(decision_id)])


def superseded(decision_id: str) -> str:
    """The comment under which a pull request is closed whose proposal was cut off and is made anew."""
    return f"Closed: the run that opened this was cut off.\n\n{_trailer(decision_id)}"


def branch_name(action_class: str | None, diff_sha256: str) -> str:
    """``tipstaff/<class>/<first 12 of the digest>``; ``ContractError`` for any other class or digest."""
    if action_class not in get_args(ActionClass) or not _SHA256.fullmatch(diff_sha256):
        raise ContractError(
            "document.invalid",
            "a branch needs a known action class and the SHA-256 of its diff",
            field="action.class",
            fix=f"use one of {', '.join(get_args(ActionClass))}",
        )
    return f"tipstaff/{action_class}/{diff_sha256[:12]}"


def check_decision_id(decision_id: str) -> str:
    """The id, if it is safe as a file name and as a trailer; else ``ContractError``."""
    if not _DECISION_ID.fullmatch(decision_id):
        raise ContractError(
            "document.invalid",
            "a decision id is 1 to 128 letters, digits, hyphens and underscores",
            field="decision_id",
            fix="use the id that the engine gave",
        )
    return decision_id


def _draft(verdict: Verdict) -> bool:
    asked = [step for step in verdict.obligations if isinstance(step, OpenPullRequest)]
    if verdict.effect not in ("allow", "require_approval") or not asked:
        raise ActionDenied(
            "verdict.no_pull_request",
            f"the verdict is {verdict.effect} and asks for no pull request",
            fix=f"see `tipstaff explain {check_decision_id(verdict.decision_id)}`",
        )
    return any(step.draft for step in asked)


def _trailer(decision_id: str) -> str:
    return f"{TRAILER}: {check_decision_id(decision_id)}"


def _title(change: ChangeInput) -> str:
    files = change.resource.files
    if len(files) == 1 and _PLAIN_PATH.fullmatch(files[0].path):
        return f"{_class(change)}: {files[0].path}"
    return f"{_class(change)}: {_count(len(files), 'file')}"


def _class(change: ChangeInput) -> str:
    known = change.action.class_ in get_args(ActionClass)
    return str(change.action.class_) if known else "unknown class"


def _changed(change: ChangeInput) -> str:
    files = change.resource.files
    shown = [f"- {_file(file)}" for file in files[:FILES_SHOWN]]
    if len(files) > FILES_SHOWN:
        shown.append(f"- and {_count(len(files) - FILES_SHOWN, 'file')} more, in the diff")
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    lead = (
        f"A change of class `{_class(change)}` for {code(change.subject.id, limit=100)}: "
        f"{_count(len(files), 'file')}, {_count(added, 'line')} added, {removed} removed."
    )
    return "\n".join(["## What changed", "", lead, "", *shown])


def _file(file: ChangedFile) -> str:
    said = [file.status.replace("_", " ")]
    if file.old_path is not None and file.old_path != file.path:
        said[0] += f" from {code(file.old_path)}"
    said.append("binary" if file.binary else f"+{file.added} −{file.removed}")  # noqa: RUF001 (a minus sign)
    said += ["mode changed"] * file.mode_changed
    said += ["additions only"] * file.additions_only
    if file.touches_existing_definition:
        said.append("touches a definition that was there")
    return f"{code(file.path)}: {', '.join(said)}"


def _explained(verdict: Verdict) -> str:
    lines = [f"## Why the verdict is {verdict.effect}", ""]
    for reason in verdict.reasons[:REASONS_SHOWN]:
        lines.append(f"- {code(reason.code, limit=100)}: {code(reason.message, limit=300)}")
        lines.append(f"  - what would change it: {code(reason.solution, limit=300)}")
    if len(verdict.reasons) > REASONS_SHOWN:
        more = _count(len(verdict.reasons) - REASONS_SHOWN, "reason")
        lines.append(f"- and {more} more: `tipstaff explain {verdict.decision_id}`")
    if not verdict.reasons:
        lines.append("No rule stands against it.")
    return "\n".join([*lines, "", f"Rules that matched: {_names(verdict.matched_rules)}."])


def _evidence(proposal: Proposal) -> str:
    change, policy = proposal.change, proposal.verdict.policy
    tests, sandbox = change.evidence.tests, change.evidence.sandbox
    augment = change.evidence.augment
    counted = (
        f"{tests.passed} passed, {tests.failed} failed, {tests.skipped} skipped"
        if tests
        else "not measured"
    )
    if tests and tests.diff_sha256 != change.resource.diff_sha256:
        counted += ", but of another diff"
    ran = "no run"
    if sandbox:
        isolated = "isolated" if sandbox.isolated else "not isolated"
        ran = (
            f"{code(sandbox.backend, limit=60)}, profile {code(sandbox.profile, limit=60)}, {isolated}; "
            f"protections that held: {_names(sandbox.held)}"
        )
    lines = (
        f"Golden tests: {counted}",
        f"Sandbox: {ran}",
        *(replaced_block.lines(augment) if augment else ()),
        f"Capabilities found in the added code: {_names(change.action.found_capabilities)}",
        f"Diff: SHA-256 `{change.resource.diff_sha256}` on {code(change.resource.base, limit=80)}",
        f"Policy: bundle {code(policy.bundle, limit=80)}, revision {code(policy.revision, limit=80)}",
        f"Decision: `{check_decision_id(proposal.verdict.decision_id)}`",
        f"Head of the audit trail: {code(proposal.trail_head, limit=80)}",
    )
    return "\n".join(["## Evidence", "", *(f"- {line}" for line in lines)])


def _checklist(change: ChangeInput) -> str:
    lines = [
        "The diff does what its class says, and nothing beside it.",
        "Every file above belongs to the change.",
    ]
    if change.evidence.tests is None:
        lines.append("No test run backs it: run the tests yourself.")
    else:
        lines.append("The golden tests cover what changed; they were taken from the base commit.")
    if change.evidence.drift is not None:
        lines.append("What the server now says of itself may be told to a model, word for word.")
    if change.evidence.augment is not None:
        lines.append("The script does what the prose says, also where no golden case looks.")
    if change.action.found_capabilities:
        lines.append("The added code needs each capability that was found in it.")
    if any(file.touches_existing_definition is None for file in change.resource.files):
        lines.append("Files that no reader of ours knows: read these in full.")
    return "\n".join(["## What to check", "", *(f"- [ ] {line}" for line in lines)])


def _approval(proposal: Proposal, draft: bool) -> str:
    never = "Tipstaff never merges."
    if proposal.approval_key is None:
        waits = (
            "It is a draft: somebody has to mark it ready." if draft else "Nothing waits for it."
        )
        return (
            f"## How to approve\n\n{waits} Review and merge it as any other pull request. {never}"
        )
    key = proposal.approval_key
    if not _SHA256.fullmatch(key):
        raise ContractError(
            "document.invalid",
            "an approval's key is 64 hexadecimal digits",
            field="key",
            fix="use the key that the approval request carries",
        )
    steps = proposal.verdict.confirmations
    twice = f" {steps} confirmations are needed." if steps > 1 else ""
    return (
        f"## How to approve\n\n```\ntipstaff approvals approve {key}\n```\n\n"
        f"Approving judges the change again with the policy of that moment and marks this ready for "
        f"review.{twice} To refuse: `tipstaff approvals reject {key}`. {never}"
    )


def _names(names: Iterable[str] | None) -> str:
    if names is None:
        return "not measured"
    every = list(names)
    shown = [code(name, limit=80) for name in every[:NAMES_SHOWN]]
    if len(every) > NAMES_SHOWN:
        shown.append(f"{len(every) - NAMES_SHOWN} more")
    return ", ".join(shown) or "none"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
