"""An OPA whose own decision log is on keeps what policy lists, under our decision's id, and no text from outside."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.cases import a_case
from support.rego import REVISION
from support.sidecars import WIDE_S, wait_until
from tipstaff import declared
from tipstaff.pdp.client import VERDICT, VERDICTS
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.transport import UnixTransport

CANARY = "canary-5d41402abc4b"


def logged(opa: Opa, folder: Path, questions: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines that a real OPA logs of these questions, by path."""
    identity = {"tipstaff": {"bundle": {"revision": REVISION, "data_digest": "none"}}}
    (folder / "bundle.json").write_text(json.dumps(identity))
    argv = [str(opa.path), "run", "--server", "--addr=unix://opa.sock", "--skip-version-check"]
    argv += ["--set=decision_logs.console=true", "--log-level=error"]
    argv += ["--set=decision_logs.mask_decision=/tipstaff/sidecar/mask"]
    argv += [str(declared.folder("policy")), "bundle.json"]
    log = folder / "opa.log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(argv, cwd=folder, env={}, stdout=stream, stderr=stream) as process,
    ):
        try:
            wait_until((folder / "opa.sock").exists)
            (folder / "used").touch()
            transport = UnixTransport(folder / "opa.sock", used=folder / "used")
            for path, question in questions.items():
                body = json.dumps({"input": question}).encode()
                answered = transport.post(f"/v1/data/{path}", body, time.monotonic() + WIDE_S)
                assert answered[0] == 200
            transport.close()
            wait_until(lambda: len(_decisions(log)) == len(questions))
        finally:
            process.kill()
    return _decisions(log)


@pytest.mark.req("AU-06")
def test_line_bears_the_decision_id_and_no_text_from_outside(opa: Opa, tmp_path: Path) -> None:
    document = a_case(f"skills/{CANARY}.md")
    document["subject"]["id"] = CANARY
    document["evidence"]["drift"] = {
        "contracts": [
            {"server": CANARY, "path": CANARY, "status": CANARY, "changes": [], "versions": []}
        ]
    }
    document["evidence"]["tests"]["command"] = f"pytest --token {CANARY}"
    document["context"]["pause"]["switches"] = {"TIPSTAFF_AUTO_EXECUTE_DISABLED": CANARY}
    strange = {"kind": "strange", "resource": {"text": CANARY}, "evidence": {"passed": CANARY}}
    many = {"documents": [document, strange, CANARY]}
    one, two = logged(opa, tmp_path, {VERDICT: document, VERDICTS: many})
    name = document["context"]["decision_id"]
    assert (one["result"]["decision_id"], one["input"]["context"]["decision_id"]) == (name, name)
    assert one["result"]["codes"]
    assert [verdict["decision_id"] for verdict in two["result"]] == [name, "none", "none"]
    assert CANARY not in json.dumps([one, two])


def _decisions(log: Path) -> list[dict[str, Any]]:
    lines = [line for line in log.read_text().split(os.linesep) if line.endswith("}")]
    return [
        found
        for found in map(json.loads, lines)
        if found.get("type") == "openpolicyagent.org/decision_logs"
    ]
