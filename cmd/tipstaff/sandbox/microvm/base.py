"""What every machine shares: its files in one folder, the guest's answer, and the end of both."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tipstaff.errors import SandboxError
from tipstaff.sandbox import identity, seccomp
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.microvm import guest, images, job
from tipstaff.sandbox.microvm.channel import Patience, converse
from tipstaff.sandbox.microvm.machine import INITRAMFS, KERNEL, Machine
from tipstaff.sandbox.microvm.started import Started, listening, met
from tipstaff.sandbox.run import Finished, ProbedBackend, Start

_SEED_BYTES = 64


class MicrovmBackend(ProbedBackend):
    """Runs each command in a machine of its own that boots, runs it, and is thrown away."""

    patience: Patience
    meeting_place: str

    @abstractmethod
    def plan(self, spec: RunSpec) -> Machine:
        """The machine for a run. Pure."""

    @abstractmethod
    def home(self, folder: Path) -> Path:
        """The folder, below a run's own, that the machine is started in and sees its files in."""

    @abstractmethod
    @contextmanager
    def start(self, program: Path, machine: Machine, home: Path) -> Iterator[Started]:
        """Start a machine whose files lie in ``home``; raises ``SandboxError``."""

    def check(self) -> None:
        """Raise ``SandboxError`` where this machine cannot start anyway, before anything is made for it."""

    def finish(self, start: Start) -> Finished:
        """See ``ProbedBackend.finish``."""
        self.check()
        files = guest.ensure()
        spec = start.spec
        machine = self.plan(spec)
        with ExitStack() as stack:
            folder = stack.enter_context(temporary_folder())
            drives = images.drives(spec, start.sources or {}, folder)
            home = self.home(folder)
            home.mkdir(parents=True, exist_ok=True)
            names = {KERNEL: files.kernel, INITRAMFS: files.initramfs}
            names |= dict(zip(machine.drives, (drive.image for drive in drives), strict=True))
            stack.enter_context(_shelved(names, home))
            listener = stack.enter_context(listening(home, self.meeting_place))
            told = job.describe(
                spec,
                [(drive.head(), drive.places) for drive in drives],
                filter_program=seccomp.program(),
                seed=os.urandom(_SEED_BYTES),
                now=time.time(),
            )
            running = stack.enter_context(self.start(start.program, machine, home))
            channel = stack.enter_context(
                met(listener, running, start.is_cancelled, within_s=self.patience.boot_s)
            )
            try:
                return converse(channel, spec, told, self.patience)
            except SandboxError as error:
                raise _with_words(error, running.last_words) from error


def _with_words(error: SandboxError, last_words: Callable[[], str]) -> SandboxError:
    words = last_words()
    message = f"{error.message} (its console: {words})" if words else error.message
    return SandboxError(error.code, message, fix=error.fix)


@contextmanager
def _shelved(files: Mapping[str, Path], home: Path) -> Iterator[None]:
    """Show files in a folder under their names; as root, by mounts, so that uid 65534 reaches them."""
    if not identity.is_real_root():
        for name, path in files.items():
            (home / name).symlink_to(path)
        yield
        return
    os.chown(home, identity.NOBODY, identity.NOBODY)
    with identity.staged(list(files.values()), home) as places:
        for name, path in files.items():
            (home / name).symlink_to(places[path].name)
        yield
