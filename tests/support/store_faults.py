"""What can go wrong with the place that records are kept in, each as it really happens where that can be had.

Each fault is a context: inside it the store of a workshop that worked before does not work.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tipstaff.ledger import writer
from tipstaff.ledger.identity import TRAIL
from tipstaff.pdp.places import witness_folder

Fault = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[object]]


@contextmanager
def small_file_system(state: Path) -> Iterator[None]:
    """The state folder as a small file system of its own."""
    state.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", state)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", state], check=True)


def _mount(*arguments: str | Path) -> None:
    if subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a file system")


@contextmanager
def _full(state: Path, _patch: pytest.MonkeyPatch) -> Iterator[None]:
    with open(state / "filler", "wb", buffering=0) as filler, pytest.raises(OSError):
        while True:
            filler.write(b"x" * 4096)
    yield
    (state / "filler").unlink()


@contextmanager
def _size_limit(state: Path, _patch: pytest.MonkeyPatch) -> Iterator[None]:
    # A limit that git's own small files stay below.
    size = (state / TRAIL).stat().st_size
    with _limit(resource.RLIMIT_FSIZE, size):
        yield


@contextmanager
def _no_descriptors(_state: Path, _patch: pytest.MonkeyPatch) -> Iterator[None]:
    with _limit(resource.RLIMIT_NOFILE, 0):
        yield


@contextmanager
def _limit(kind: int, soft: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def _read_only(folder_of: Callable[[Path], Path]) -> Fault:
    @contextmanager
    def fault(state: Path, _patch: pytest.MonkeyPatch) -> Iterator[None]:
        folder = folder_of(state)
        if os.geteuid() != 0:
            folder.chmod(0o500)
            yield
            folder.chmod(0o700)
            return
        _mount("--bind", folder, folder)
        try:
            _mount("-o", "remount,bind,ro", folder)
            yield
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)

    return fault


def _failing(name: str, act: Callable[[Any, int, Any], Any]) -> Fault:
    """A call on the trail's own descriptor that does something else."""

    @contextmanager
    def fault(state: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
        trail, real = str(state.resolve() / TRAIL), getattr(os, name)

        def call(descriptor: int, *rest: Any) -> Any:
            if os.readlink(f"/proc/self/fd/{descriptor}") == trail:
                return act(real, descriptor, *rest)
            return real(descriptor, *rest)

        with patch.context() as here:
            here.setattr(os, name, call)
            yield

    return fault


def _input_output_error(*_: Any) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _half(write: Any, descriptor: int, data: bytes) -> int:
    return int(write(descriptor, data[: len(data) // 2]))


@contextmanager
def _locked(state: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with (state / TRAIL).open("rb") as file, patch.context() as here:
        fcntl.flock(file, fcntl.LOCK_EX)
        here.setattr(writer, "LOCK_SECONDS", 0.2)
        yield


def _instead(place: Callable[[Path], Path], put: Callable[[Path], object]) -> Fault:
    """Something else where a file was, or nothing."""

    @contextmanager
    def fault(state: Path, _patch: pytest.MonkeyPatch) -> Iterator[None]:
        file = place(state)
        file.rename(file.with_name("was"))
        put(file)
        yield

    return fault


def _trail(state: Path) -> Path:
    return state / TRAIL


def _key(_state: Path) -> Path:
    return witness_folder() / "key.pem"


FAULTS: dict[str, Fault] = {
    "full disk": _full,
    "file size limit": _size_limit,
    "no descriptors left": _no_descriptors,
    "read-only state folder": _read_only(lambda state: state),
    "read-only witness folder": _read_only(lambda _: witness_folder()),
    "failing write": _failing("write", _input_output_error),
    "torn write": _failing("write", _half),
    "failing sync": _failing("fsync", _input_output_error),
    "locked": _locked,
    "key missing": _instead(_key, lambda _: None),
    "key unreadable": _instead(_key, lambda file: file.write_text("no key")),
    "trail gone": _instead(_trail, lambda _: None),
    "trail a folder": _instead(_trail, lambda file: file.mkdir()),
    "trail a pipe": _instead(_trail, os.mkfifo),
    "trail a link": _instead(_trail, lambda file: file.symlink_to("was")),
}
