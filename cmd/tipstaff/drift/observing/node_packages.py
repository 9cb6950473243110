"""Packages of npm: which one a file belongs to, what that needs, and the digest of its own files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tipstaff.documents import strict_json
from tipstaff.errors import ContractError

MODULES = "node_modules"
_MANIFEST = "package.json"
_MOST = 5000


def root_of(path: Path) -> Path | None:
    """The outermost folder of modules that a file lies in."""
    for place, part in enumerate(path.parts):
        if part == MODULES:
            return Path(*path.parts[: place + 1])
    return None


def owner(path: Path) -> Path | None:
    """The folder of the package that a file belongs to, if it lies in a folder of modules."""
    if root_of(path) is None:
        return None
    for folder in path.parents:
        if (folder / _MANIFEST).is_file() and MODULES in folder.parent.parts:
            manifest = _manifest(folder)
            if isinstance(manifest.get("name"), str) and isinstance(manifest.get("version"), str):
                return folder
    return None


def dependencies(package: Path) -> dict[str, str]:
    """The package and all that it needs, each with its version; of two versions of one, both."""
    found: dict[str, set[str]] = {}
    waiting = [package]
    seen: set[Path] = set()
    while waiting and len(seen) < _MOST:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        manifest = _manifest(folder)
        name = manifest.get("name")
        if isinstance(name, str):
            found.setdefault(name, set()).add(str(manifest.get("version")))
        for member in ("dependencies", "optionalDependencies"):
            wanted = manifest.get(member)
            names = wanted if isinstance(wanted, dict) else {}
            waiting += [place for each in names if (place := _resolve(folder, each)) is not None]
    return {name: ", ".join(sorted(versions)) for name, versions in sorted(found.items())}


def digest(package: Path) -> str:
    """SHA-256 over names and bytes of a package's own files."""
    whole = hashlib.sha256()
    for path in sorted(_files(package)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{path.relative_to(package).as_posix()}\0{content}\0".encode())
    return whole.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_symlink() or path.name == MODULES:
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _resolve(package: Path, name: str) -> Path | None:
    """Where a package finds another one: beside itself or further up."""
    for folder in (package, *package.parents):
        place = folder / MODULES / name
        if (place / _MANIFEST).is_file():
            return place.resolve()
    return None


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        found = strict_json.load(folder / _MANIFEST, any_form=True)
    except ContractError:
        return {}
    return found if isinstance(found, dict) else {}
