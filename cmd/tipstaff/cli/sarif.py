"""Findings as a SARIF 2.1.0 log, which code hosts and editors read; waived ones are results with a suppression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tipstaff import __version__
from tipstaff.documents.base import Json
from tipstaff.documents.finding import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "PROJECTROOT"


def sarif(
    findings: Iterable[Finding],
    waived: Iterable[Finding],
    *,
    about: Mapping[str, str] | None = None,
) -> Json:
    """The log: one run, a rule for each code, a result for each finding; files are relative to the project's root.

    ``about`` has the address of a page for each code that one tells more about. What a host knows a result by from one
    run to the next is its code, file and message, but not its line.
    """
    results = [*findings, *waived]
    codes = list(dict.fromkeys(found.code for found in results))
    first = {found.code: found for found in reversed(results)}
    seen: Counter[str] = Counter()
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tipstaff",
                        "version": __version__,
                        "rules": [_rule(first[code], (about or {}).get(code)) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The project's root."}}},
                "results": [_result(found, codes.index(found.code), seen) for found in results],
            }
        ],
    }


def _rule(found: Finding, page: str | None) -> Json:
    title = found.code.rpartition(".")[2].replace("_", " ").capitalize()
    rule: Json = {
        "id": found.code,
        "name": "".join(word.capitalize() for word in title.split()),
        "shortDescription": {"text": title},
        "help": {"text": found.solution},
        "properties": {"tags": [found.code.partition(".")[0]]},
    }
    return rule | ({"helpUri": page} if page else {})


def _result(found: Finding, index: int, seen: Counter[str]) -> Json:
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": index,
        "level": found.severity,
        "message": {"text": f"{found.message}; {found.solution}"},
        "partialFingerprints": {"primaryLocationLineHash": _known_by(found, seen)},
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


def _known_by(found: Finding, seen: Counter[str]) -> str:
    """A fingerprint in the form that code hosts read: a hash, and which of those that are equal."""
    from hashlib import sha256

    whole = "\0".join([found.code, found.file or "", found.message])
    digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"


def _location(file: str, line: int | None) -> Json:
    from urllib.parse import quote

    place: Json = {"artifactLocation": {"uri": quote(file), "uriBaseId": _ROOT}}
    return {"physicalLocation": {**place, "region": {"startLine": line}} if line else place}
