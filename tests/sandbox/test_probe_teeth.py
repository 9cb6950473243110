"""The probe notices each protection that is taken away on purpose."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.sandboxes import environment, strict
from tipstaff.sandbox import bubblewrap, layout, mounts
from tipstaff.sandbox.bubblewrap import BubblewrapBackend

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
@pytest.mark.parametrize("missing", FAULTS)
def test_a_protection_that_is_taken_away_is_missed(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    assert probe_with(FAULTS[missing], monkeypatch) == {missing}


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
