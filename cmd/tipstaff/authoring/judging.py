"""Findings by Rego: what was gathered is judged by `opa eval` on the declared policy, and never here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tipstaff import declared
from tipstaff.authoring.facts import Folder, gather
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import Json, parse
from tipstaff.documents.finding import Finding, Waivers
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp.opa import Opa
from tipstaff.project import timestamp

WAIVERS_FILE = "waivers.yaml"
_CONVENTIONS = "source := data.tipstaff.conventions.report"
_WAIVED = """parted := data.tipstaff.waivers.report
    with input as object.union(input.waiving, {"findings": source.findings})"""


@dataclass(frozen=True)
class Report:
    """What counts, what is waived, and how much was looked at: numbers of files and rules of a policy folder."""

    findings: tuple[Finding, ...]
    waived: tuple[Finding, ...]
    checked: Json | None = None

    def as_json(self) -> Json:
        """The one document that `--json` prints."""
        found: Json = {
            "findings": [one.model_dump(exclude={"waiver"}) for one in self.findings],
            "waived": [one.model_dump() for one in self.waived],
        }
        return found if self.checked is None else {**found, "checked": self.checked}


def check_policy(opa: Opa, folder: Folder, *, now: datetime | None = None) -> Report:
    """Judge the source of a policy folder by the conventions.

    Raises ``ContractError`` (``policy.empty``) where there is no rule, and what ``gather`` and ``judge`` raise.
    """
    waiving = _waiving("policy", folder.base, now)
    given = {**gather(opa, folder), "waiving": waiving}
    answer = _ask(opa, f"{_CONVENTIONS}; {_WAIVED}", given)
    checked = answer["source"]["checked"]
    if not checked["rules"]:
        raise ContractError(
            "policy.empty",
            "0 rules checked: there is no rule here",
            file=str(folder.path),
            fix="name a folder with rules, or write one with `tipstaff policy new NAME`",
        )
    return _report(answer, folder.base, checked)


def judge(
    opa: Opa, scope: str, found: Iterable[Json], root: Path, *, now: datetime | None = None
) -> Report:
    """Part findings by the waivers of the project at ``root``; ``scope`` is what was checked, as ``configuration``.

    ``now`` is the time at which waivers are judged, else the clock's. Raises ``ContractError`` for a ``waivers.yaml``
    that is not one or has a path that is no glob, ``DecisionError`` (``engine.undefined``) where Rego gives no answer.
    """
    given = {"waiving": _waiving(scope, root, now), "findings": list(found)}
    return _report(_ask(opa, f"source := input; {_WAIVED}", given), root)


def waivers(root: Path) -> list[Json]:
    """What the project's ``waivers.yaml`` says; nothing without one."""
    file = root / WAIVERS_FILE
    if not file.exists() and not file.is_symlink():
        return []
    found = parse(Waivers, strict_yaml.load(file), file=str(file))
    return [waiver.model_dump(exclude_none=True) for waiver in found.waivers]


def _waiving(scope: str, root: Path, now: datetime | None) -> Json:
    return {
        "now": timestamp(now),
        "scope": scope,
        "waivers": waivers(root),
        "file": WAIVERS_FILE,
    }


def _report(answer: Json, root: Path, checked: Json | None = None) -> Report:
    parted = answer["parted"]
    for place in parted["malformed"]:
        raise ContractError(
            "document.invalid",
            "it is no glob",
            file=str(root / WAIVERS_FILE),
            field=f"waivers.{place}.path",
            fix="write a glob as policy/org/*.rego; brackets hold one range as [a-z] or one list as [abc]",
        )
    return Report(_findings(parted["findings"]), _findings(parted["waived"]), checked)


def _findings(given: Iterable[Json]) -> tuple[Finding, ...]:
    return tuple(parse(Finding, one) for one in given)


def _ask(opa: Opa, query: str, given: Json) -> Json:
    """What a query's names are bound to on an input, by the declared policy without its tests."""
    sources = ["--data", str(declared.folder("policy")), "--ignore", "*_test.rego"]
    reply = opa.evaluate(query, sources, given=json.dumps(given).encode())
    if "errors" in reply or not reply.get("result"):
        said = visible(
            " ".join(str(one.get("message")) for one in reply.get("errors", [])), limit=500
        )
        raise DecisionError(
            "engine.undefined",
            f"the declared policy gives no answer: {said or 'the query is undefined'}",
            fix="run `opa test` on the declared policy; a checkout that was edited may not compile",
        )
    bound: Json = reply["result"][0]["bindings"]
    return bound
