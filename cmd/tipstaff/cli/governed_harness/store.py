"""What the verbs of an approval store share."""

from __future__ import annotations

import click

from tipstaff.documents.approval import ApprovalRequest

SHOWN = (
    "key",
    "status",
    "kind",
    "what",
    "why",
    "evidence",
    "risk",
    "alternatives",
    "urgency",
    "digest",
    "created_at",
    "expires_at",
    "decided_by",
)

store_option = click.option(
    "--store",
    required=True,
    metavar="PATH",
    help="File of JSON lines that holds requests and decisions, or the URL of a PostgreSQL database.",
)


def public(request: ApprovalRequest) -> dict[str, object]:
    """What of a request is shown as JSON."""
    plain = request.model_dump(by_alias=True)
    return {name: plain[name] for name in SHOWN}
