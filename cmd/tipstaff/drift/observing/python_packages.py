"""Installed packages of a Python: which one a program belongs to, what that needs, and the digest of its own files."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")
# What an installer writes beside a package, differently on each machine.
_INSTALLERS = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}


@dataclass(frozen=True)
class Installed:
    """The packages of one environment, by their normal names."""

    packages: dict[str, Distribution]

    @classmethod
    def below(cls, prefixes: Iterable[Path]) -> Installed:
        """Those in ``site-packages`` of these environments; of two of one name, the first."""
        found: dict[str, Distribution] = {}
        for prefix in prefixes:
            for info in sorted(prefix.glob("lib/python3*/site-packages/*.dist-info")):
                package = PathDistribution(info)
                name = package.metadata["Name"]
                if name:
                    found.setdefault(_normal(name), package)
        return cls(found)

    def owner(self, program: str, module: str | None) -> str | None:
        """The package that a console script or a module comes from."""
        for name, package in self.packages.items():
            scripts = package.entry_points.select(group="console_scripts")
            if module is None and any(each.name == program for each in scripts):
                return name
            if module is not None and _holds(package, module):
                return name
        return None

    def needed(self, name: str | None) -> dict[str, str]:
        """A package and all that it needs, with their versions; every package, if none is named."""
        waiting = [(each, "") for each in sorted(self.packages) if name in (None, each)]
        seen: set[tuple[str, str]] = set()
        found: dict[str, str] = {}
        while waiting:
            one, extras = waiting.pop()
            package = self.packages.get(one)
            if package is None or (one, extras) in seen:
                continue
            seen.add((one, extras))
            found[one] = package.version
            waiting += [
                (_normal(each[1]), each[2] or "")
                for wanted in package.requires or ()
                if (each := _NAME.match(wanted)) and _applies(wanted, extras)
            ]
        return dict(sorted(found.items()))

    def digest(self, name: str) -> str:
        """SHA-256 over names and bytes of a package's own files, as its record lists them."""
        package = self.packages[name]
        whole = hashlib.sha256()
        for path in sorted(_own_files(package)):
            try:
                content = hashlib.sha256(
                    Path(str(package.locate_file(path))).read_bytes()
                ).hexdigest()
            except OSError:
                content = "absent"
            whole.update(f"{path}\0{content}\0".encode())
        return whole.hexdigest()


def _own_files(package: Distribution) -> Iterator[str]:
    """Everything in the record but what differs from machine to machine: scripts, compiled files, installers' notes."""
    for row in csv.reader((package.read_text("RECORD") or "").splitlines()):
        path = row[0] if row else ""
        if not path or path.startswith(("..", "/")) or path.endswith(".pyc"):
            continue
        if path.rpartition("/")[2] not in _INSTALLERS or ".dist-info/" not in path:
            yield path


def _applies(wanted: str, extras: str) -> bool:
    """Whether a requirement holds without an extra, or for one of these."""
    chosen = {_normal(extra.strip()) for extra in extras.split(",")}
    only = _EXTRA.search(wanted.partition(";")[2])
    return only is None or _normal(only[1]) in chosen


def _holds(package: Distribution, module: str) -> bool:
    place = module.replace(".", "/")
    wanted = {f"{place}.py", f"{place}/__init__.py", f"{place}/__main__.py"}
    return any(path in wanted for path in _own_files(package))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
