"""The guest's image: our init, built the same everywhere, and the modules its kernel needs, in an order that loads."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.machines import MISSING, REAL_CACHE
from tipstaff import declared
from tipstaff.errors import SandboxError
from tipstaff.sandbox.microvm import guest, initramfs

SOURCE = declared.folder("sandbox") / "guest"
GO_CACHE = str(REAL_CACHE.parent / "go-build")


@pytest.fixture
def _go(monkeypatch: pytest.MonkeyPatch) -> None:
    if "no go" in " ".join(MISSING.values()):
        pytest.skip("no go on PATH")
    monkeypatch.setenv("GOCACHE", os.environ.get("GOCACHE", GO_CACHE))


def module(folder: Path, name: str, depends: str = "") -> Path:
    """A file with a module's note of what it depends on."""
    path = folder / "kernel" / f"{name}.ko"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=x\0")
    return path


def test_modules_come_after_what_they_depend_on(tmp_path: Path) -> None:
    module(tmp_path, "virtio_blk", "virtio,virtio_ring")
    module(tmp_path, "virtio", "virtio_ring")
    module(tmp_path, "virtio_ring")
    module(tmp_path, "virtio-mmio", "virtio-ring,virtio")
    module(tmp_path, "unrelated")
    found = list(initramfs.modules(tmp_path))
    assert found[:2] == ["virtio_ring", "virtio"]
    assert sorted(found[2:]) == ["virtio_blk", "virtio_mmio"]
    assert initramfs.modules(tmp_path / "absent") == {}


def test_modules_that_depend_on_each_other_end(tmp_path: Path) -> None:
    module(tmp_path, "virtio_blk", "virtio")
    module(tmp_path, "virtio", "virtio_blk")
    with pytest.raises(SandboxError) as raised:
        initramfs.modules(tmp_path)
    assert raised.value.code == "sandbox.unavailable"


def entries(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content of each entry of a cpio archive in the kernel's format, in order."""
    found, at = {}, 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        name_end = at + 110 + fields[11]
        name = archive[at + 110 : name_end - 1].decode()
        start = -(-name_end // 4) * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (fields[1], archive[start : start + fields[6]])
        at = -(-(start + fields[6]) // 4) * 4


def test_the_archive_holds_init_a_console_and_the_modules_in_order() -> None:
    found = entries(initramfs.archive(b"init!", {"b": b"1", "a": b"22222"}))
    assert list(found) == [
        "dev",
        "dev/console",
        "init",
        "modules",
        "modules/00-b.ko",
        "modules/01-a.ko",
    ]
    assert found["init"] == (0o100755, b"init!")
    assert found["dev/console"][0] == 0o020600
    assert found["modules/01-a.ko"][1] == b"22222"


@pytest.mark.usefixtures("_go")
def test_the_program_is_the_same_bytes_wherever_it_is_built(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(SOURCE, copy)
    built = guest.build_init(SOURCE)
    assert built == guest.build_init(copy)
    assert built[:4] == b"\x7fELF"


@pytest.mark.usefixtures("_go")
def test_the_guests_own_tests_pass() -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    for line in (("go", "vet", "."), ("go", "test", "-count=1", ".")):
        done = subprocess.run(
            line, cwd=SOURCE, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("_go")
def test_a_program_that_does_not_build_is_named(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module broken\n")
    (tmp_path / "main.go").write_text("package main\nfunc main() { missing() }\n")
    with pytest.raises(SandboxError, match="missing") as raised:
        guest.build_init(tmp_path)
    assert raised.value.code == "sandbox.unavailable"


def test_without_go_it_is_go_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError) as raised:
        guest.build_init(SOURCE)
    assert raised.value.code == "sandbox.unavailable"
    assert "Go" in raised.value.message


def test_the_newest_kernel_of_a_folder_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    boot = tmp_path / "tipstaff/guest/boot"
    boot.mkdir(parents=True)
    for release in ("6.1.0-9-cloud-amd64", "6.1.0-57-cloud-amd64", "5.10.0-99-cloud-amd64"):
        (boot / f"vmlinuz-{release}").touch()
    assert guest.find_kernel() == boot / "vmlinuz-6.1.0-57-cloud-amd64"


def test_a_kernel_that_is_named_and_absent_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(guest.KERNEL_VARIABLE, str(tmp_path / "absent"))
    assert guest.find_kernel() is None
    with pytest.raises(SandboxError) as raised:
        guest.ensure()
    assert raised.value.code == "sandbox.unavailable"
    assert guest.KERNEL_VARIABLE in raised.value.message
