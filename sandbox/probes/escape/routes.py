"""Programs started by routes that a list of forbidden commands does not see; what they can do must stay the same."""

import glob
import os
import shutil
import subprocess
import sys

from tools import LIBC, outside, say, scratch

PAYLOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "payload.py")
PATIENCE_S = 45


def _python():
    return os.path.realpath(sys.executable)


def _run(at, program, environment=None, **more):
    """Run the payload by a route, and say what it said."""
    line = [*program, "-S", "-B", PAYLOAD, outside(at), str(at["trap"])]
    home = {"PYTHONHOME": sys.base_prefix, "PATH": os.environ.get("PATH", "")}
    done = subprocess.run(
        line,
        env={**home, **(environment or {})},
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        **more,
    )
    say(at, done.stdout + done.stderr[-300:])


def direct(at):
    """By its name."""
    _run(at, [_python()])


def by_proc_root(at):
    """By /proc/self/root."""
    _run(at, ["/proc/self/root" + _python()])


def by_copy(at):
    """By a copy under a harmless name."""
    copy = scratch(at, "harmless")
    shutil.copy(_python(), copy)
    os.chmod(copy, 0o755)
    _run(at, [copy])


def by_shell(at):
    """By a shell that puts the name together."""
    _run(at, ["/bin/sh", "-c", 'p="$0"; exec "$p" "$@"', _python()])


def by_loader(at):
    """By the dynamic loader."""
    loaders = (
        glob.glob("/lib64/ld-linux-*.so.*")
        + glob.glob("/lib/ld-*.so.*")
        + glob.glob("/lib/*/ld-linux-*.so.*")
    )
    if not loaders:
        raise OSError("this system has no dynamic loader")
    _run(at, [loaders[0], _python()])


def by_memory(at):
    """By a program that lies in memory alone."""
    name = LIBC.memfd_create(b"harmless", 0)
    with open(_python(), "rb") as source, open(name, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target)
    _run(at, [f"/proc/self/fd/{name}"], pass_fds=(name,))


def by_switches(at):
    """By variables and files that other tools take for a switch of the sandbox."""
    for name in ("tipstaff.yaml", "tipstaff.local.yaml", ".claude/settings.json", ".sandboxrc"):
        path = scratch(at, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"sandbox": {"enabled": false, "profile": "dev", "isolated": false}}\n')
    switches = {
        "TIPSTAFF_SANDBOX": "none",
        "SANDBOX": "0",
        "DANGEROUSLY_DISABLE_SANDBOX": "1",
        "IS_SANDBOX": "1",
    }
    _run(at, [_python()], switches, cwd=scratch(at))
