"""A process killed at any point leaves the user's own tree, index, HEAD and branches as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.git_scene import Scene
from tipstaff.evidence.repository import Repository

_PROGRAM = """
import sys
from pathlib import Path
from tipstaff.evidence.diff import read
from tipstaff.evidence.repository import Repository
print("ready", flush=True)
repository = Repository.open(Path(sys.argv[1]))
diff = Path(sys.argv[2]).read_bytes()
for number in range(100):
    patch = read(repository, diff)
    commit = repository.commit(patch.tree, patch.base, "m", author="a@b")
    name = repository.create_branch("tipstaff/x", commit)
    print(name, flush=True)
"""


@pytest.mark.parametrize("delay_ms", [0, 7, 15, 24, 36, 50, 67, 90, 130, 180, 260])
def test_kill_leaves_everything_of_the_users_untouched(tmp_path: Path, delay_ms: int) -> None:
    scene = Scene(tmp_path / "project", {f"d{n}/f{n}.txt": b"x\n" * n for n in range(60)})
    diff = tmp_path / "fix.patch"
    diff.write_bytes(scene.edit({"d1/f1.txt": b"x\ny\n", "new.md": b"z\n"}))
    scene.write({"d2/f2.txt": b"dirty\n", "staged": b"s\n"})
    scene.git("add", "staged")
    before = scene.fingerprint()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(scene.root), str(diff)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(delay_ms / 1000)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    ours = {key for key in scene.fingerprint() if "tipstaff" in os.fsdecode(_plain(key))}
    after = scene.fingerprint()
    kept = {key: value for key, value in after.items() if key not in ours and key != "refs"}
    assert kept == {key: value for key, value in before.items() if key != "refs"}
    others = [line for line in after["refs"].splitlines() if "refs/heads/tipstaff/" not in line]
    assert others == before["refs"].splitlines()
    scene.git("fsck", "--connectivity-only")
    repository = Repository.open(scene.root)
    assert repository.create_branch("tipstaff/after", repository.resolve("HEAD"))


def _plain(key: str) -> bytes:
    return b"" if key == "refs" else bytes.fromhex(key)
