"""The system call filter of ``sandbox/seccomp.yaml``: assembled for the kernel, and as a Kafel policy.

The kernel takes classic BPF, little-endian. Both forms refuse the same; on calls of another machine's, such as a 32-bit
program's, Kafel ends the process where the assembled filter returns an error.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import Field

from tipstaff import declared
from tipstaff.documents import strict_yaml
from tipstaff.documents.base import Contract, SchemaVersion, parse
from tipstaff.errors import SandboxError

_LOAD = 0x20
_IF_EQUAL = 0x15
_IF_AT_LEAST = 0x35
_IF_ANY_BIT = 0x45
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
_INT = 0xFFFFFFFF
_FOREIGN_CALLS = 1024  # more than that convention has
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


class Calls(Contract):
    """One architecture: its audit number, the first number of a foreign calling convention, and call numbers."""

    audit: int = Field(ge=0)
    foreign_from: int | None
    socket: int = Field(ge=0)
    clone: int = Field(ge=0)
    clone3: int = Field(ge=0)
    denied: dict[str, int]


class Filter(Contract):
    """What ``sandbox/seccomp.yaml`` says."""

    schema_version: SchemaVersion
    namespaces: int = Field(ge=0)
    families: dict[str, int]
    architectures: dict[str, Calls]


@cache
def program(machine: str | None = None) -> bytes:
    """The filter for a machine (this one, if none is given); raises ``SandboxError`` for one without numbers."""
    rules, calls = _load(machine)
    lines = [_line(_LOAD, _ARCHITECTURE), *_unless_equal(calls.audit, errno.ENOSYS)]
    lines.append(_line(_LOAD, _NUMBER))
    if calls.foreign_from is not None:
        lines += [_line(_IF_AT_LEAST, calls.foreign_from, 0, 1), _refuse(errno.ENOSYS)]
    for number in sorted(calls.denied.values()):
        lines += _if_equal(number, errno.EPERM)
    lines += _if_equal(calls.clone3, errno.ENOSYS)
    spaces = [_line(_IF_ANY_BIT, rules.namespaces, 0, 1), _refuse(errno.EPERM)]
    lines += _with_argument(calls.clone, spaces)
    families = [part for n in rules.families.values() for part in _if_equal(n, errno.EAFNOSUPPORT)]
    lines += _with_argument(calls.socket, families)
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


@cache
def kafel(machine: str | None = None) -> str:
    """The same filter as a Kafel policy, one rule a line; raises ``SandboxError`` as ``program`` does."""
    rules, calls = _load(machine)
    absent = [calls.clone3]
    if calls.foreign_from is not None:
        absent += range(calls.foreign_from, calls.foreign_from + _FOREIGN_CALLS)
    # A call takes the lower half of a register where its argument is an int; the upper half must not hide it.
    families = " || ".join(f"(family & {_INT}) == {n}" for n in rules.families.values())
    return "\n".join(
        (
            f"ERRNO({errno.EPERM}) {{ {_numbers(sorted(calls.denied.values()))} }}",
            f"ERRNO({errno.ENOSYS}) {{ {_numbers(absent)} }}",
            f"ERRNO({errno.EPERM}) {{ SYSCALL[{calls.clone}](flags) {{ (flags & {rules.namespaces}) != 0 }} }}",
            f"ERRNO({errno.EAFNOSUPPORT}) {{ SYSCALL[{calls.socket}](family) {{ {families} }} }}",
            "DEFAULT ALLOW",
        )
    )


def denied(machine: str | None = None) -> dict[str, int]:
    """The numbers of the denied calls, by name; raises ``SandboxError`` as ``program`` does."""
    return _load(machine)[1].denied


def oci(machine: str | None = None) -> dict[str, Any]:
    """The same filter as an OCI configuration of ``runsc``; raises ``SandboxError`` as ``program`` does.

    ``runsc`` takes any error number for EPERM. What a filter leaves to a tracer does not exist where there can be
    none, which is what C libraries must hear of ``clone3`` to use the older call.
    """
    rules, calls = _load(machine)
    bits = [1 << n for n in range(32) if rules.namespaces >> n & 1]
    refused: list[dict[str, Any]] = [
        {"names": sorted(calls.denied)},
        *({"names": ["clone"], "args": [_compared("MASKED_EQ", b, valueTwo=b)]} for b in bits),
        *({"names": ["socket"], "args": [_compared("EQ", n)]} for n in rules.families.values()),
    ]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [
            *({"action": "SCMP_ACT_ERRNO", **rule} for rule in refused),
            {"action": "SCMP_ACT_TRACE", "names": ["clone3"]},
        ],
    }


def _compared(operator: str, value: int, **more: int) -> dict[str, Any]:
    return {"index": 0, "op": f"SCMP_CMP_{operator}", "value": value, **more}


def _numbers(calls: Iterable[int]) -> str:
    return ", ".join(f"SYSCALL[{number}]" for number in calls)


@cache
def _load(machine: str | None) -> tuple[Filter, Calls]:
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
    return rules, calls


def _with_argument(number: int, judge: list[bytes]) -> list[bytes]:
    """Judge the lower half of the first argument of one call; what is not refused is allowed."""
    body = [_line(_LOAD, _FIRST_ARGUMENT), *judge, _line(_RETURN, _ALLOW)]
    return [_line(_IF_EQUAL, number, 0, len(body)), *body]


def _if_equal(value: int, error: int) -> list[bytes]:
    return [_line(_IF_EQUAL, value, 0, 1), _refuse(error)]


def _unless_equal(value: int, error: int) -> list[bytes]:
    return [_line(_IF_EQUAL, value, 1, 0), _refuse(error)]


def _refuse(error: int) -> bytes:
    return _line(_RETURN, _REFUSE | error)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
