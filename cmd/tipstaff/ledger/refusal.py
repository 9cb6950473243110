"""Why an approval request can't be found, decided or used, each as the error a person sees."""

from __future__ import annotations

from tipstaff.documents.approval import STATUSES, ApprovalRequest
from tipstaff.errors import ContractError, Error, EvidenceError

_LIST = "`tipstaff approvals list` shows what there is; of a store `tipstaff governed-harness approvals`"
_AGAIN = "propose the change again, or run the harness again"


def unknown(key: str) -> ContractError:
    """No request has this key."""
    return ContractError("approval.unknown", f"there is no request {key[:64]}", fix=_LIST)


def no_status(status: str) -> ContractError:
    """What was asked for is no status."""
    return ContractError(
        "approval.status",
        f"{status} is not a status",
        field="status",
        fix=f"use one of {', '.join(STATUSES)}",
    )


def ambiguous(key: str, shortest: int) -> ContractError:
    """The prefix is too short, or several requests have it."""
    return ContractError(
        "approval.ambiguous",
        f"{key} does not name one request",
        fix=f"give more characters of the key, at least {shortest}",
    )


def undecidable(request: ApprovalRequest) -> Error:
    """The request is not open to a decision."""
    if request.status == "expired":
        return _expired(request)
    if request.status == "pending":
        return EvidenceError(
            "approval.future",
            f"request {request.key[:12]} was made at {request.created_at}, which lies ahead",
            fix="set the clock right",
        )
    person = request.decided_by.id if request.decided_by else "nobody"
    message = f"is {request.status}; {person} decided at {request.decided_at}"
    return ContractError("approval.decided", f"request {request.key[:12]} {message}", fix=_LIST)


def unusable(request: ApprovalRequest) -> Error:
    """The request is not an approval that can still be used."""
    name = request.key[:12]
    if request.status == "expired":
        return _expired(request)
    if request.status == "consumed":
        return ContractError(
            "approval.consumed",
            f"the approval of request {name} was used already",
            fix=_AGAIN,
        )
    return ContractError(
        "approval.undecided",
        f"request {name} is {request.status}, not approved",
        fix=_LIST,
    )


def wrong_token(key: str, *, given: bool) -> ContractError:
    """The second confirmation lacks the first one's token."""
    what = "that token is wrong or no longer valid" if given else "it needs a first confirmation"
    return ContractError(
        "approval.token",
        f"request {key[:12]} was not approved: {what}",
        fix="confirm once to get a token, then confirm again with it in time",
    )


def single(key: str) -> ContractError:
    """A first of two confirmations where one is enough."""
    return ContractError(
        "approval.single",
        f"request {key[:12]} needs one confirmation only",
        fix="approve it in one step",
    )


def _expired(request: ApprovalRequest) -> ContractError:
    return ContractError(
        "approval.expired",
        f"request {request.key[:12]} expired at {request.expires_at}; nothing is carried out",
        fix=_AGAIN,
    )
