"""Faults planted in the guest and in the host's side of it: tests of what they break turn red."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.microvm import test_channel, test_guest_runs, test_plans
from sandbox.microvm.test_guest_image import GO_CACHE, SOURCE
from support.machines import MISSING
from support.sandboxes import snippet, strict
from tipstaff.sandbox.microvm import api, channel, guest
from tipstaff.sandbox.microvm.base import MicrovmBackend

IN_THE_PROGRAM = {
    "links are followed": ("collect.go", "0x200000 | syscall.O_NOFOLLOW", "0x200000"),
    "hard links are handed out": ("collect.go", "status.Nlink > 1", "status.Nlink > 9"),
    "only one file is capped": ("collect.go", "b.caps.Total-b.total", "b.caps.Total"),
    "a frame is longer than it says": ("protocol.go", "uint32(len(body)))", "uint32(len(body)-1))"),
    "output is never cut": ("work.go", "min(s.limit-len(s.data), len(chunk))", "len(chunk)"),
    "a signal is a success": ("job.go", "128 + int(status.Signal())", "0"),
}
IN_THE_MACHINE: dict[str, tuple[str, str, str, Callable[[Any], None]]] = {
    "no system call filter": (
        "job.go",
        "confine(job.Filter)",
        "confine([]byte{6, 0, 0, 0, 0, 0, 255, 127})",
        test_guest_runs.test_there_is_no_network_of_any_kind,
    ),
    "rights stay": (
        "job.go",
        "	dropBounds()\n",
        "",
        test_guest_runs.test_the_job_has_no_right_no_terminal_and_only_its_environment,
    ),
    "inodes are not counted": (
        "root.go",
        "nr_inodes=%d,mode=0700",
        "nr_inodes=%d0,mode=0700",
        test_guest_runs.test_limits_of_the_kernel_hold,
    ),
    "devices are not the job's own": (
        "root.go",
        '"null": 3,',
        '"null": 3, "vda": 7,',
        test_guest_runs.test_nothing_is_writable_but_the_jobs_own_folders,
    ),
}


def planted(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the guest's source with one place changed."""
    copy = folder / "guest"
    shutil.copytree(SOURCE, copy)
    text = (copy / file).read_text()
    assert text.count(old) == 1, f"{old} stands {text.count(old)} times in {file}"
    (copy / file).write_text(text.replace(old, new))
    return copy


@pytest.mark.skipif("no go" in " ".join(MISSING.values()), reason="no go on PATH")
@pytest.mark.parametrize("fault", IN_THE_PROGRAM.values(), ids=IN_THE_PROGRAM)
def test_a_fault_in_the_guests_program_fails_its_tests(
    fault: tuple[str, str, str], tmp_path: Path
) -> None:
    copy = planted(tmp_path, *fault)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": GO_CACHE, "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        ("go", "test", "."), cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "--- FAIL" in done.stdout


def test_a_host_that_takes_any_path_fails_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel._Collected, "_note", lambda *_: None)
    with pytest.raises(pytest.fail.Exception):
        test_channel.test_a_hostile_answer_is_an_error_and_no_result(
            test_channel.HOSTILE["a file that nobody asked for"] + test_channel.over()
        )


def test_a_host_that_checks_no_member_fails_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_parse", lambda model, value: model.model_construct(**value))
    with pytest.raises(pytest.fail.Exception):
        test_channel.test_a_hostile_answer_is_an_error_and_no_result(
            test_channel.HOSTILE["an exit code too large"]
        )


def test_a_network_device_or_a_writable_drive_fails_the_plans_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests = api.requests
    device = ("/network-interfaces/eth0", {"iface_id": "eth0", "host_dev_name": "tap0"})
    monkeypatch.setattr(api, "requests", lambda machine: [*requests(machine), device])
    with pytest.raises(AssertionError):
        test_plans.test_firecracker_is_told_in_order_and_of_no_network()
    text = json.dumps(requests(test_plans.BACKEND.plan(test_plans.SPEC)))
    writable = json.loads(text.replace('"is_read_only": true', '"is_read_only": false'))
    monkeypatch.setattr(api, "requests", lambda _machine: writable)
    with pytest.raises(AssertionError):
        test_plans.test_every_drive_is_read_only()


@pytest.mark.nightly
@pytest.mark.parametrize("fault", IN_THE_MACHINE.values(), ids=IN_THE_MACHINE)
def test_a_fault_in_what_boots_fails_the_tests_of_runs(
    fault: tuple[str, str, str, Callable[[Any], None]],
    backend: MicrovmBackend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *change, test = fault
    copy = planted(tmp_path, *change)  # type: ignore[arg-type]
    monkeypatch.setattr(guest, "_source", lambda: copy)
    monkeypatch.setenv("GOCACHE", GO_CACHE)
    spec = snippet(
        test_guest_runs.ATTEMPTS,
        tmp_path / "in",
        strict(file_size_mb=16),
        outputs=test_guest_runs.OUTPUTS,
    )
    result, outputs = backend.run(spec)
    attempted = (result, outputs, json.loads(result.stdout))
    with pytest.raises(AssertionError):
        test(attempted)
