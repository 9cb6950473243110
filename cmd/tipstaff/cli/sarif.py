"""Findings as a SARIF 2.1.0 log, which code hosts and editors read; waived ones are results with a suppression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tipstaff import __version__
from tipstaff.documents.base import Json
from tipstaff.documents.finding import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "PROJECTROOT"


def sarif(findings: Iterable[Finding], waived: Iterable[Finding]) -> Json:
    """The log: one run, a rule for each code, a result for each finding; files are relative to the project's root."""
    results = [*findings, *waived]
    codes = list(dict.fromkeys(found.code for found in results))
    first = {found.code: found for found in reversed(results)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tipstaff",
                        "version": __version__,
                        "rules": [_rule(first[code]) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The project's root."}}},
                "results": [_result(found, codes.index(found.code)) for found in results],
            }
        ],
    }


def _rule(found: Finding) -> Json:
    return {
        "id": found.code,
        "shortDescription": {"text": found.code},
        "help": {"text": found.solution},
    }


def _result(found: Finding, index: int) -> Json:
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": index,
        "level": found.severity,
        "message": {"text": f"{found.message}; {found.solution}"},
        "properties": {"rule": found.rule},
        "suppressions": [],
    }
    if found.file is not None:
        result["locations"] = [_location(found.file, found.line)]
    if found.waiver is not None:
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": found.waiver.reason,
                "properties": {"owner": found.waiver.owner, "expires": found.waiver.expires},
            }
        ]
    return result


def _location(file: str, line: int | None) -> Json:
    from urllib.parse import quote

    place: Json = {"artifactLocation": {"uri": quote(file), "uriBaseId": _ROOT}}
    return {"physicalLocation": {**place, "region": {"startLine": line}} if line else place}
