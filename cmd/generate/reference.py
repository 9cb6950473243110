"""The reference of the policy, and the verdicts on the example documents.

Both are what OPA itself says: ``opa inspect`` reads the annotations, ``opa eval`` answers the examples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tipstaff.authoring.reference import FILE, reference
from tipstaff.documents.base import Json
from tipstaff.pdp.opa import VERSION, Opa, ensure

OVERLAYS = ("cmd/tipstaff/starter/policy", "cmd/tipstaff/starter/examples")
_ROOT = Path(__file__).parents[2]
_EXAMPLES = "contracts/examples"
_BUNDLE = {"tipstaff": {"bundle": {"revision": "example", "data_digest": "none"}}}


def render() -> Iterator[tuple[str, str]]:
    """Each file's path from the repository's root, and its text."""
    opa = ensure(print)
    yield f"policy/{FILE}", reference(opa, _ROOT / "policy", "tipstaff")
    for folder in OVERLAYS:
        yield f"{folder}/{FILE}", reference(opa, _ROOT / folder, "org")
    for example in sorted((_ROOT / _EXAMPLES).glob("*.input.json")):
        name = example.name.replace(".input.", ".verdict.")
        yield f"{_EXAMPLES}/{name}", json.dumps(verdict(opa, example), indent=2) + "\n"


def verdict(opa: Opa, example: Path) -> Json:
    """What the policy says to an example document, as the engine completes it."""
    with TemporaryDirectory(prefix="tipstaff-") as folder:
        bundle = Path(folder, "bundle.json")
        bundle.write_text(json.dumps(_BUNDLE), encoding="utf-8")
        files = ["-d", str(_ROOT / "policy"), "-d", str(bundle), "-i", str(example)]
        query = "data.tipstaff.decision.verdict"
        answer: Json = _run(opa, "eval", "--strict-builtin-errors", *files, query)
    result: Json = answer["result"][0]["expressions"][0]["value"]
    return {**result, "policy": {**result["policy"], "opa_version": VERSION}}


def _run(opa: Opa, *args: str) -> Any:
    answer = opa.run(args, cwd=_ROOT)
    if answer.returncode != 0:
        raise RuntimeError((answer.stdout + answer.stderr).decode())
    return json.loads(answer.stdout)
