"""What bubblewrap says on ``--json-status-fd``: the first process inside, and how the command ended.

Only a command that really started has an exit code there; a failed set-up has none. It is written to memory, not
to a pipe: bubblewrap would die of a pipe without a reader before it lets its own child go on.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable

from tipstaff.sandbox.layout import READY

_MAX_BYTES = 1 << 16
_POLL_S = 0.0005


class Status:
    """The memory that bubblewrap writes to; owns the descriptor."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("tipstaff-status")
        self.child = 0

    def child_of(self, process: subprocess.Popen[bytes], deadline: float) -> int | None:
        """What ``read_child`` gives, once the first process inside has said that it is there; None if it does not."""
        output = process.stdout
        assert output is not None  # noqa: S101 (it is a pipe)
        ready, _, _ = select.select([output], [], [], max(deadline - time.monotonic(), 0))
        if not ready or os.read(output.fileno(), len(READY)) != READY:
            return None
        return self.read_child(deadline, lambda: process.poll() is not None)

    def read_child(self, deadline: float, has_ended: Callable[[], bool]) -> int | None:
        """The host's process id of the first process inside; None if none was reported in time.

        ``deadline`` is a moment of the monotonic clock, in seconds.
        """
        while time.monotonic() < deadline:
            over = has_ended()
            child = self._value("child-pid")
            if child is not None:
                self.child = child
                return child
            if over:
                break
            time.sleep(_POLL_S)
        return None

    def exit_code(self) -> int | None:
        """The command's exit code, or None if the command never started. Call it after the end."""
        return self._value("exit-code")

    def close(self) -> None:
        """Let the memory go."""
        os.close(self.descriptor)

    def _value(self, name: str) -> int | None:
        for line in os.pread(self.descriptor, _MAX_BYTES, 0).splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and isinstance(value.get(name), int):
                return int(value[name])
        return None
