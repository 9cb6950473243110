"""What an edit of the policy does to verdicts. Which of two verdicts is the looser one, policy says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tipstaff.authoring.corpus import Case
from tipstaff.authoring.sides import Side
from tipstaff.documents import strict_yaml
from tipstaff.documents.acknowledgement import Acknowledgements
from tipstaff.documents.base import Json, parse
from tipstaff.documents.verdict import Verdict
from tipstaff.errors import DecisionError

ACKNOWLEDGED = "acknowledged.yaml"
_REPORT = "data.tipstaff.comparison.report"
_BATCH = 1000


def compare(
    base: Side, head: Side, cases: Sequence[Case], acknowledged: Sequence[str] = ()
) -> Json:
    """The report of ``policy/tipstaff/comparison`` on the verdicts of both sides over the very same cases.

    The base's own comparison rules judge, so that an edit of these cannot wave itself through. Raises
    ``DecisionError`` where there is no report.
    """
    before, after = replay([(base, cases), (head, cases)])
    compared = [
        {
            "name": case.name,
            "sha256": case.sha256,
            "base": _compared(old),
            "head": _compared(new),
        }
        for case, old, new in zip(cases, before, after, strict=True)
    ]
    question = {"cases": compared, "acknowledged": sorted(set(acknowledged))}
    report: Any = base.rules.query(_REPORT, question) or head.rules.query(_REPORT, question)
    if not isinstance(report, dict):
        raise DecisionError(
            "engine.undefined",
            "no rules say which verdict is the looser one",
            fix="restore policy/tipstaff/comparison",
        )
    return report


def replay(sides: Sequence[tuple[Side, Sequence[Case]]]) -> list[list[Verdict]]:
    """Each side's verdicts on its cases, in their order; as many at a time as there are processors."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = [
            [
                pool.submit(
                    side.rules.verdicts,
                    [side.document(case.document) for case in cases[start : start + _BATCH]],
                )
                for start in range(0, len(cases), _BATCH)
            ]
            for side, cases in sides
        ]
        return [[verdict for part in parts for verdict in part.result()] for parts in running]


def committed_acknowledgements(folder: Path) -> list[str]:
    """The ids in a policy folder's ``acknowledged.yaml``; raises ``ContractError`` naming file and field."""
    file = folder / ACKNOWLEDGED
    if not file.exists():
        return []
    value = strict_yaml.load(file)
    return [entry.id for entry in parse(Acknowledgements, value, file=str(file)).loosened]


def _compared(verdict: Verdict) -> Json:
    plain = verdict.model_dump(by_alias=True)
    kept = ("effect", "codes", "confirmations", "obligations", "matched_rules")
    return {name: plain[name] for name in kept}
