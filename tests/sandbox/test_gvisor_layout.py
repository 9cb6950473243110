"""What gVisor is told: its arguments and the guest's configuration, as data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.sandboxes import strict
from tipstaff.errors import SandboxError
from tipstaff.sandbox import seccomp
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.gvisor import bundle

SPEC = RunSpec(("/bin/true",), Path("/srv/input"), strict(), readonly=(Path("/opt/tool"),))


def test_the_guest_has_no_network_no_terminal_and_no_rights() -> None:
    config = bundle.config(SPEC)
    process = config["process"]
    assert (process["terminal"], process["noNewPrivileges"], process["capabilities"]) == (
        False,
        True,
        {},
    )
    assert process["user"] == {"uid": 65534, "gid": 65534}
    assert config["root"] == {"path": "/root", "readonly": True}
    assert {"type": "network"} in config["linux"]["namespaces"]
    line = bundle.arguments(SPEC, Path("/opt/runsc"))
    assert {"--network=none", "--platform=systrap", "--host-uds=none"} <= set(line)
    assert "--rootless" not in line


def test_only_three_sized_folders_can_be_written_to() -> None:
    writable = [m for m in bundle.config(SPEC)["mounts"] if "rw" in m["options"]]
    line = bundle.arguments(SPEC, Path("/opt/runsc"))
    sized = [line[i + 3] for i, word in enumerate(line) if word == "--size"]
    assert [m["destination"] for m in writable] == ["/scratch", "/tmp", "/dev/shm"]
    assert [m["source"] for m in writable] == sized
    assert line.count(str(64 << 20)) == 3
    assert "--bind" not in line


def test_the_input_and_the_visible_paths_lie_below_the_guests_read_only_root() -> None:
    line = bundle.arguments(SPEC, Path("/opt/runsc"), {Path("/srv/input"): Path("/tmp/moved/0")})
    joined = " ".join(line)
    assert "--ro-bind /opt/tool /root/opt/tool" in joined
    assert "--ro-bind /tmp/moved/0 /root/work" in joined


def test_the_guests_environment_is_the_profiles_and_nothing_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    given = bundle.config(SPEC)["process"]["env"]
    assert given == sorted(f"{name}={value}" for name, value in strict().environment.items())


def test_the_guests_kernel_refuses_what_a_hosts_filter_refuses() -> None:
    rules = bundle.config(SPEC)["linux"]["seccomp"]["syscalls"]
    assert rules[0]["names"] == sorted(seccomp.denied())
    assert sum(rule["names"] == ["clone"] for rule in rules) == 7


def test_every_limit_of_a_process_is_in_the_configuration() -> None:
    given = {limit["type"]: limit["soft"] for limit in bundle.config(SPEC)["process"]["rlimits"]}
    assert given == {
        "RLIMIT_CPU": 30,
        "RLIMIT_DATA": 512 << 20,
        "RLIMIT_NOFILE": 256,
        "RLIMIT_FSIZE": 32 << 20,
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
    }


def test_a_visible_path_that_would_cover_the_layout_is_refused() -> None:
    with pytest.raises(SandboxError) as caught:
        bundle.arguments(replace(SPEC, readonly=(Path("/proc"),)), Path("/opt/runsc"))
    assert caught.value.code == "sandbox.visible_path"
