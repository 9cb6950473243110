"""All files of a policy and its tests, and which of them a package's tests can see."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tipstaff.authoring import rego_source
from tipstaff.authoring.rego_source import Module
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa

Package = tuple[str, ...]
_DATA = (".json", ".yaml", ".yml")
_READ_AT_ONCE = 4


@dataclass(frozen=True)
class Tree:
    """``own`` are the modules that are looked at, ``modules`` all of them, ``data`` the other files by path."""

    own: tuple[Module, ...]
    modules: tuple[Module, ...]
    data: dict[str, str]
    own_data: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """All text by its path."""
        return {**self.data, **{one.path: one.text for one in self.modules}}

    @cached_property
    def tests(self) -> dict[Package, tuple[str, ...]]:
        """The tests of each package that has some."""
        found: dict[Package, tuple[str, ...]] = {}
        for module in self.modules:
            if module.tests:
                found[module.package] = (*found.get(module.package, ()), *module.tests)
        return found

    def beside(self, path: str) -> list[Package]:
        """The packages with tests that stand in the folder of a file."""
        folder = Path(path).parent
        near = {one.package for one in self.modules if Path(one.path).parent == folder}
        return [package for package in self.tests if package in near]

    def seeing(self, path: str) -> list[Package]:
        """The packages whose tests may come to another end when a file changes."""
        return [one for one in self.tests if path in self.data or path in self._seen[one]]

    def seen_by(self, packages: Iterable[Package]) -> dict[str, str]:
        """The modules that the tests of packages rest on, and all data: text by path."""
        paths = {path for package in packages for path in self._seen[package]}
        return {**self.data, **{one.path: one.text for one in self.modules if one.path in paths}}

    @cached_property
    def _seen(self) -> dict[Package, frozenset[str]]:
        return {package: self._closure(package) for package in self.tests}

    def _closure(self, package: Package) -> frozenset[str]:
        wanted = [module for module in self.modules if module.package == package]
        found = {module.path for module in wanted}
        while wanted:
            module = wanted.pop()
            for other in self.modules:
                if other.path not in found and _meets(module, other.package):
                    found.add(other.path)
                    wanted.append(other)
        return frozenset(found)


def _meets(module: Module, package: Package) -> bool:
    return module.package == package or any(
        path[: len(package)] == package[: len(path)] for path in module.references
    )


def load(opa: Opa, folder: Path, under: Path | None = None) -> Tree:
    """Read a folder and, without its tests, the policy that it is tested together with.

    Raises ``ContractError`` (``policy.invalid``) for what OPA cannot read.
    """
    own, own_data = _files(folder)
    below, below_data = _files(under) if under else ([], {})
    with ThreadPoolExecutor(_READ_AT_ONCE) as pool:
        mine = list(pool.map(lambda path: rego_source.read(opa, folder, path), own))
        theirs = list(
            pool.map(
                lambda path: rego_source.read(opa, under or folder, path),
                [path for path in below if not path.endswith("_test.rego")],
            )
        )
    if twice := {one.path for one in mine} & {one.path for one in theirs}:
        raise ContractError(
            "policy.invalid",
            "the file lies where one of Tipstaff's own lies",
            file=min(twice),
            fix="move it into a package of your own",
        )
    data = {**below_data, **own_data}
    return Tree(tuple(mine), (*mine, *theirs), data, tuple(own_data))


def _files(folder: Path) -> tuple[list[str], dict[str, str]]:
    rego: list[str] = []
    data: dict[str, str] = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if file.suffix == ".rego":
            rego.append(path)
        elif file.suffix in _DATA and file.is_file():
            data[path] = file.read_text(encoding="utf-8")
    return rego, data
