"""A release as its user has it: built from the checkout, installed into a fresh environment, run elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from support.readme import ROOT


@dataclass(frozen=True)
class Installation:
    """A virtual environment that holds Tipstaff from its wheel, and nothing of the checkout."""

    prefix: Path

    def run(self, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run the installed ``tipstaff`` in a folder, with no Python setting of the test's own."""
        return subprocess.run(
            [self.prefix / "bin" / "tipstaff", *arguments],
            cwd=cwd,
            env=environment(self.prefix),
            capture_output=True,
            text=True,
            check=False,
        )


def environment(prefix: Path) -> dict[str, str]:
    """The test's environment, with the installation's programs first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def tracked() -> set[str]:
    """What git holds of the checkout, or would after ``git add --all``."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def copy_checkout(target: Path) -> None:
    """The tracked files of the checkout in another folder."""
    for name in tracked():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


def build(source: Path, kind: str, out: Path) -> Path:
    """The one file that hatchling builds from a source tree; ``kind`` is ``wheel`` or ``sdist``."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", out],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [built] = out.glob("tipstaff-*.whl" if kind == "wheel" else "tipstaff-*.tar.gz")
    return built


def install(wheel: Path, prefix: Path) -> Installation:
    """Install a wheel without a network; the libraries it needs are those of the tests' environment."""
    _run(sys.executable, "-m", "venv", "--without-pip", prefix)
    python = prefix / "bin" / "python"
    _run(
        sys.executable,
        "-m",
        "pip",
        f"--python={python}",
        "install",
        "--no-index",
        "--no-deps",
        wheel,
    )
    [packages] = prefix.glob("lib/python*/site-packages")
    # A folder named by a .pth file has its own .pth files left alone, so the checkout is not found through it.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    where = _run(python, "-P", "-c", "import tipstaff; print(tipstaff.__file__)").strip()
    assert Path(where).is_relative_to(prefix), where
    assert not Path(where).is_relative_to(ROOT), where
    return Installation(prefix)


def _run(*argv: str | Path) -> str:
    done = subprocess.run(
        argv,
        cwd="/",
        env=environment(Path(sys.prefix)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
