"""How a sandbox program starts: as nobody, in its control group from its first moment, with nothing of ours changed."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from support.sandboxes import present, run_inside, strict
from tipstaff.sandbox import cgroup, identity, launch
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.cgroup import Group
from tipstaff.sandbox.launch import spawn
from tipstaff.sandbox.usage import tree

ROOT = pytest.mark.skipif(not identity.is_real_root(), reason="only real root has a uid to shed")
GROUPS = pytest.mark.skipif(
    not any(place.has_threads() for place in cgroup.places()),
    reason="no control group of version 1 can be made here",
)
OWN = ("Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapAmb:")


def in_a_thread(act: Callable[[], Any]) -> Any:
    """What a call gives in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(act).result()


def first_words(file: str, group: Group | None = None) -> list[str]:
    """What a program that ``spawn`` starts reads about itself before anything else."""
    started = spawn(("/bin/cat", f"/proc/self/{file}"), (), fix="", group=group)
    out, _ = started.communicate()
    return str(out, "utf-8").splitlines()


def told(lines: list[str]) -> dict[str, list[str]]:
    """Ids and capabilities of a status file."""
    return {line.split()[0]: line.split()[1:] for line in lines if line.startswith(OWN)}


def own(thread: int | None = None) -> dict[str, list[str]]:
    """The ids and capabilities of one of our threads; of the calling one, if none is named."""
    number = thread or threading.get_native_id()
    return told(Path(f"/proc/self/task/{number}/status").read_text().splitlines())


@ROOT
@pytest.mark.req("S-03")
def test_what_root_starts_has_no_id_group_or_capability_of_roots() -> None:
    seen = told(first_words("status"))
    assert seen["Uid:"] == seen["Gid:"] == ["65534"] * 4
    assert seen["Groups:"] == []
    assert {seen[name][0].strip("0") for name in OWN[3:]} == {""}


@ROOT
def test_the_thread_that_starts_it_is_root_again_and_no_other_was_anything_else() -> None:
    before = own()

    def act() -> tuple[dict[str, list[str]], ...]:
        with pytest.raises(ZeroDivisionError), identity.shed():
            within, first = own(), own(os.getpid())
            raise ZeroDivisionError
        return within, first, own()

    within, first, after = in_a_thread(act)
    assert within["Uid:"] == ["65534", "65534", "0", "65534"]
    assert first == after == before


@ROOT
@pytest.mark.parametrize("file", ["mem", "environ", "fd", "root/etc"])
def test_while_it_starts_no_other_process_of_that_uid_may_look_into_ours(file: str) -> None:
    def act() -> str:
        place = f"/proc/{os.getpid()}/task/{threading.get_native_id()}/{file}"
        with identity.shed():
            return subprocess.run(
                ["/bin/sh", "-c", f"exec < {place}; echo open"],
                stderr=subprocess.STDOUT,
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            ).stdout

    assert "Permission denied" in in_a_thread(act)


@GROUPS
@pytest.mark.req("S-09")
def test_it_is_in_its_group_before_its_first_instruction_and_we_are_not() -> None:
    def act() -> tuple[list[str], set[int], str]:
        with cgroup.group(strict().limits) as made:
            assert made is not None
            lines = first_words("cgroup", made)
            return lines, made.processes(), next(iter(made.folders.values())).name

    before = Path("/proc/self/cgroup").read_text()
    lines, left, name = in_a_thread(act)
    inside = {
        word for line in lines if line.endswith(name) for word in line.split(":")[1].split(",")
    }
    wanted = {word for place in cgroup.places() for word in place.controllers}
    assert wanted <= inside
    assert left == set()
    assert Path("/proc/self/cgroup").read_text() == before


@GROUPS
def test_without_threads_in_groups_a_program_is_moved_in_and_held_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Group, "entered", lambda self: nullcontext())
    seen: list[set[int]] = []
    release = launch.Running._release

    def look(running: launch.Running, spec: RunSpec) -> None:
        assert running.group is not None
        seen.append(running.group.processes() & set(tree(running.supervised.root_pid)))
        release(running, spec)

    monkeypatch.setattr(launch.Running, "_release", look)
    for name in ("bubblewrap", "nsjail"):
        assert run_inside(present(name), "print(1)", tmp_path / name).stdout == "1\n"
        assert seen.pop()


@GROUPS
def test_a_program_that_is_born_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group, "entered", lambda self: nullcontext())
    monkeypatch.setattr(Group, "hold", lambda self, processes: None)
    with pytest.raises(AssertionError):
        test_it_is_in_its_group_before_its_first_instruction_and_we_are_not()


@ROOT
def test_a_program_that_keeps_roots_ids_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "shed", nullcontext)
    with pytest.raises(AssertionError):
        test_what_root_starts_has_no_id_group_or_capability_of_roots()


@pytest.mark.req("S-09")
@pytest.mark.parametrize(("name", "processes"), [("bubblewrap", 1), ("nsjail", 2)])
def test_what_a_sandbox_program_takes_itself_is_not_taken_from_the_command(
    name: str, processes: int, tmp_path: Path
) -> None:
    code = """
import os
try:
    os.fork()
except BlockingIOError:
    print("alone")
"""
    result = run_inside(present(name), code, tmp_path / "in", processes=processes, memory_mb=32)
    assert (result.exit_code, result.stdout) == (0, "alone\n"), result
