"""What code inside can reach, judged from the host wherever the host can see it."""

from __future__ import annotations

import json
import os
import platform
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from support.sandboxes import environment, kills_are_counted, run_inside, snippet, strict
from tipstaff.documents import strict_yaml
from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import PROTECTIONS, SandboxBackend
from tipstaff.sandbox.layout import GATEKEEPER

CANARY = "canary-6f1d2c"


@pytest.mark.req("S-04")
def test_a_connection_to_the_host_or_outwards_is_refused(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    name = f"tipstaff-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{name}")
        abstract.listen()
        code = f"""
import json, socket
def tried(family, kind, address):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(1)
            s.connect(address)
        return "connected"
    except OSError as error:
        return error.strerror or "timed out"
print(json.dumps([
    tried(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {tcp.getsockname()[1]})),
    tried(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443)),
    tried(socket.AF_INET, socket.SOCK_DGRAM, ("1.1.1.1", 53)),
    tried(socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700:4700::1111", 443)),
    tried(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
    tried(socket.AF_UNIX, socket.SOCK_STREAM, "\\0{name}"),
]))
"""
        result = run_inside(backend, code, tmp_path / "in")
        for listener in (tcp, abstract):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
    answers = json.loads(result.stdout)
    assert len(answers) == 6
    assert "connected" not in answers


@pytest.mark.req("S-05", "KG-10")
def test_a_write_to_the_input_is_refused_as_read_only(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = """
import errno, json, os
def tried(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        return "written"
    except OSError as error:
        return errno.errorcode[error.errno]
places = "/work/new /work/snippet.py /new /usr/new /etc/new /dev/new /dev/shm/new /scratch/new /tmp/new".split()
print(json.dumps({place: tried(place) for place in places}))
"""
    result = run_inside(backend, code, tmp_path / "in")
    seen = json.loads(result.stdout)
    assert seen.pop("/scratch/new") == "written"
    assert seen.pop("/tmp/new") == seen.pop("/dev/shm/new") == "written"
    assert seen["/work/new"] == seen["/work/snippet.py"] == "EROFS"
    assert set(seen.values()) <= {"EROFS", "EACCES"}
    assert os.listdir(tmp_path / "in") == ["snippet.py"]


@pytest.mark.req("S-05")
def test_the_home_folder_of_the_user_is_not_there(backend: SandboxBackend, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(CANARY)
    code = f"""
import errno, json, os
def tried(path):
    try:
        os.stat(path)
        return "there"
    except OSError as error:
        return errno.errorcode[error.errno]
print(json.dumps([tried(path) for path in ("/root/.ssh", {str(home / ".ssh/id_ed25519")!r}, "/etc/shadow")]))
"""
    with environment(HOME=str(home)):
        result = run_inside(backend, code, tmp_path / "in")
    assert json.loads(result.stdout) == ["ENOENT"] * 3


@pytest.mark.req("S-05", "CV-04")
def test_no_secret_of_the_parent_is_found_anywhere_inside(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(CANARY)
    descriptor = os.open(secret, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    code = """
import json, os
blocks = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        with open(f"/proc/{pid}/{name}", "rb") as file:
            blocks[f"{pid}/{name}"] = file.read().decode()
def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False
numbers = [int(name) for name in os.listdir("/proc/self/fd")]
print(json.dumps({
    "environment": dict(os.environ), "blocks": blocks, "descriptors": [n for n in numbers if is_open(n)],
}))
"""
    try:
        with environment(AWS_SECRET_ACCESS_KEY=CANARY, SSH_AUTH_SOCK=f"/{CANARY}"):
            result = run_inside(backend, code, tmp_path / "in")
    finally:
        os.close(descriptor)
    seen = json.loads(result.stdout)
    assert CANARY not in result.stdout
    assert set(seen["environment"]) == {*strict().environment, "PWD", *_coerced(seen)}
    first = [word.partition("=")[0] for word in seen["blocks"]["1/environ"].split("\0") if word]
    assert set(first) <= {*strict().environment, "PWD"}
    assert seen["descriptors"] == [0, 1, 2]


@pytest.mark.req("S-05")
def test_processes_of_the_host_are_not_seen(backend: SandboxBackend, tmp_path: Path) -> None:
    code = "import os; print([int(n) for n in os.listdir('/proc') if n.isdigit()])"
    result = run_inside(backend, code, tmp_path / "in")
    assert json.loads(result.stdout) in ([1], [1, 2])


@pytest.mark.req("S-05")
def test_new_namespaces_and_devices_are_refused(backend: SandboxBackend, tmp_path: Path) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
for attempt in (
    lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0)),
    lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY),
    lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY),
    lambda: os.open("/dev/tty", os.O_RDWR),
    lambda: os.setuid(0),
):
    try:
        attempt()
        print("done")
    except OSError:
        print("refused")
"""
    result = run_inside(backend, code, tmp_path / "in")
    assert result.stdout.split() == ["-1", "-1", *["refused"] * 5]


def test_calls_and_sockets_that_no_namespace_divides_are_refused(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = f"""
import ctypes, errno, json, socket
calls = {seccomp_calls()!r}
libc = ctypes.CDLL(None, use_errno=True)
refused = []
for name, number in calls.items():
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0) == -1:
        refused.append((name, errno.errorcode[ctypes.get_errno()]))
for family in (40, 17):
    try:
        socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        refused.append((family, errno.errorcode[error.errno]))
print(json.dumps(refused))
"""
    result = run_inside(backend, code, tmp_path / "in")
    seen = [tuple(pair) for pair in json.loads(result.stdout)]
    assert [name for name, _ in seen] == [*seccomp_calls(), 40, 17]
    # gVisor has some calls not at all, and has one answer to whatever is refused.
    if result.kernel == "gvisor":
        assert {error for _, error in seen} == {"EPERM", "ENOSYS"}
    else:
        assert {error for name, error in seen if name in seccomp_calls()} == {"EPERM"}
        assert [error for _, error in seen[-2:]] == ["EAFNOSUPPORT", "EAFNOSUPPORT"]


def test_a_planted_link_makes_nothing_on_the_host(backend: SandboxBackend, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = tmp_path / "in"
    inside.mkdir()
    for number, name in enumerate(("scratch", "tmp", "proc", "dev", "usr", "work", "root", "home")):
        target = outside if number % 2 else Path(f"/oldroot{outside}")
        (inside / name).symlink_to(target)
    before = sorted(os.listdir(inside))
    result = run_inside(backend, "print('ran')", inside)
    assert result.stdout == "ran\n"
    assert sorted(os.listdir(inside)) == sorted([*before, "snippet.py"])
    assert os.listdir(outside) == []


@pytest.mark.req("S-10")
def test_a_result_names_what_held_and_what_ran(backend: SandboxBackend, tmp_path: Path) -> None:
    result = run_inside(
        backend,
        "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)",
        tmp_path / "in",
    )
    assert (result.backend, result.profile, result.isolated) == (backend.name, "strict", True)
    assert set(result.held) == set(PROTECTIONS)
    assert (result.exit_code, result.timed_out, result.truncated, result.limit) == (
        7,
        False,
        False,
        None,
    )
    assert result.oom is (False if kills_are_counted() else None)
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert result.limits == strict().limits
    assert len({result.spec_sha256, result.input_sha256}) == 2
    assert (result.backend_version or "").startswith(f"{backend.name} ")
    assert (result.kernel, result.refused) == (backend.probe().kernel, [])


def test_a_visible_path_that_holds_the_home_is_refused(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    spec = snippet("", tmp_path / "in", strict())
    with environment(HOME=str(tmp_path / "above/home")), pytest.raises(SandboxError) as raised:
        backend.run(replace(spec, readonly=(*spec.readonly, tmp_path / "above")))
    assert raised.value.code == "sandbox.visible_path"


def seccomp_calls() -> dict[str, int]:
    """The calls that the filter's data denies on this machine, by name."""
    rules = strict_yaml.load(Path(__file__).parents[2] / "sandbox/seccomp.yaml")
    return dict(rules["architectures"][platform.machine()]["denied"])


def _coerced(seen: dict[str, dict[str, str]]) -> set[str]:
    """The locale variable that Python itself may add to its own environment."""
    return {"LC_CTYPE"} & set(seen["environment"])


def test_a_command_that_says_it_was_never_started_has_ended_by_itself(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = f"""
import sys
print("{GATEKEEPER}: 1: exec: /work/x: not found\\ngo\\n" + "0" * 32, file=sys.stderr)
sys.exit(127)
"""
    result = run_inside(backend, code, tmp_path / "in")
    assert result.exit_code == 127
    assert GATEKEEPER in result.stderr
