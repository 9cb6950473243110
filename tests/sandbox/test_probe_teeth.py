"""The probe notices each protection that is taken away on purpose."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.sandboxes import environment, strict
from tipstaff.sandbox import mounts, prober, seccomp
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.bubblewrap import backend as bubblewrap
from tipstaff.sandbox.bubblewrap import layout
from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend

Line = list[str]


def without_all(line: Line, *instead: str) -> Line:
    position = line.index("--unshare-all")
    return [*line[:position], *instead, *line[position + 1 :]]


def before(option: str, line: Line, *added: str) -> Line:
    position = line.index(option)
    return [*line[:position], *added, *line[position:]]


def writable_work(line: Line) -> Line:
    position = line.index("/work") - 2
    return [*line[:position], "--bind", *line[position + 1 :]]


def writable_root(line: Line) -> Line:
    position = line.index("/", line.index("--remount-ro") + 2)
    return [*line[: position - 1], *line[position + 1 :]]


FAULTS: dict[str, Callable[[Line], Line]] = {
    "network": lambda line: without_all(line, "--unshare-ipc", "--unshare-pid", "--unshare-uts"),
    "processes": lambda line: without_all(line, "--unshare-ipc", "--unshare-net", "--unshare-uts"),
    "write": writable_root,
    "environment": lambda line: before("--chdir", line, "--setenv", "SECRET", "x"),
    "privileges": lambda line: before("--chdir", line, "--cap-add", "CAP_NET_ADMIN"),
    "terminal": lambda line: before("--remount-ro", line, "--dev-bind", "/dev/pts", "/dev/pts"),
}


def probe_with(fault: Callable[[Line], Line], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The protections that are missing when the layout has this fault."""
    sound = layout.arguments
    monkeypatch.setattr(layout, "arguments", lambda spec, sources=None: fault(sound(spec, sources)))
    monkeypatch.setattr(mounts, "check", lambda pid, spec: None)  # which would stop it before
    probe = BubblewrapBackend(bubblewrap.programs()[0], strict()).probe()
    assert not probe.available
    assert "did not hold" in (probe.reason or "")
    return set(strict().required_protections) - set(probe.held)


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder that anybody may read, were it visible."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    (folder / "diary").write_text("private")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.req("S-03")
@pytest.mark.promise("ahead 14")
@pytest.mark.parametrize("missing", FAULTS)
def test_a_protection_that_is_taken_away_is_missed(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    assert probe_with(FAULTS[missing], monkeypatch) == {missing}


@pytest.mark.req("S-03")
@pytest.mark.promise("ahead 14", "row 99")
def test_a_filter_that_lets_every_call_through_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "program", lambda: seccomp._line(0x06, 0x7FFF0000))
    assert probe_with(lambda line: line, monkeypatch) == {"system_calls"}


@pytest.mark.req("S-03")
@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"privileges": {}}, "privileges"),
        ({"privileges": {"Uid": "0", "NoNewPrivs": "1"}}, "privileges"),
        ({"terminals": ["/dev/tty"]}, "terminal"),
        ({"permitted": ["ptrace"], "boot": None}, "system_calls"),
    ],
)
def test_what_a_report_leaves_out_or_admits_does_not_hold(
    told: dict[str, Any], complaint: str
) -> None:
    seen: list[tuple[prober.Report, RunSpec]] = []
    judge = prober._judge

    def keep(report: prober.Report, spec: RunSpec) -> dict[str, str]:
        seen.append((report, spec))
        return judge(report, spec)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prober, "_judge", keep)
        BubblewrapBackend(bubblewrap.programs()[0], strict()).probe()
    report, spec = seen[0]
    assert set(judge(report.model_copy(update=told), spec)) == {complaint}


@pytest.mark.req("S-03")
def test_a_writable_input_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe_with(writable_work, monkeypatch) == {"write"}


@pytest.mark.req("S-03")
def test_a_visible_home_is_missed(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def fault(line: Line) -> Line:
        return before("--remount-ro", line, "--ro-bind", str(home), str(home))

    with environment(HOME=str(home)):
        assert probe_with(fault, monkeypatch) == {"home"}


@pytest.mark.req("S-05")
@pytest.mark.parametrize("fault", [writable_root, writable_work])
def test_a_writable_mount_is_seen_from_outside_before_the_command_starts(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[Line], Line]
) -> None:
    sound = layout.arguments
    monkeypatch.setattr(layout, "arguments", lambda spec, sources=None: fault(sound(spec, sources)))
    probe = BubblewrapBackend(bubblewrap.programs()[0], strict()).probe()
    assert not probe.available
    assert probe.held == ()
    assert "mounted writable inside" in (probe.reason or "")
