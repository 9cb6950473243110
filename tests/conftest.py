"""What every test gets: a machine on which nobody has set anything, and real parts to work with.

Each test acts as a person: no variable of an agent or of CI is set, home and state are its own, and git has an
identity. The OPA program is found or installed once.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.command_line import Result, run
from support.machines import MISSING
from support.repositories import commit, make_repository
from support.workshop import Workshop
from tipstaff import project as projects
from tipstaff.pdp import docker_sidecar, sidecar
from tipstaff.pdp import opa as programs
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.signing import new_key

_PREFIXES = ("TIPSTAFF_", "SKYTWIN_", "GITHUB_", "GIT_")
_GIT = (
    "[user]\n\tname = Test Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n"
)


@dataclass(frozen=True)
class Shared:
    """What tests share: a folder for their homes, a cache, and the key that signs a checkout's bundle."""

    homes: Path
    cache: Path
    key: Path


@pytest.fixture(scope="session")
def opa_program() -> Opa:
    """The OPA that the tests run; found, or installed once."""
    return programs.ensure(print)


@pytest.fixture(scope="session")
def opa(opa_program: Opa) -> Opa:
    """The same under its short name."""
    return opa_program


@pytest.fixture(scope="session")
def shared(opa_program: Opa) -> Iterator[Shared]:
    """One cache and one development key for all tests, so that a bundle is built once."""
    root = Path(tempfile.mkdtemp(prefix="tipstaff-tests-"))
    managed = root / "cache/tipstaff/opa" / programs.VERSION / "opa"
    managed.parent.mkdir(parents=True)
    managed.symlink_to(opa_program.path)
    key = root / "development.pem"
    key.with_suffix(".pub").write_text(new_key(key))
    yield Shared(root, root / "cache", key)
    shutil.rmtree(root)


@pytest.fixture(autouse=True)
def person(
    shared: Shared,
    opa_program: Opa,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Path]:
    """A person's own home; the sidecars that a test starts in its own folder end with it."""
    home = Path(tempfile.mkdtemp(dir=shared.homes, prefix="home-"))
    _settle(home, shared, opa_program, monkeypatch)
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield home
    if folder is not None:
        _stop_sidecars(folder)
    shutil.rmtree(home)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real git repository with one skill, its golden tests, and a vendored folder."""
    return make_repository(tmp_path / "repository")


@pytest.fixture(scope="session")
def _initialised(shared: Shared, opa_program: Opa) -> Path:
    """The repository after ``tipstaff init``, to be copied."""
    home = Path(tempfile.mkdtemp(dir=shared.homes, prefix="home-"))
    with pytest.MonkeyPatch.context() as patch:
        _settle(home, shared, opa_program, patch)
        root = make_repository(home / "repository")
        result = run("init", cwd=root)
        assert result.code == 0, result.stderr
        commit(root, "set tipstaff up")
    return root


@pytest.fixture
def project(tmp_path: Path, _initialised: Path) -> Path:
    """A repository that ``tipstaff init`` has set up, committed."""
    root = tmp_path / "repository"
    shutil.copytree(_initialised, root, symlinks=True)
    return root


@pytest.fixture(scope="session")
def sidecar_home(shared: Shared) -> Iterator[Path]:
    """The state folder of the sidecar that workshops share."""
    home = shared.homes / "sidecars"
    yield home
    sidecar.stop(home)


@pytest.fixture
def workshop(project: Path, sidecar_home: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A repository that ``tipstaff init`` has set up; in this process it joins one sidecar with all others."""
    join = sidecar.join
    monkeypatch.setattr(
        sidecar, "join", lambda _state, *how, **more: join(sidecar_home, *how, **more)
    )
    return Workshop(project)


@pytest.fixture
def run_cli() -> Callable[..., Result]:
    """Runs ``tipstaff`` in this process: ``run_cli("tiers", "--json", cwd=project)``."""
    return run


def _settle(home: Path, shared: Shared, opa: Opa, patch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(_PREFIXES) or name in (*projects._AGENT_VARIABLES, "CI"):
            patch.delenv(name)
    config, state = home / ".gitconfig", home / "state"
    config.write_text(_GIT)
    keys = state / "tipstaff"
    keys.mkdir(mode=0o700, parents=True)
    for suffix in (".pem", ".pub"):
        shutil.copy(shared.key.with_suffix(suffix), keys)
    for name, value in {
        "HOME": home,
        "XDG_STATE_HOME": state,
        "XDG_CACHE_HOME": shared.cache,
        "GIT_CONFIG_GLOBAL": config,
        "GIT_CONFIG_NOSYSTEM": "1",
        "TIPSTAFF_OPA": opa.path,
    }.items():
        patch.setenv(name, str(value))


def _stop_sidecars(root: Path) -> None:
    for folder, names, _ in os.walk(root):
        if "sidecar" in names:
            sidecar.stop(Path(folder))
        if (Path(folder) / "docker" / "token").exists():
            docker_sidecar.stop(Path(folder))
        names[:] = [name for name in names if name not in (".git", "sidecar", "docker")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the machines that could not be tried, and the figures that tests reached.

    A test tells a figure by ``record_property("D1", "10,000 faults, 0 allowed")``.
    """
    if MISSING:
        terminalreporter.section("machines that were not tried")
        for name, reason in sorted(MISSING.items()):
            terminalreporter.write_line(f"{name:14} {reason}")
    reached = [
        f"{name:8} {figure}"
        for report in terminalreporter.getreports("passed")
        for name, figure in report.user_properties
    ]
    if reached:
        terminalreporter.section("figures reached")
        terminalreporter.write_line("\n".join(sorted(reached)))
