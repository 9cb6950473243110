"""The guest boots and runs jobs; nothing that a job does reaches past it, and every limit holds inside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.sandboxes import comes_true, processes_with, run_inside, snippet, strict
from tipstaff.errors import SandboxError
from tipstaff.sandbox.microvm.base import MicrovmBackend

TESTS = Path(__file__).parents[2]

# What one job tries, so that one machine answers for all of it.
ATTEMPTS = r"""
import errno, json, os, socket, stat, sys

def refused(act, *arguments):
    try:
        act(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def write(path):
    with open(path, "w") as file:
        file.write("x")

def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as peer:
        peer.settimeout(1)
        peer.connect(address)

def fill(path, size):
    with open(path, "wb") as file:
        while True:
            file.write(b"x" * size)

def count(act):
    number = 0
    try:
        while number < 10000:
            act(number)
            number += 1
    except OSError as error:
        return number, errno.errorcode[error.errno]
    return number, "no end"

def fork(number):
    if os.fork() == 0:
        import time
        time.sleep(60)

with open("/proc/self/status") as file:
    status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
seen = {
    "interfaces": sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else [],
    "network": [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line],
    "inet": refused(connect, socket.AF_INET, ("192.0.2.1", 9)),
    "loopback": refused(connect, socket.AF_INET, ("127.0.0.1", 9)),
    "vsock": refused(connect, 40, (2, 1024)),
    "writes": {path: refused(write, path) for path in (
        "/work/x", "/usr/x", "/x", "/dev/x", "/etc/x", "/proc/sys/kernel/hostname")},
    "devices": sorted(os.listdir("/dev")),
    "node": refused(os.mknod, "/tmp/node", stat.S_IFBLK | 0o600, os.makedev(254, 0)),
    "mount": refused(os.chroot, "/tmp"),
    "status": {k: status[k] for k in ("Uid", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")},
    "environment": sorted(os.environ),
    "hostname": os.uname().nodename,
    "terminal": refused(os.open, "/dev/tty", os.O_RDWR),
    "input": sorted(os.listdir("/work")),
    "owner": os.stat("/work/snippet.py").st_uid,
}
seen["inodes"] = count(lambda n: os.close(os.open(f"/tmp/{n}", os.O_CREAT, 0o600)))
for name in os.listdir("/tmp"):
    os.unlink("/tmp/" + name)
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
seen["file_size"] = refused(fill, "/scratch/large", 1 << 20), os.path.getsize("/scratch/large") >> 20
os.unlink("/scratch/large")
seen["scratch"] = count(lambda n: write(f"/scratch/{n}") or os.truncate(f"/scratch/{n}", 0) or
    open(f"/scratch/{n}", "wb").write(b"x" * (8 << 20)))
for name in os.listdir("/scratch"):
    os.unlink("/scratch/" + name)
opened = []
seen["open_files"] = count(lambda n: opened.append(os.open("/dev/null", os.O_RDONLY)))
for descriptor in opened:
    os.close(descriptor)
seen["processes"] = count(fork)
with open("/scratch/plain", "w") as file:
    file.write("handed out")
os.symlink("/scratch/plain", "/scratch/link")
os.mkfifo("/scratch/pipe")
os.mkdir("/scratch/folder")
write("/scratch/folder/inner")
os.symlink("/etc", "/scratch/folder/away")
print(json.dumps(seen))
sys.stdout.flush()
sys.stderr.write("e" * (3 << 20))
sys.stderr.flush()
os._exit(7)
"""
OUTPUTS = tuple(f"/scratch/{name}" for name in ("plain", "link", "pipe", "folder", "absent"))


@pytest.fixture(scope="module")
def attempted(
    backend: MicrovmBackend, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, dict[str, bytes], dict[str, Any]]:
    """The result of the one job, its outputs, and what it saw."""
    folder = tmp_path_factory.mktemp("attempts") / "in"
    spec = snippet(ATTEMPTS, folder, strict(file_size_mb=16), outputs=OUTPUTS)
    result, outputs = backend.run(spec)
    assert result.stdout, result.stderr[-2000:]
    return result, outputs, json.loads(result.stdout)


@pytest.mark.req("S-03", "S-10")
@pytest.mark.promise("X1", "X10")
def test_the_probe_holds_in_the_guest_and_says_whose_kernel_it_was(backend: MicrovmBackend) -> None:
    probe = backend.probe()
    assert probe.available, probe.reason
    assert probe.kernel == "guest"
    assert set(strict().required_protections) <= set(probe.held)
    assert probe.unenforced == ()
    assert probe.version


@pytest.mark.req("S-10")
def test_the_result_is_the_jobs_own(attempted: Any) -> None:
    result, _, _ = attempted
    assert (result.exit_code, result.timed_out, result.oom) == (7, False, False)
    assert result.kernel == "guest"
    assert result.isolated


@pytest.mark.req("S-04", "S-11")
@pytest.mark.promise("X1")
def test_there_is_no_network_of_any_kind(attempted: Any) -> None:
    _, _, seen = attempted
    assert seen["network"] == ["lo"]
    assert seen["interfaces"] in ([], ["lo"])
    assert (seen["inet"], seen["loopback"]) == ("ENETUNREACH", "ENETUNREACH")
    assert seen["vsock"] == "EAFNOSUPPORT"


@pytest.mark.req("S-05")
@pytest.mark.promise("X1")
def test_nothing_is_writable_but_the_jobs_own_folders(attempted: Any) -> None:
    _, _, seen = attempted
    assert set(seen["writes"].values()) <= {"EROFS", "EACCES"}
    assert not [name for name in seen["devices"] if name.startswith(("vd", "vport", "tty", "hvc"))]
    assert (seen["node"], seen["mount"]) == ("EPERM", "EPERM")
    assert seen["input"] == ["snippet.py"]


@pytest.mark.req("S-05")
@pytest.mark.promise("X1")
def test_the_job_has_no_right_no_terminal_and_only_its_environment(attempted: Any) -> None:
    _, _, seen = attempted
    nothing = "0" * 16
    assert seen["status"] == {
        "Uid": "65534\t65534\t65534\t65534",
        **dict.fromkeys(("CapPrm", "CapEff", "CapBnd"), nothing),
        "NoNewPrivs": "1",
        "Seccomp": "2",
    }
    assert seen["terminal"] in ("ENOENT", "ENXIO")
    assert seen["environment"] == sorted(strict().environment)
    assert (seen["hostname"], seen["owner"]) == ("sandbox", 65534)


@pytest.mark.req("S-09")
@pytest.mark.promise("row 95")
def test_limits_of_the_kernel_hold(attempted: Any) -> None:
    _, _, seen = attempted
    limits = strict().limits
    assert seen["inodes"][1] == "ENOSPC"
    assert limits.inodes - 3 <= seen["inodes"][0] <= limits.inodes
    assert seen["file_size"] == ["EFBIG", 16]
    assert seen["scratch"] == [limits.scratch_mb // 8 - 1, "ENOSPC"] or seen["scratch"] == [
        limits.scratch_mb // 8,
        "ENOSPC",
    ]
    assert seen["open_files"][1] == "EMFILE"
    assert seen["open_files"][0] < limits.open_files
    assert seen["processes"][1] == "EAGAIN"
    assert 0 < seen["processes"][0] < limits.processes


@pytest.mark.req("S-09", "S-10")
def test_output_over_its_limit_is_cut_and_said(attempted: Any) -> None:
    result, _, _ = attempted
    assert result.truncated
    assert result.stderr == "e" * strict().limits.output_bytes


@pytest.mark.req("S-05")
def test_only_regular_files_cross_the_border(attempted: Any) -> None:
    result, outputs, _ = attempted
    assert outputs == {"/scratch/plain": b"handed out", "/scratch/folder/inner": b"x"}
    assert {one.path.removeprefix("/scratch/"): one.reason for one in result.refused} == {
        "absent": "is not there",
        "folder/away": "is a link",
        "link": "is a link",
        "pipe": "is a named pipe",
    }


@pytest.mark.req("S-04", "S-09", "S-10")
@pytest.mark.promise("row 95")
def test_at_the_wall_limit_the_whole_tree_is_ended(backend: MicrovmBackend, tmp_path: Path) -> None:
    code = "import os, time; print('up', flush=True); os.fork() or os.setsid(); time.sleep(90)"
    begun = time.monotonic()
    result = run_inside(backend, code, tmp_path / "in", wall_s=4)
    assert (result.exit_code, result.timed_out, result.limit) == (124, True, "wall_s")
    assert result.stdout in ("up\n", "")
    assert time.monotonic() - begun < 80


@pytest.mark.req("S-09")
@pytest.mark.promise("row 95")
def test_cpu_time_of_many_processes_is_counted_together(
    backend: MicrovmBackend, tmp_path: Path
) -> None:
    code = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
    result = run_inside(backend, code, tmp_path / "in", cpu_s=3, wall_s=60)
    assert (result.exit_code, result.timed_out, result.limit) == (137, False, "cpu_s")


@pytest.mark.req("S-04", "S-09")
@pytest.mark.promise("row 95")
def test_memory_of_many_processes_is_counted_together_and_running_out_is_said(
    backend: MicrovmBackend, tmp_path: Path
) -> None:
    code = """
import os, time
for _ in range(3):
    os.fork()
block = bytearray(30 << 20)
for page in range(0, len(block), 4096):
    block[page] = 1
time.sleep(30)
print("got it")
"""
    result = run_inside(backend, code, tmp_path / "in", memory_mb=96)
    assert (result.exit_code, result.oom, result.limit) == (137, True, "memory_mb")
    assert "got it" not in result.stdout


@pytest.mark.req("S-10")
def test_a_command_that_does_not_exist_is_a_set_up_failure(
    backend: MicrovmBackend, tmp_path: Path
) -> None:
    spec = replace(snippet("", tmp_path / "in", strict()), argv=("no-such-command",))
    with pytest.raises(SandboxError, match="no-such-command cannot be started") as raised:
        backend.run(spec)
    assert (raised.value.code, raised.value.exit_code) == ("sandbox.setup", 3)


@pytest.mark.promise("X1", "row 103")
def test_a_killed_tipstaff_takes_its_machine_along(backend: MicrovmBackend, tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from support.machines import machine
from support.sandboxes import snippet, strict
machine({backend.name!r})._as_somebody(snippet("import time; time.sleep(90)", Path({str(tmp_path / "in")!r}), strict()))
"""
    hypervisor = {"qemu-microvm": "qemu-system", "firecracker": "firecracker"}[backend.name]
    before = set(processes_with(hypervisor))
    path = os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))
    launcher = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        assert comes_true(lambda: set(processes_with(hypervisor)) - before != set(), within_s=60)
        launcher.send_signal(signal.SIGKILL)
    finally:
        launcher.kill()
        launcher.wait()
    assert comes_true(lambda: set(processes_with(hypervisor)) <= before, within_s=20)
