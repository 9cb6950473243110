"""Any sequence of acts upon a store goes as a few lines of plain Python say, whatever keeps it."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

from support.approval_machine import StoreMachine
from tipstaff.ledger.approval_store import ApprovalStore
from tipstaff.ledger.approvals import Approvals
from tipstaff.ledger.database import open_database


class DatabaseMachine(StoreMachine):
    """The same with the ledger's database; of requests of one key, the last is meant."""

    def open(self) -> ApprovalStore:
        """The store that is tried."""
        return Approvals(open_database(self.folder), self.clock)


_SETTINGS = settings(
    max_examples=15,
    stateful_step_count=20,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestApprovalFile = StoreMachine.TestCase
TestApprovalFile.settings = _SETTINGS
TestApprovalDatabase = DatabaseMachine.TestCase
TestApprovalDatabase.settings = _SETTINGS
