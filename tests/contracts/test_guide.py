"""The guide to contracts is followed, command by command, with a published server and its upgrade."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.published import Published
from support.readme import ROOT, commands
from support.sarif import demand_valid

GUIDE = ROOT / "policy" / "CONTRACTS.md"
OLD, NEW = Published("time", "0.6.2"), Published("time", "2026.10.19")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder at the head of the path, with Tipstaff's own program."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "tipstaff").symlink_to(Path(sys.executable).parent / "tipstaff")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def follow(chapter: str, root: Path, **words: str) -> str:
    """Run a chapter's lines, each with the exit code that it announces; what they print."""
    said = ""
    for command, code in commands(chapter, GUIDE):
        line = command
        for name, word in words.items():
            line = line.replace(name, word)
        done = subprocess.run(
            ["bash", "-c", line], cwd=root, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, f"{line}\n{done.stdout}\n{done.stderr}"
        said += done.stdout + done.stderr
    return said


@pytest.mark.usefixtures("published")
def test_guide_does_what_it_says(project: Path, programs: Path) -> None:
    server = programs / "mcp-server-time"
    server.symlink_to(OLD.program)
    follow("pin", project)
    assert "time: unchanged" in follow("check", project)
    server.unlink()
    server.symlink_to(NEW.program)
    said = follow("drift", project)
    assert "get_current_time/description  description_changed" in said
    log = json.loads((project / "drift.sarif").read_text())
    demand_valid(log)
    lines = (project / "contracts/time.mcpc.json").read_text().splitlines()
    [changed] = [
        one for one in log["runs"][0]["results"] if one["ruleId"] == "contract.description_changed"
    ]
    place = changed["locations"][0]["physicalLocation"]
    assert "specific timezones" in lines[place["region"]["startLine"] - 1]
    digests = re.findall(r"accept time --digest ([0-9a-f]{64})", said)
    said = follow("accept", project, DIGEST=digests[-1])
    assert "contracts/time.mcpc.json" in said
    assert "time: unchanged" in said
