"""One fault planted against each limit and each choice: a test of it turns red."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.sandboxes import present
from tipstaff.documents import config
from tipstaff.errors import Error
from tipstaff.sandbox import cgroup, launch, mounts, process, run, seccomp, selection
from tipstaff.sandbox.nsjail import layout as nsjail_layout
from traceability.test_planted_faults import module

Plant = Callable[[pytest.MonkeyPatch], None]
LIMITS, ISOLATION = "sandbox/test_limits.py", "sandbox/test_isolation.py"
CGROUPS, ORDER, LEFT = (
    "sandbox/test_cgroups.py",
    "sandbox/test_order.py",
    "sandbox/test_left_behind.py",
)
GROUPS = "test_without_groups_the_supervisor_holds_memory_and_cpu_time"


def without(owner: Any, name: str, value: Any) -> Plant:
    """A part that is replaced by one that does nothing."""
    return lambda patch: patch.setattr(owner, name, value)


def unlimited(patch: pytest.MonkeyPatch) -> None:
    """Neither the kernel's limits nor a group."""
    patch.setattr(launch, "restrict", lambda pid, limits: None)
    patch.setattr(cgroup, "places", lambda: ())


def with_endless_tmpfs(patch: pytest.MonkeyPatch) -> None:
    """tmpfs folders that are not bounded, and that nobody looks at."""
    sound = nsjail_layout.config
    patch.setattr(
        nsjail_layout,
        "config",
        lambda *rest: sound(*rest).replace("nr_inodes=500", "nr_inodes=50000"),
    )
    patch.setattr(process._Watch, "check_folders", lambda self: False)


# Which plant, the test that has to notice, and what it is given.
FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "X6: processes without a limit": (
        unlimited,
        LIMITS,
        "test_a_fork_bomb_of_200_is_capped_at_64",
        {"backend": "nsjail"},
    ),
    "X6: files without a limit": (
        unlimited,
        LIMITS,
        "test_open_files_are_limited",
        {"backend": "bubblewrap"},
    ),
    "X6: inodes that nobody counts": (
        with_endless_tmpfs,
        LIMITS,
        "test_a_flood_of_files_fills_no_more_than_its_own_folder",
        {"backend": "nsjail"},
    ),
    "X6: usage that nobody measures": (
        without(process._Watch, "_used_up", lambda self, root: None),
        CGROUPS,
        GROUPS,
        {"name": "bubblewrap"},
    ),
    "S-09: a limit that is not held, and a backend that counts all the same": (
        without(
            run.ProbedBackend,
            "probe",
            lambda self: dataclasses.replace(self._probe, available=True),
        ),
        CGROUPS,
        "test_a_limit_that_a_backend_cannot_hold_makes_it_unfit_for_strict",
        {},
    ),
    "X7: groups of dead makers stay": (
        without(cgroup, "_sweep", lambda place: None),
        CGROUPS,
        "test_a_group_of_another_pid_namespace_is_left_alone",
        {},
    ),
    "X7: groups are not taken away": (
        without(cgroup.Group, "remove", lambda self: None),
        LEFT,
        "test_runs_in_parallel_leave_no_group_folder_mount_or_zombie",
        {"name": "bubblewrap"},
    ),
    "S-02: the weakest first": (
        without(selection, "KINDS", tuple(reversed(selection.KINDS))),
        ORDER,
        "test_a_backend_that_is_left_out_does_not_run",
        {},
    ),
    "S-02: any order will do": (
        without(
            selection,
            "parse",
            lambda _model, value: config.SandboxSettings.model_construct(**value),
        ),
        ORDER,
        "test_another_order_is_refused_and_the_right_one_named",
        {"order": ("nsjail", "bubblewrap")},
    ),
    "S-05: a filter that refuses nothing": (
        without(seccomp, "kafel", lambda _machine: "ERRNO(1) { SYSCALL[101] } DEFAULT ALLOW"),
        ISOLATION,
        "test_calls_and_sockets_that_no_namespace_divides_are_refused",
        {"backend": "nsjail"},
    ),
    "X3: mounts that nobody looks at": (
        without(mounts, "check", lambda pid, spec: None),
        "sandbox/test_probe_teeth.py",
        "test_a_writable_mount_is_seen_from_outside_before_the_command_starts",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    if "groups are not" in fault and not cgroup.places():
        pytest.skip("no control group can be made here")
    plant, path, name, values = FAULTS[fault]
    found = module(path)
    given = {"monkeypatch": monkeypatch, "tmp_path": tmp_path, **values}
    if "backend" in given:
        given["backend"] = present(given["backend"])
    if fault.startswith("X3"):
        given["fault"] = found.writable_work
    test: Callable[..., None] = getattr(found, name)
    code = test.__code__
    plant(monkeypatch)
    with pytest.raises(
        (AssertionError, Error, ValueError, KeyError, IndexError, pytest.fail.Exception)
    ):
        test(**{key: given[key] for key in code.co_varnames[: code.co_argcount]})
