"""What a bundle of ours must hold so that it can answer: the decisions that are asked for, and the data they read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tipstaff.errors import ContractError
from tipstaff.pdp.client import VERDICT, VERDICTS
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.source import Source
from tipstaff.pdp.syntax import parse, place


def demand_whole(opa: Opa, stage: Path, source: Source, data: dict[str, Any]) -> None:
    """Raise ``ContractError`` where an entrypoint, its default, or a document that rules read is missing.

    Codes: ``bundle.entrypoint_missing``, ``bundle.entrypoint_default``, ``bundle.data_missing``.
    """
    defined, with_default = _rules(opa, stage, source)
    for path in (VERDICT, VERDICTS):
        if path not in defined:
            raise _refused("bundle.entrypoint_missing", source, path, "is defined by no rule")
    # The list of verdicts is made for any input; a single verdict may be undefined.
    if VERDICT not in with_default:
        raise _refused("bundle.entrypoint_default", source, VERDICT, "has no default")
    for document in _documents(opa, stage):
        if document[0] == source.name and _value(data, document) in (None, []):
            raise _refused(
                "bundle.data_missing", source, "/".join(document), "is missing or an empty list"
            )


def _rules(opa: Opa, stage: Path, source: Source) -> tuple[set[str], set[str]]:
    """The rules of the entrypoints' package, and those of them that have a default."""
    defined: set[str] = set()
    with_default: set[str] = set()
    package = VERDICT.rpartition("/")[0]
    for file in source.files:
        if not file.endswith(".rego") or Path(file).parent.as_posix() != package:
            continue
        module = parse(opa, stage, file, shown=file)
        for rule in module.get("rules", []):
            path = "/".join([*place(module), str(rule["head"]["ref"][0]["value"])])
            defined.add(path)
            if rule.get("default"):
                with_default.add(path)
    return defined, with_default


def _documents(opa: Opa, stage: Path) -> list[list[str]]:
    """Paths below ``data`` that the verdict reads and that no rule makes."""
    query = "data." + VERDICT.replace("/", ".")
    answer = opa.run(["deps", "--format", "json", "--data", ".", query], cwd=stage)
    found = json.loads(answer.stdout).get("base") or []
    return [
        [str(part["value"]) for part in path[1:]]
        for path in found
        if path[0]["value"] == "data" and len(path) > 1
    ]


def _value(data: Any, path: list[str]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _refused(code: str, source: Source, path: str, why: str) -> ContractError:
    return ContractError(
        code,
        f"data.{path.replace('/', '.')} {why}",
        file=str(source.folder),
        fix="restore the rule or document in the policy folder, then build again",
    )
