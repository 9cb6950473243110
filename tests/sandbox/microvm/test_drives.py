"""Drives hold what a run may see, are made once for each content, and carry no owner of the host."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from support.machines import MISSING
from support.sandboxes import strict
from tipstaff.errors import SandboxError
from tipstaff.sandbox import identity
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.microvm import images
from tipstaff.sandbox.microvm.images import Place

pytestmark = pytest.mark.usefixtures("squashfs")


@pytest.fixture
def squashfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of one's own, and a folder that uid 65534 reaches; a run without mksquashfs says so in its report."""
    if "mksquashfs" in " ".join(MISSING.values()):
        pytest.skip("no mksquashfs on PATH")
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode | 0o055)


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A folder that a run sees at its own place."""
    folder = tmp_path / "tool"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/run").write_text("#!/bin/sh\n")
    (folder / "bin/run").chmod(0o755)
    (folder / "bin/link").symlink_to("run")
    return folder


def spec(work: Path, *readonly: Path, system: tuple[str, ...] = ()) -> RunSpec:
    """A run with few system paths."""
    profile = strict().model_copy(update={"system_paths": list(system)})
    return RunSpec(("true",), work, profile, readonly=readonly)


def listing(image: Path) -> list[str]:
    """What an image holds: mode, owner and name of each entry."""
    shown = subprocess.run(
        ["unsquashfs", "-lln", image], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [line.split() for line in shown if line[:1] in "-dlpsc"]
    return [f"{row[0]} {row[1]} {' '.join(row[5:])}" for row in rows]


def made(run: RunSpec, folder: Path) -> tuple[images.Drive, ...]:
    """The drives of a run whose input is private, as every backend's is."""
    run.workdir.mkdir(exist_ok=True)
    if identity.is_real_root():
        identity.hand_over(run.workdir)
    place = folder / "run"
    place.mkdir(exist_ok=True)
    return images.drives(run, {}, place)


@pytest.mark.req("S-05")
def test_a_drive_holds_exactly_what_is_visible(tool: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/input.txt").write_text("data")
    system, path, work = made(
        spec(tmp_path / "work", tool, system=("/etc/alternatives", "/absent")), tmp_path
    )
    assert system.places == (Place("/etc/alternatives", "/etc/alternatives"),)
    assert path.places == (Place("/", str(tool)),)
    owner = "0/0" if identity.is_real_root() else "65534/65534"
    assert f"-rwxr-xr-x {owner} squashfs-root/bin/run" in listing(path.image)
    assert work.places == (Place("/", "/work"),)
    assert "-rw-r--r-- 65534/65534 squashfs-root/input.txt" in listing(work.image)
    assert work.image.parent == tmp_path / "run"


def test_the_same_content_is_made_once_and_another_anew(tool: Path, tmp_path: Path) -> None:
    run = spec(tmp_path / "work", tool)
    first = made(run, tmp_path)[1].image
    before = first.stat().st_ino
    again = made(run, tmp_path)[1].image
    assert (again, again.stat().st_ino) == (first, before)
    (tool / "bin/run").write_text("#!/bin/dash\n")
    changed = made(run, tmp_path)[1].image
    assert changed != first
    assert not first.exists()


@pytest.mark.req("S-05")
def test_nobody_but_its_owner_changes_an_image(tool: Path, tmp_path: Path) -> None:
    image = made(spec(tmp_path / "work", tool), tmp_path)[1].image
    status = image.stat()
    assert (status.st_uid, status.st_mode & 0o777) == (os.geteuid(), 0o444)


def test_a_single_file_and_a_link_are_drives_too(tool: Path, tmp_path: Path) -> None:
    file, link = tool / "bin/run", tool / "bin/link"
    drives = made(spec(tmp_path / "work", file, link), tmp_path)
    places = [place for drive in drives for place in drive.places]
    assert Place("/run", str(file)) in places
    assert Place("/link", str(link)) in places


def test_pipes_and_sockets_in_the_input_hold_nobody_up(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(work, os.O_PATH)
        listener.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
    drive = made(spec(work), tmp_path)[-1]
    assert [line[0] for line in listing(drive.image) if "root/" in line] == ["p", "s"]


def test_a_name_with_odd_bytes_is_told_from_another(tmp_path: Path) -> None:
    seen = set()
    for name in (b"a\nb", b"a", b"\xff", b"a\0"[:1] + b" "):
        folder = tmp_path / f"f{len(seen)}"
        folder.mkdir()
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"")
        seen.add(images.fingerprint([folder]))
    assert len(seen) == 4


def test_without_its_tool_the_tool_is_named(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tool))
    with pytest.raises(SandboxError) as raised:
        made(spec(tmp_path / "work", tool), tmp_path)
    assert raised.value.code == "sandbox.unavailable"
    assert "mksquashfs" in raised.value.message
    assert raised.value.fix == "install squashfs-tools"


def test_a_failed_image_is_an_error_and_leaves_nothing(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "mksquashfs").write_text("#!/bin/sh\necho full >&2; : > image; exit 1\n")
    (programs / "mksquashfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(SandboxError, match="ended with 1: full") as raised:
        made(spec(tmp_path / "work", tool), tmp_path)
    assert raised.value.code == "sandbox.setup"
    assert [path.name for path in images.folder().iterdir()] == ["lock"]
