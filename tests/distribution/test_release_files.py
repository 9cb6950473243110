"""The wheel and the source distribution hold what is tracked, and nothing that merely lies about."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from pathlib import Path

from support.installation import build, copy_checkout, tracked

_INSTALLED = {
    "cmd/tipstaff/": "tipstaff/",
    "policy/": "tipstaff/declared/policy/",
    "contracts/": "tipstaff/declared/contracts/",
    "sandbox/": "tipstaff/declared/sandbox/",
}
_STRAY = ["policy/team.pem", "policy/org.key", "sandbox/probe.py.orig", "contracts/note~"]
_STRAY += [
    ".venv/pin",
    "policy/.tipstaff/held",
    "cmd/tipstaff/__pycache__/old.pyc",
    ".mypy_cache/seen",
]


def test_wheel_holds_the_package_and_the_declared_folders_and_nothing_else(wheel: Path) -> None:
    held = {name for name in _names(wheel) if ".dist-info/" not in name}
    expected = {
        installed + name.removeprefix(folder)
        for folder, installed in _INSTALLED.items()
        for name in tracked()
        if name.startswith(folder)
    }
    assert held - expected == set()
    assert expected - held == set()
    for folder in ("declared/policy", "declared/contracts", "declared/sandbox"):
        assert any(name.startswith(f"tipstaff/{folder}/") for name in held)
    for needed in ("py.typed", "starter/workflows/tipstaff.yml", "starter/policy/.manifest"):
        assert f"tipstaff/{needed}" in held


def test_wheel_names_the_licence_and_the_program(wheel: Path) -> None:
    described = {name.partition(".dist-info/")[2] for name in _names(wheel)} - {""}
    assert described == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def test_source_distribution_holds_every_tracked_file_and_nothing_else(sdist: Path) -> None:
    held = _members(sdist)
    assert held - tracked() == {"PKG-INFO"}
    assert tracked() - held == set()


def test_source_distribution_builds_the_same_wheel(
    sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [unpacked] = tmp_path.iterdir()
    again = build(unpacked, "wheel", tmp_path / "dist")
    assert _digest(again) == _digest(wheel)


def test_keys_backups_and_caches_that_lie_about_stay_behind(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    copy_checkout(tree)
    for name in _STRAY:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("stray")
    held = _names(build(tree, "wheel", tmp_path)) | _members(build(tree, "sdist", tmp_path))
    assert {
        name for name in held if Path(name).name in {Path(stray).name for stray in _STRAY}
    } == set()


def _names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def _members(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
