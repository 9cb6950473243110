"""Control groups: found in either version, holding what they say, and not needed for the limits to hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.sandboxes import SPENDERS, hog, kills_are_counted, present, run_inside, strict
from tipstaff.sandbox import cgroup
from tipstaff.sandbox.cgroup import Group
from tipstaff.sandbox.hierarchies import Place, find_places


def unified(top: Path, *folders: str, given: str = "cpu memory pids") -> list[str]:
    """Mount lines of a version 2 hierarchy below ``top`` with these groups."""
    for folder in folders:
        (top / folder).mkdir(parents=True, exist_ok=True)
        (top / folder / "cgroup.subtree_control").write_text(f"{given}\n")
        (top / folder / "cgroup.procs").write_text("")
    return [f"31 23 0:28 / {top} rw,relatime - cgroup2 cgroup2 rw"]


def test_version_one_is_found_controller_by_controller(tmp_path: Path) -> None:
    lines = []
    for name in ("memory", "pids", "cpuset"):
        (tmp_path / name / "own").mkdir(parents=True)
        lines.append(f"32 31 0:29 / {tmp_path / name} rw - cgroup cgroup rw,{name}")
    own = [["4", "memory", "/own"], ["8", "pids", "/"], ["3", "cpuset", "/own"]]
    assert list(find_places(own, lines)) == [
        Place(tmp_path / "memory/own", frozenset({"memory"}), unified=False),
        Place(tmp_path / "pids", frozenset({"pids"}), unified=False),
    ]


def test_version_two_is_used_where_children_have_limits_of_their_own(tmp_path: Path) -> None:
    mounts = unified(tmp_path, "user", "user/app")
    (tmp_path / "user/app/cgroup.subtree_control").write_text("\n")
    [place] = find_places([["0", "", "/user/app"]], mounts)
    assert (place.folder, place.unified) == (tmp_path / "user", True)


@pytest.mark.parametrize("given", ["", "cpu", "memory", "pids"])
def test_version_two_without_the_controllers_is_not_used(tmp_path: Path, given: str) -> None:
    mounts = unified(tmp_path, "user", given=given)
    assert list(find_places([["0", "", "/user"]], mounts)) == []


def test_a_hierarchy_mounted_from_elsewhere_is_not_used(tmp_path: Path) -> None:
    lines = [f"32 31 0:29 /docker/abc {tmp_path} rw - cgroup cgroup rw,memory"]
    assert list(find_places([["4", "memory", "/other"]], lines)) == []
    [place] = find_places([["4", "memory", "/docker/abc"]], lines)
    assert place.folder == tmp_path


def test_a_group_of_version_two_is_limited_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, frozenset({"memory", "pids", "cpuacct"}), unified=True)
    monkeypatch.setattr(cgroup, "places", lambda: (place,))
    made = cgroup._make(512, 64)
    assert made is not None
    [folder] = made.folders.values()
    assert (folder / "memory.max").read_text() == str(512 << 20)
    assert not (folder / "pids.max").exists()
    made.limit_processes()
    assert (folder / "pids.max").read_text() == "64"
    (folder / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    (folder / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    assert (made.oom(), made.cpu_s()) == (True, 2.5)
    (folder / "memory.events").write_text("low 0\n")
    assert made.oom() is None


def test_a_group_of_another_pid_namespace_is_left_alone(tmp_path: Path) -> None:
    place = Place(tmp_path, frozenset({"pids"}), unified=False)
    foreign, broken = tmp_path / "tipstaff-run-1-1-1-ab", tmp_path / "tipstaff-run-nonsense"
    own = tmp_path / f"{cgroup._maker(os.getpid())}-ab"
    stale = tmp_path / f"{cgroup._maker(os.getpid())}0-ab"
    for folder in (foreign, broken, own, stale):
        folder.mkdir()
    cgroup._sweep(place)
    assert sorted(tmp_path.iterdir()) == sorted((foreign, broken, own))


@pytest.mark.skipif(not kills_are_counted(), reason="no control group can be made here")
@pytest.mark.req("S-09", "S-10")
@pytest.mark.parametrize("name", ["bubblewrap", "nsjail"])
def test_memory_of_all_together_is_the_kernels_to_hold(name: str, tmp_path: Path) -> None:
    result = run_inside(present(name), hog(300), tmp_path / "in", memory_mb=128)
    assert (result.exit_code, result.oom, result.limit) in (
        (137, True, "memory_mb"),
        (137, True, None),
    )
    quiet = run_inside(present(name), "print(1)", tmp_path / "in")
    assert quiet.oom is False


@pytest.mark.req("S-09")
@pytest.mark.promise("X6")
@pytest.mark.parametrize("name", ["bubblewrap", "nsjail"])
def test_without_groups_the_supervisor_holds_memory_and_cpu_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "places", lambda: ())
    hogged = run_inside(present(name), hog(300), tmp_path / "in", memory_mb=128)
    assert (hogged.exit_code, hogged.oom, hogged.limit) == (137, True, "memory_mb")
    spent = run_inside(present(name), SPENDERS, tmp_path / "in", cpu_s=1, wall_s=60)
    assert (spent.exit_code, spent.limit) == (137, "cpu_s")
    assert spent.oom is None


@pytest.mark.req("S-09")
def test_a_limit_that_a_backend_cannot_hold_makes_it_unfit_for_strict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tipstaff.sandbox.bubblewrap import backend as bubblewrap
    from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend
    from tipstaff.sandbox.profile import load

    monkeypatch.setattr(BubblewrapBackend, "unenforced", lambda self: ("inodes", "cpu_s"))
    probe = BubblewrapBackend(bubblewrap.programs()[0], strict()).probe()
    assert (probe.available, probe.unenforced) == (False, ("inodes", "cpu_s"))
    assert "inodes, cpu_s" in (probe.reason or "")
    assert BubblewrapBackend(bubblewrap.programs()[0], load("dev")).probe().available


def test_a_group_removes_what_lives_in_it(tmp_path: Path) -> None:
    gone = Group({Place(tmp_path, frozenset(), unified=False): tmp_path / "absent"})
    gone.remove()
    assert gone.processes() == set()
