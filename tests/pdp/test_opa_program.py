"""Finding OPA, and asking for its version no more often than needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tipstaff.errors import DecisionError
from tipstaff.pdp import opa as program
from tipstaff.pdp.opa import Opa


def _script(path: Path, version: str) -> Path:
    """A program that answers ``version`` and counts how often it was asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho x >> "{path}.asked"\necho "Version: {version}"\n')
    path.chmod(0o755)
    return path


def _asked(path: Path) -> int:
    counter = Path(f"{path}.asked")
    return len(counter.read_text().splitlines()) if counter.exists() else 0


@pytest.fixture(autouse=True)
def _bare(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIPSTAFF_OPA", raising=False)
    monkeypatch.setenv("PATH", str(home / "bin"))


def test_named_program_is_used(opa: Opa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA", str(opa.path))
    assert program.find() == opa


def test_named_program_wins_over_path_and_cache(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = _script(home / "named", "1.21.3")
    _script(home / "bin" / "opa", "1.23.0")
    monkeypatch.setenv("TIPSTAFF_OPA", str(named))
    assert program.find() == Opa(named, "1.21.3")


@pytest.mark.parametrize("version", ["1.21.2", "0.70.0", "1.21.3-rc1", "nonsense"])
def test_named_program_that_is_too_old_is_refused(
    version: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _script(home / "bin" / "opa", "1.23.0")
    monkeypatch.setenv("TIPSTAFF_OPA", str(_script(home / "named", version)))
    with pytest.raises(DecisionError) as refused:
        program.find()
    assert refused.value.code == "opa.unusable"


def test_named_program_that_is_missing_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _script(home / "bin" / "opa", "1.23.0")
    monkeypatch.setenv("TIPSTAFF_OPA", str(home / "absent"))
    with pytest.raises(DecisionError) as refused:
        program.ensure(print)
    assert (refused.value.code, refused.value.file) == ("opa.unusable", str(home / "absent"))


def test_path_comes_before_cache(home: Path) -> None:
    on_path = _script(home / "bin" / "opa", "1.24.1")
    _script(program.managed_path(), program.VERSION)
    assert program.find() == Opa(on_path, "1.24.1")


@pytest.mark.parametrize("version", ["1.21.2", "broken"])
def test_unfit_program_on_path_gives_way_to_cache(version: str, home: Path) -> None:
    _script(home / "bin" / "opa", version)
    managed = _script(program.managed_path(), program.VERSION)
    assert program.find() == Opa(managed, program.VERSION)


def test_version_is_asked_once_for_one_file(home: Path) -> None:
    path = _script(home / "bin" / "opa", "1.22.3")
    assert [program.find() for _ in range(3)] == [Opa(path, "1.22.3")] * 3
    assert _asked(path) == 1


def test_changed_file_is_asked_again(home: Path) -> None:
    path = _script(home / "bin" / "opa", "1.22.3")
    program.find()
    os.utime(path, ns=(1, 1))
    assert program.find() == Opa(path, "1.22.3")
    assert _asked(path) == 2


@pytest.mark.parametrize("memory", [b"", b"[]", b"{", b'{"a": 1}', b"\xff"])
def test_broken_memory_of_versions_is_ignored(memory: bytes, home: Path) -> None:
    path = _script(home / "bin" / "opa", "1.22.3")
    folder = home / "cache" / "tipstaff" / "opa"
    folder.mkdir(parents=True)
    (folder / "versions.json").write_bytes(memory)
    assert program.find() == Opa(path, "1.22.3")


def test_program_runs_in_an_empty_environment(home: Path) -> None:
    answer = Opa(Path("/usr/bin/env"), "").run([])
    assert (answer.returncode, answer.stdout) == (0, b"")


def test_program_that_hangs_is_an_error(home: Path) -> None:
    with pytest.raises(DecisionError) as refused:
        Opa(Path("/bin/sleep"), "").run(["5"], timeout_s=0.05)
    assert refused.value.code == "opa.failed"


def test_program_that_cannot_start_is_an_error(home: Path) -> None:
    with pytest.raises(DecisionError) as refused:
        Opa(home / "absent", "").run([])
    assert refused.value.code == "opa.failed"


def test_lock_is_given_up_after_its_time(home: Path) -> None:
    from tipstaff.files import is_locked
    from tipstaff.pdp.places import held

    path = home / "lock"
    assert not is_locked(path)
    with held(path, timeout_s=1):
        assert is_locked(path)
        with pytest.raises(DecisionError) as refused, held(path, timeout_s=0.02):
            pass
    assert refused.value.code == "lock.timeout"
    assert not is_locked(path)
