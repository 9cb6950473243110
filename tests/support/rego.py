"""Rego evaluated by the real program, from the declared policy and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tipstaff import declared
from tipstaff.pdp.opa import Opa

REVISION = "example"
_BUNDLE = {"tipstaff": {"bundle": {"revision": REVISION, "data_digest": "none"}}}


def evaluate(opa: Opa, query: str, given: Any, folder: Path, *, strict: bool = False) -> Any:
    """The value of a query on one input, with the policy in the revision ``example``; the input may be JSON text."""
    bundle, document = folder / "bundle.json", folder / "input.json"
    bundle.write_text(json.dumps(_BUNDLE))
    document.write_text(given if isinstance(given, str) else json.dumps(given))
    policy = str(declared.folder("policy"))
    options = ["--strict-builtin-errors"] if strict else []
    answer = opa.run(
        ["eval", *options, "-d", policy, "-d", str(bundle), "-i", str(document), query],
        timeout_s=300,
    )
    assert answer.returncode == 0, answer.stdout.decode() + answer.stderr.decode()
    return json.loads(answer.stdout)["result"][0]["expressions"][0]["value"]


def annotations(opa: Opa) -> list[dict[str, Any]]:
    """Every annotation of the policy, with the path of what it is about as a list of names."""
    answer = opa.run(["inspect", "-a", "-f", "json", str(declared.folder("policy"))])
    assert answer.returncode == 0, answer.stderr.decode()
    return [
        {**item, "path": [part["value"] for part in item["path"]]}
        for item in json.loads(answer.stdout)["annotations"]
    ]
