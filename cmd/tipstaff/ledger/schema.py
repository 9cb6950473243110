"""The tables of the ledger.

Closed sets, shapes of keys and one pending request a digest are the database's own rules.
"""

from __future__ import annotations

from typing import get_args

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

from tipstaff.documents.approval import STATUSES, ChangeRecord

VERSION = 3
# Characters of a key or an id that name a row, where no other begins with them.
SHORTEST_PREFIX = 6
# Bytes of one JSON column.
MAX_JSON = 8 << 20
CHANGE_STATES: tuple[str, ...] = get_args(ChangeRecord.model_fields["state"].annotation)

# Compared byte by byte by every database.
_TEXT = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData()


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_is_known")


def _is_digest(column: str) -> list[CheckConstraint]:
    forms = {
        "sqlite": f"length({column}) = 64 AND {column} NOT GLOB '*[^0-9a-f]*'",
        "postgresql": f"{column} ~ '^[0-9a-f]{{64}}$'",
    }
    return [
        CheckConstraint(form, name=f"{column}_is_sha256").ddl_if(dialect=dialect)
        for dialect, form in forms.items()
    ]


# Instants are text of one width (``tipstaff.project.timestamp``), so that they compare as they follow each other.
approvals = Table(
    "approvals",
    metadata,
    Column("key", _TEXT, primary_key=True),
    Column("status", _TEXT, nullable=False),
    Column("digest", _TEXT, nullable=False),
    Column("bundle_revision", _TEXT, nullable=False),
    Column("content", _TEXT, nullable=False),
    Column("confirmations", Integer, nullable=False),
    Column("confirm_within_s", Integer, nullable=False),
    Column("created_at", _TEXT, nullable=False),
    Column("expires_at", _TEXT, nullable=False),
    Column("decided_by", _TEXT),
    Column("decided_at", _TEXT),
    Column("note", _TEXT),
    Column("first_confirmed_by", _TEXT),
    Column("token_sha256", _TEXT),
    Column("token_expires_at", _TEXT),
    Column("is_announced", Integer, nullable=False, server_default=text("0")),
    Column("document", _TEXT, nullable=False),
    Column("diff", LargeBinary, nullable=False),
    _one_of("status", STATUSES),
    *_is_digest("key"),
    *_is_digest("digest"),
    CheckConstraint("confirmations IN (1, 2)", name="confirmations_are_one_or_two"),
    CheckConstraint("confirm_within_s >= 1", name="confirm_within_s_is_positive"),
    CheckConstraint("length(created_at) = 27 AND length(expires_at) = 27", name="instants_compare"),
    CheckConstraint("expires_at > created_at", name="expires_at_follows"),
    CheckConstraint(
        "status NOT IN ('approved', 'rejected', 'consumed') OR decided_by IS NOT NULL",
        name="decisions_have_a_person",
    ),
    CheckConstraint(
        "token_sha256 IS NULL OR (confirmations = 2 AND status = 'pending'"
        " AND token_expires_at IS NOT NULL)",
        name="tokens_belong_to_pending_pairs",
    ),
    Index("approvals_by_status", "status"),
    Index(
        "one_pending_request_a_digest",
        "digest",
        unique=True,
        sqlite_where=text("status = 'pending'"),
        postgresql_where=text("status = 'pending'"),
    ),
    sqlite_strict=True,
)

changes = Table(
    "changes",
    metadata,
    Column("id", _TEXT, primary_key=True),
    Column("action_class", _TEXT, nullable=False),
    Column("effect", _TEXT, nullable=False),
    Column("base", _TEXT, nullable=False),
    Column("diff_sha256", _TEXT, nullable=False),
    Column("files", _TEXT, nullable=False),
    Column("branch", _TEXT),
    Column("commit", _TEXT),
    Column("pull_request", _TEXT),
    Column("approval", _TEXT, ForeignKey("approvals.key")),
    Column("state", _TEXT, nullable=False),
    Column("created_at", _TEXT, nullable=False),
    _one_of("state", CHANGE_STATES),
    *_is_digest("diff_sha256"),
    sqlite_strict=True,
)

# Of a token only the digest of its secret is kept.
tokens = Table(
    "tokens",
    metadata,
    Column("id", _TEXT, primary_key=True),
    Column("name", _TEXT, nullable=False, unique=True),
    Column("scope", _TEXT, nullable=False),
    Column("secret_sha256", _TEXT, nullable=False),
    Column("issued_by", _TEXT, nullable=False),
    Column("issued_at", _TEXT, nullable=False),
    Column("expires_at", _TEXT, nullable=False),
    Column("revoked_by", _TEXT),
    Column("revoked_at", _TEXT),
    *_is_digest("secret_sha256"),
    CheckConstraint("expires_at > issued_at", name="tokens_end_after_they_begin"),
    CheckConstraint("(revoked_by IS NULL) = (revoked_at IS NULL)", name="revocations_are_whole"),
    sqlite_strict=True,
)
