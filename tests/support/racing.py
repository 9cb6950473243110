"""Children of this process that all act at once, or are killed in the middle of an act."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tipstaff.errors import Error


def race(acts: Sequence[Callable[[], object]]) -> list[tuple[str, int]]:
    """Each act in a child of its own, all let go at once; the code and exit code of its error, or ``("done", 0)``."""
    gate, opener = os.pipe()
    children = []
    for act in acts:
        answer, teller = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(opener)
            os.read(gate, 1)
            os.write(teller, _outcome(act))
            os._exit(0)
        os.close(teller)
        children.append((pid, answer))
    os.close(gate)
    os.close(opener)
    ends = []
    for pid, answer in children:
        with os.fdopen(answer) as stream:
            code, _, number = stream.read().partition(" ")
        os.waitpid(pid, 0)
        ends.append((code, int(number)))
    return sorted(ends)


def _outcome(act: Callable[[], object]) -> bytes:
    try:
        act()
    except Error as error:
        return f"{error.code} {error.exit_code}".encode()
    except BaseException as error:
        return f"{type(error).__name__} 70".encode()
    return b"done 0"


def killed_while_writing(act: Callable[[], object], file: Path, kept: int) -> None:
    """The act in a child that is killed when it writes to the file, of which only so many bytes arrive."""
    pid = os.fork()
    if pid == 0:
        real = os.write

        def write(descriptor: int, data: Any) -> int:
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                real(descriptor, data[:kept])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(descriptor, data)

        os.write = write
        try:
            act()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
