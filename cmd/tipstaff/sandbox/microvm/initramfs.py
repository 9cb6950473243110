"""The guest's first file system: a cpio archive of our init, and of what kernel modules it has to load."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tipstaff.errors import SandboxError

# What the guest needs of its kernel; a kernel that has all of it built in brings no modules.
WANTED = (
    "virtio_mmio",
    "virtio_blk",
    "virtio_console",
    "squashfs",
    "vmw_vsock_virtio_transport",
)
_DEPENDS = re.compile(rb"\0depends=([\w,-]*)\0")
_MAGIC = b"070701"
_TRAILER = "TRAILER!!!"


def modules(folder: Path, wanted: Iterable[str] = WANTED) -> dict[str, Path]:
    """The modules below ``folder`` that bring what is wanted, each after what it depends on.

    What is no module there is taken to be built in.
    """
    files = {file.stem.replace("-", "_"): file for file in sorted(folder.rglob("*.ko"))}
    needs: dict[str, list[str]] = {}
    waiting = [name for name in wanted if name in files]
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs[name] = [other for other in _depends(files[name]) if other in files]
            waiting += needs[name]
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise SandboxError(
            "sandbox.unavailable",
            f"the kernel's modules in {folder} depend on each other in a circle",
            fix="name another kernel",
        ) from error
    return {name: files[name] for name in order}


def archive(init: bytes, kernel_modules: Mapping[str, bytes]) -> bytes:
    """The archive, uncompressed, the same bytes for the same input; modules are loaded in their order here."""
    parts = [
        _entry("dev", stat.S_IFDIR | 0o755),
        _entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1)),
        _entry("init", stat.S_IFREG | 0o755, init),
        _entry("modules", stat.S_IFDIR | 0o755),
    ]
    for number, (name, data) in enumerate(kernel_modules.items()):
        parts.append(_entry(f"modules/{number:02}-{name}.ko", stat.S_IFREG | 0o644, data))
    parts.append(_entry(_TRAILER, 0))
    return b"".join(parts)


def _depends(module: Path) -> Iterator[str]:
    match = _DEPENDS.search(module.read_bytes())
    for name in match[1].split(b",") if match else ():
        if name:
            yield name.decode("ascii").replace("-", "_")


def _entry(name: str, mode: int, data: bytes = b"", *, device: tuple[int, int] = (0, 0)) -> bytes:
    path = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path), 0)
    head = _MAGIC + b"".join(b"%08x" % field for field in fields) + path
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
