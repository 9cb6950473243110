"""Which source each id of a modification was promoted with, so that one id never stands for two things."""

from __future__ import annotations

from sqlalchemy import Engine, and_, select
from sqlalchemy.dialects.sqlite import insert

from tipstaff.ledger.database import reading, writing
from tipstaff.ledger.schema import modifications

_columns = modifications.c


class Modifications:
    """The ids of one ledger. Both methods raise ``EvidenceError`` (``store.*``)."""

    def __init__(self, database: Engine) -> None:
        self._database = database

    def source(self, artifact: str, modification: str) -> str | None:
        """The digest of the source that was promoted under this id."""
        wanted = and_(_columns.artifact_id == artifact, _columns.modification_id == modification)
        with reading(self._database) as connection:
            return connection.scalar(select(_columns.source_sha256).where(wanted))

    def keep(self, artifact: str, modification: str, source_sha256: str) -> str | None:
        """Let the id stand for this source, unless it stands for one already; the one it stands for."""
        row = {
            "artifact_id": artifact,
            "modification_id": modification,
            "source_sha256": source_sha256,
        }
        with writing(self._database) as connection:
            connection.execute(insert(modifications).values(row).on_conflict_do_nothing())
        return self.source(artifact, modification)
