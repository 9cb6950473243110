"""Links and other traps in the input, planted by whoever wrote it: set-up follows none of them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from support.sandboxes import run_inside, snippet, strict
from tipstaff.errors import ContractError
from tipstaff.sandbox.backend import SandboxBackend
from tipstaff.sandbox.tree import content_sha256

PARENTS = (
    "scratch tmp proc dev usr bin lib lib64 etc work copy newroot oldroot dev/shm dev/pts dev/null "
    "root home sys run var opt nix mnt srv"
).split()


@pytest.mark.promise("X3", "BR-27")
def test_three_hundred_planted_links_make_nothing_on_the_host(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "in"
    outside.mkdir()
    inside.mkdir()
    targets = (
        str(outside),
        f"/oldroot{outside}",
        f"/newroot{outside}",
        "../outside",
        f"{outside}/new",
        "/",
    )
    planted = 0
    for number, name in enumerate(PARENTS * 13):
        folder = inside if number < len(PARENTS) else inside / f"below{number // len(PARENTS)}"
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True) if not link.parent.is_symlink() else None
        if link.parent.is_symlink() or link.is_symlink() or link.exists():
            link = folder / f"{link.name}-{number}"
        link.symlink_to(targets[number % len(targets)])
        planted += 1
    assert planted >= 300
    (inside / "snippet.py").touch()
    before, listed = content_sha256(inside), sorted(os.listdir(tmp_path))
    code = "print('ran')"
    (inside / "snippet.py").write_text(code)
    before = content_sha256(inside)
    result = run_inside(backend, code, inside)
    assert result.stdout == "ran\n"
    assert content_sha256(inside) == before
    assert sorted(os.listdir(tmp_path)) == listed
    assert os.listdir(outside) == []


@pytest.mark.req("S-05")
@pytest.mark.parametrize("trap", ["socket", "pipe", "link"])
def test_an_input_through_which_the_host_can_be_reached_is_refused(
    backend: SandboxBackend, tmp_path: Path, trap: str
) -> None:
    spec = snippet("print('ran')", tmp_path / "in", strict())
    if trap == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(spec.workdir / "s"))
    elif trap == "pipe":
        os.mkfifo(spec.workdir / "pipe")
    else:
        spec.workdir.rename(tmp_path / "real")
        spec.workdir.symlink_to(tmp_path / "real")
    with pytest.raises(ContractError) as raised:
        backend.run(spec)
    assert (raised.value.code, raised.value.exit_code) == ("sandbox.input", 2)
