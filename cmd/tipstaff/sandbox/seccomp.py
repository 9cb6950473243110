"""The system call filter of ``sandbox/seccomp.yaml``, assembled for the kernel (classic BPF, little-endian)."""

from __future__ import annotations

import errno
import platform
import struct
from functools import cache

from pydantic import Field

from tipstaff import declared
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import Contract, SchemaVersion, parse
from tipstaff.errors import SandboxError

_LOAD = 0x20
_IF_EQUAL = 0x15
_IF_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


class Calls(Contract):
    """One architecture: its audit number, the first number of a foreign calling convention, and call numbers."""

    audit: int = Field(ge=0)
    foreign_from: int | None
    socket: int = Field(ge=0)
    denied: dict[str, int]


class Filter(Contract):
    """What ``sandbox/seccomp.yaml`` says."""

    schema_version: SchemaVersion
    families: dict[str, int]
    architectures: dict[str, Calls]


@cache
def program(machine: str | None = None) -> bytes:
    """The filter for a machine (this one, if none is given); raises ``SandboxError`` for one without numbers."""
    machine = machine or platform.machine()
    file = declared.folder("sandbox") / "seccomp.yaml"
    rules = parse(Filter, strict_yaml.load(file), file=str(file))
    calls = rules.architectures.get(machine)
    if calls is None:
        raise SandboxError(
            "sandbox.setup",
            f"there is no system call filter for {machine}",
            fix=f"add its numbers to {file}",
        )
    lines = [_line(_LOAD, _ARCHITECTURE), *_unless_equal(calls.audit, errno.ENOSYS)]
    lines.append(_line(_LOAD, _NUMBER))
    if calls.foreign_from is not None:
        lines += [_line(_IF_AT_LEAST, calls.foreign_from, 0, 1), _refuse(errno.ENOSYS)]
    for number in sorted(calls.denied.values()):
        lines += _if_equal(number, errno.EPERM)
    families = [part for n in rules.families.values() for part in _if_equal(n, errno.EAFNOSUPPORT)]
    lines.append(_line(_IF_EQUAL, calls.socket, 0, len(families) + 1))
    lines += [_line(_LOAD, _FIRST_ARGUMENT), *families]
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _if_equal(value: int, error: int) -> list[bytes]:
    return [_line(_IF_EQUAL, value, 0, 1), _refuse(error)]


def _unless_equal(value: int, error: int) -> list[bytes]:
    return [_line(_IF_EQUAL, value, 1, 0), _refuse(error)]


def _refuse(error: int) -> bytes:
    return _line(_RETURN, _REFUSE | error)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
