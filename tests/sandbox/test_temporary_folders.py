"""Private folders do not outlive their makers."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tipstaff.sandbox.folder import temporary_folder

MAKER = """
import time
from tipstaff.sandbox.folder import temporary_folder
with temporary_folder() as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    time.sleep(60)
"""


def test_a_folder_is_gone_after_use() -> None:
    with temporary_folder() as folder:
        (folder / "deep").mkdir()
        assert folder.stat().st_mode & 0o066 == 0
    assert not folder.exists()


def test_what_a_killed_maker_left_goes_at_the_next_use_and_no_sooner() -> None:
    maker = subprocess.Popen([sys.executable, "-c", MAKER], stdout=subprocess.PIPE)
    assert maker.stdout is not None
    try:
        left = Path(os.fsdecode(maker.stdout.readline().rstrip(b"\n")))
        with temporary_folder():
            assert (left / "file").exists()
    finally:
        maker.kill()
        maker.wait()
        maker.stdout.close()
    with temporary_folder():
        assert not left.exists()


def test_a_folder_that_is_just_being_made_is_not_taken_for_left_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock, make = fcntl.flock, tempfile.mkdtemp

    def late(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        with temporary_folder():  # another maker, which sweeps between the lock's file and the lock
            pass
        lock(descriptor, how)

    def made(prefix: str, dir: Path) -> str:
        monkeypatch.setattr(tempfile, "mkdtemp", make)
        monkeypatch.setattr(fcntl, "flock", late)
        return make(prefix=prefix, dir=dir)

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    with temporary_folder() as folder:
        assert folder.is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must look for such a folder")
def test_root_finds_a_folder_that_others_can_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    tmp_path.chmod(0o700)
    with temporary_folder() as folder:
        assert not folder.is_relative_to(tmp_path)
