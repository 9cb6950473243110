"""Where a program and what it needs to run lie on this host; nothing is executed to find out.

A Python is followed to its virtual environment and its base installation, a script to its interpreter, a pyenv
shim to what it stands for. Any other program outside the system folders brings its own real folder.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tipstaff.documents.text import visible
from tipstaff.errors import ContractError

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?\Z")
_MAPPING = re.compile(r"^MAPPING\b[^=]*= (\{.*\})", re.M)
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_MAX_HOPS = 8


@dataclass(frozen=True)
class Toolchain:
    """A program's path, the host paths it must see, its folders for PATH, and folders it imports in place.

    ``sources`` are where editable installations point: the code itself, not a copy of it. ``user_base`` is the
    value for ``PYTHONUSERBASE`` where packages lie beside a user's own scripts.
    """

    program: str
    readonly: tuple[Path, ...] = ()
    path: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    user_base: Path | None = None

    def search_path(self, own: str) -> str:
        """The value for PATH inside: the program's own folders before those of the profile."""
        return os.pathsep.join(dict.fromkeys((*self.path, *own.split(os.pathsep))))


@dataclass(frozen=True)
class Host:
    """Where names are looked up: PATH, the folder that a version file applies to, and other variables."""

    path: str
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def current(cls, folder: Path) -> Host:
        """This process's own."""
        return cls(os.environ.get("PATH", os.defpath), folder, dict(os.environ))


def own_python() -> Toolchain:
    """The Python that runs this, without its virtual environment."""
    program = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    prefixes = {Path(sys.base_prefix), Path(sys.base_prefix).resolve(), _prefix(program)}
    return Toolchain(str(program), tuple(sorted(prefixes)))


def find(name: str, host: Host) -> Toolchain:
    """The toolchain behind a program's name or absolute path; raises ``ContractError`` if it is not there."""
    return _resolve(_locate(name, host), host, _MAX_HOPS)


def find_interpreter(script: Path, host: Host) -> Toolchain | None:
    """The toolchain that the first line of an untrusted script asks for; None where it names none.

    Raises ``ContractError`` for any but a program of the system or what PATH has by that name: else a script could have
    every folder with a program in it shown to itself.
    """
    name = None if script.is_symlink() else _interpreter(script)
    if name is None:
        return None
    if "/" in name and not _is_listed(Path(os.path.abspath(name)), host):
        raise ContractError(
            "tests.program_missing",
            f"the script asks for {visible(name)}, which is neither the system's nor on PATH",
            field="tests",
            fix="let it begin with `#!/usr/bin/env NAME`, and have NAME on PATH",
        )
    return find(name, host)


def _is_listed(path: Path, host: Host) -> bool:
    listed = shutil.which(path.name, path=host.path)
    return _is_system(path) or (
        listed is not None and path.exists() and os.path.samefile(listed, path)
    )


def is_python(program: str) -> bool:
    """Whether a program is a Python by its name."""
    return bool(_PYTHON.match(Path(program).name))


def _locate(name: str, host: Host) -> Path:
    found = shutil.which(name, path=host.path)
    if found is None or not os.path.isfile(found):  # a pipe would be waited for
        raise ContractError(
            "tests.program_missing",
            f"{name!r} is not on PATH",
            field="tests",
            fix="install it, activate its environment, or give its full path",
        )
    return _unshimmed(Path(os.path.abspath(found)), host)


def _unshimmed(path: Path, host: Host) -> Path:
    root = path.parent.parent
    if path.parent.name != "shims" or not (root / "versions").is_dir():
        return path
    for version in _pyenv_versions(root, host):
        program = root / "versions" / version / "bin" / path.name
        if program.exists():
            return program
    raise ContractError(
        "tests.program_missing",
        f"the shim {path} stands for no program here",
        field="tests",
        fix="activate a virtual environment, or give the program's full path",
    )


def _pyenv_versions(root: Path, host: Host) -> Iterator[str]:
    if host.variables.get("PYENV_VERSION"):
        yield from host.variables["PYENV_VERSION"].split(":")
        return
    for folder in (host.folder, *host.folder.parents):
        if (folder / ".python-version").is_file():
            yield from (folder / ".python-version").read_text(encoding="utf-8").split()
            return
    if (root / "version").is_file():
        yield from (root / "version").read_text(encoding="utf-8").split()


def _resolve(path: Path, host: Host, hops: int) -> Toolchain:
    if hops == 0:
        raise ContractError(
            "tests.program_missing",
            f"{path} leads from script to script",
            field="tests",
            fix="name the program itself",
        )
    if _PYTHON.match(path.name):
        return _python(path)
    interpreter = _interpreter(path)
    if interpreter is None:
        return _binary(path)
    inner = _resolve(_locate(interpreter, host), host, hops - 1)
    own = _binary(path)
    packages = _user_site(path, inner)
    return Toolchain(
        own.program,
        (*own.readonly, *inner.readonly, *packages),
        (*own.path, *inner.path),
        inner.sources,
        path.parent.parent if packages else inner.user_base,
    )


def _interpreter(path: Path) -> str | None:
    with path.open("rb") as file:
        line = file.readline(512)
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None


def _binary(path: Path) -> Toolchain:
    if _is_system(path):
        return Toolchain(str(path), path=(str(path.parent),))
    if (path.parent.parent / "pyvenv.cfg").is_file():
        return Toolchain(str(path), (path.parent.parent,), (str(path.parent),))
    real = path.resolve()
    return Toolchain(str(real), (real.parent,), (str(real.parent),))


def _python(path: Path) -> Toolchain:
    real = path.resolve()
    environment = path.parent.parent
    config = environment / "pyvenv.cfg"
    if not config.is_file():
        base = _prefix(real)
        return Toolchain(str(real), (base,), (str(real.parent),), tuple(_editable(base)))
    homes = {Path(home).parent for home in _home(config)}
    seen = {environment, *homes, *(home.resolve() for home in homes), _prefix(real)}
    links = [link for link in _links(path) if not any(link.is_relative_to(p) for p in seen)]
    return Toolchain(
        str(path),
        (*sorted(seen), *links),
        (str(path.parent),),
        tuple(_editable(environment)),
    )


def _home(config: Path) -> Iterator[str]:
    for line in config.read_text(encoding="utf-8", errors="replace").splitlines():
        key, found, value = line.partition("=")
        if found and key.strip().lower() == "home" and value.strip().startswith("/"):
            yield value.strip()


def _prefix(program: Path) -> Path:
    above = program.parent.parent
    return above if (above / "lib").is_dir() else program.parent


def _links(path: Path) -> Iterator[Path]:
    """Every link on the way from a path to the file behind it, but the path itself."""
    for _ in range(_MAX_HOPS):
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / os.readlink(path)))
        yield path


def _user_site(script: Path, python: Toolchain) -> tuple[Path, ...]:
    """The packages of ``pip install --user`` beside a script that an interpreter from elsewhere runs."""
    base = script.parent.parent
    own = any(base.is_relative_to(path) for path in python.readonly)
    if own or _is_system(script) or not is_python(python.program):
        return ()
    return tuple(sorted(base.glob("lib/python3*/site-packages")))


def _editable(prefix: Path) -> Iterator[Path]:
    for file in sorted(prefix.glob("lib/python3*/site-packages/*.pth")):
        for line in _text(file).splitlines():
            if line.startswith("/") and Path(line).is_dir():
                yield Path(line)
    for file in sorted(prefix.glob("lib/python3*/site-packages/__editable__*_finder.py")):
        yield from _mapped(_text(file))


def _mapped(finder: str) -> Iterator[Path]:
    match = _MAPPING.search(finder)
    if match is None:
        return
    try:
        mapping = ast.literal_eval(match[1])
    except (ValueError, SyntaxError):
        return
    for module, place in mapping.items():
        if isinstance(place, str) and Path(place).stem == str(module).rpartition(".")[2]:
            yield Path(place).parents[str(module).count(".")]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _SYSTEM)
