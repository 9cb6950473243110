"""What a machine is made of, as data: the same everywhere, whether or not it can be started."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.sandboxes import strict
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.microvm import api, job, qemu
from tipstaff.sandbox.microvm.firecracker import Firecracker, jailer_arguments
from tipstaff.sandbox.microvm.images import Place
from tipstaff.sandbox.microvm.machine import plan

SPEC = RunSpec(
    ("prog", "--flag"),
    Path("/input"),
    strict(),
    outputs=("/scratch/out",),
    environment={"A": "b"},
    readonly=(Path("/opt/tool"), Path("/usr/lib/inside")),
)
BACKEND = Firecracker(Path("/opt/fc/firecracker"), strict())


def test_a_machine_has_memory_for_the_job_and_its_folders_and_a_drive_for_each_path() -> None:
    machine = plan(SPEC, channel="vsock:1")
    assert machine.memory_mib == 512 + 3 * 64 + 192
    assert machine.drives == ("drive0", "drive1", "drive2")
    assert machine.boot_args == "console=ttyS0 quiet panic=-1 tipstaff.channel=vsock:1"


@pytest.mark.req("S-04", "S-11")
def test_firecracker_is_told_in_order_and_of_no_network() -> None:
    sent = api.requests(BACKEND.plan(SPEC))
    assert [path for path, _ in sent] == [
        "/machine-config",
        "/boot-source",
        "/drives/drive0",
        "/drives/drive1",
        "/drives/drive2",
        "/vsock",
        "/actions",
    ]
    assert "network" not in json.dumps(sent)
    assert sent[0][1] == {"vcpu_count": 1, "mem_size_mib": 896, "smt": False}
    assert sent[1][1]["kernel_image_path"] == "kernel"
    assert sent[1][1]["boot_args"].endswith("tipstaff.channel=vsock:1024")
    assert sent[-2][1] == {"guest_cid": 3, "uds_path": "vsock"}
    assert sent[-1][1] == {"action_type": "InstanceStart"}


@pytest.mark.req("S-05")
def test_every_drive_is_read_only() -> None:
    for path, body in api.requests(BACKEND.plan(SPEC)):
        assert not path.startswith("/drives/") or body["is_read_only"] is True
    line = qemu.arguments(plan(SPEC, channel="port:x"))
    drives = [word for flag, word in pairwise(line) if flag == "-drive"]
    assert len(drives) == 3
    assert all("readonly=on" in drive for drive in drives)


@pytest.mark.req("S-04", "S-11")
def test_qemu_has_no_device_but_drives_a_port_and_a_console() -> None:
    line = qemu.arguments(plan(SPEC, channel="port:x"))
    assert {"-nodefaults", "-no-user-config", "-no-reboot"} < set(line)
    devices = [word.split(",")[0] for flag, word in pairwise(line) if flag == "-device"]
    assert sorted(set(devices)) == ["virtio-blk-device", "virtio-serial-device", "virtserialport"]
    assert not [word for word in line if "net" in word or "virtfs" in word]
    assert line[line.index("-sandbox") + 1].startswith("on,")


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (None, []),
        (1, ["--cgroup-version", "1", "--cgroup", "memory.limit_in_bytes=1073741824"]),
        (2, ["--cgroup-version", "2", "--cgroup", "memory.max=1073741824"]),
    ],
)
def test_the_jail_drops_root_and_has_namespaces_of_its_own(
    groups: int | None, said: list[str]
) -> None:
    line = jailer_arguments(
        Path("/opt/fc/jailer"),
        Path("/opt/fc/firecracker"),
        Path("/run/jail"),
        "abc",
        memory_mib=896,
        groups=groups,
    )
    outside, _, inside = " ".join(line).partition(" /opt/fc/jailer ")
    assert outside.split()[:2] == ["unshare", "--pid"]
    assert {"--net", "--ipc", "--uts", "--mount-proc", "--kill-child=KILL"} < set(outside.split())
    assert inside == " ".join(
        [
            "--id abc --exec-file /opt/fc/firecracker --uid 65534 --gid 65534",
            "--chroot-base-dir /run/jail --resource-limit no-file=256",
            "--resource-limit fsize=1048576",
            *said,
            "-- --api-sock api.socket --level Error",
        ]
    )


def described(spec: RunSpec) -> dict[str, Any]:
    """The job of a run as the guest reads it."""
    layers = [(b"head", (Place("/", spec.work),))]
    text = job.describe(spec, layers, filter_program=b"\1" * 8, seed=b"s", now=1.5)
    told: dict[str, Any] = json.loads(text)
    return told


@pytest.mark.req("S-09")
def test_the_guest_is_told_every_limit() -> None:
    limits = strict().limits.model_dump()
    told = described(SPEC)["limits"]
    renamed = {"memory_mb": "memory_bytes", "file_size_mb": "file_size_bytes"}
    renamed |= {"scratch_mb": "scratch_bytes"}
    scale = dict.fromkeys(renamed, 1 << 20)
    assert told == {
        renamed.get(name, name): value * scale.get(name, 1) for name, value in limits.items()
    }


@pytest.mark.req("S-05")
def test_the_guest_is_told_no_environment_but_the_profiles_and_the_callers() -> None:
    told = described(SPEC)
    assert told["environment"] == {**strict().environment, "A": "b"}
    assert told["argv"] == ["prog", "--flag"]
    assert told["folder"] == "/work"
    assert base64.b64decode(told["layers"][0]["head"]) == b"head"
    assert told["layers"][0]["places"] == [{"from": "/", "to": "/work"}]


def test_words_of_the_job_cannot_leave_its_frame() -> None:
    hostile = replace(SPEC, argv=('"}\n', "\0\x1b", "\ud7ff"))
    assert described(hostile)["argv"] == list(hostile.argv)
