"""What a sandbox really mounted, read from outside before the command starts: nothing may be writable but its own."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.layout import DEVICES, TMPFS

_ESCAPED = re.compile(r"\\([0-7]{3})")
_OF_THE_KERNEL = {"proc", "devpts", "mqueue"}


def check(pid: int, spec: RunSpec) -> None:
    """Raise ``SandboxError`` for a mount of the process that could be written and is not the sandbox's own."""
    strangers = writable(Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8"))
    if strangers:
        raise SandboxError(
            "sandbox.setup",
            f"a host's file system is mounted writable inside, at {strangers[0]}",
            fix="make that mount read-only on the host, or keep it out of the folders that runs see: "
            + ", ".join(map(str, (*spec.profile.system_paths, *spec.readonly))),
        )


def writable(mountinfo: str) -> list[str]:
    """The places in a mount table that can be written, without the tmpfs folders and devices of the layout."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        place, options = before.split()[4:6]
        if "rw" not in options.split(","):
            continue
        place = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), place)
        kind = after.split()[0]
        own = (kind == "tmpfs" and place in TMPFS) or place in DEVICES or kind in _OF_THE_KERNEL
        if not own:
            found.append(str(PurePosixPath(place)))
    return found
