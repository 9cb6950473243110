"""What bubblewrap says on ``--json-status-fd``: the first process inside, and how the command ended.

Only a command that really started has an exit code there; a failed set-up has none.
"""

from __future__ import annotations

import json
import os
import select
import time

_MAX_BYTES = 1 << 16


class Status:
    """The reading end of the status pipe; owns the descriptor."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._text = b""
        self.child = 0

    def read_child(self, deadline: float) -> int | None:
        """The host's process id of the first process inside; None if none was reported in time.

        ``deadline`` is a moment of the monotonic clock, in seconds.
        """
        while time.monotonic() < deadline:
            remaining = max(0.0, deadline - time.monotonic())
            if select.select([self._descriptor], [], [], remaining)[0] and not self._more():
                break
            child = self._value("child-pid")
            if child is not None:
                self.child = child
                return child
        return None

    def exit_code(self) -> int | None:
        """The command's exit code, or None if the command never started. Call it after the end."""
        while self._more():
            continue
        return self._value("exit-code")

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._descriptor)

    def _more(self) -> bool:
        try:
            chunk = os.read(self._descriptor, 4096)
        except BlockingIOError:
            return False
        self._text += chunk
        return bool(chunk) and len(self._text) < _MAX_BYTES

    def _value(self, name: str) -> int | None:
        for line in self._text.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and isinstance(value.get(name), int):
                return int(value[name])
        return None
