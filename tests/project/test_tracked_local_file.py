"""Whether git tracks the local file, asked of git as every other question is: nothing of the repository runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.repositories import commit, write
from tipstaff.project import LOCAL_FILE, Project

_LOCAL = {LOCAL_FILE: "schema_version: 1\n"}


def test_local_file_that_is_committed_is_tracked(repository: Path) -> None:
    write(repository, _LOCAL)
    assert not Project.find(repository).local_tracked
    commit(repository, "commit what is one person's")
    assert Project.find(repository).local_tracked


def test_local_file_outside_a_repository_is_not_tracked(tmp_path: Path) -> None:
    write(tmp_path, _LOCAL)
    assert not Project.find(tmp_path).local_tracked


def test_program_that_the_repository_configures_never_runs(
    repository: Path, tmp_path: Path
) -> None:
    program, mark = tmp_path / "monitor", tmp_path / "it-ran"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    subprocess.run(["git", "-C", repository, "config", "core.fsmonitor", str(program)], check=True)
    write(repository, _LOCAL)
    Project.find(repository)
    assert not mark.exists()
    subprocess.run(["git", "-C", repository, "status"], check=True, capture_output=True)
    assert mark.exists()
