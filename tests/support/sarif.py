"""SARIF logs, held against the published schema."""

from __future__ import annotations

import json
from typing import Any

from jsonschema.validators import validator_for

from support.published import schema_of_sarif


def demand_valid(log: Any) -> None:
    """Fail with every fault that the published schema finds in a log."""
    schema = json.loads(schema_of_sarif().read_text())
    faults = validator_for(schema)(schema).iter_errors(log)
    assert [(list(fault.absolute_path), fault.message) for fault in faults] == []
