"""`make demo`: the main job on a throw-away git repository, with the real git, the real OPA and a real sandbox.

Every step prints its command line and its output, and checks what it announced. The exit code is 1 when one check
does not hold. Nothing outside the throw-away folder is written, but for the OPA program in the user's cache.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))

import acts
import augmented
import scene
from stage import Stage

from tipstaff.errors import Error
from tipstaff.pdp import sidecar
from tipstaff.pdp.opa import ensure

_FOREIGN = ("TIPSTAFF_", "SKYTWIN_", "GITHUB_", "GIT_")
_AGENTS = ("CI", "CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE")


def main() -> int:
    """Run every act in order, then print the summary."""
    try:
        opa = ensure(click.echo)
    except Error as error:
        click.echo(f"error: {error}\nfix: {error.fix}", err=True)
        return error.exit_code
    with _throw_away() as folder:
        environment = _environment(folder, str(opa.path))
        stage = Stage(folder / "skills", environment)
        click.echo(f"A throw-away repository in {stage.root}, OPA {opa.version} at {opa.path}.")
        click.echo(
            "The demo plays a person: no variable of an agent or of CI is set for its commands."
        )
        repository = scene.create(stage.root, augmented.FILES)
        try:
            acts.set_up(stage, repository)
            before = acts.leave_work_lying_about(repository)
            acts.perform(stage, repository)
            acts.look_back(stage, repository, before)
        finally:
            sidecar.stop(stage.root / ".tipstaff")
        return stage.close()


@contextmanager
def _throw_away() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tipstaff-demo-") as name:
        yield Path(name)


def _environment(folder: Path, opa: str) -> dict[str, str]:
    """This process's environment without what would change who acts, and with state and cache of its own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FOREIGN) and name not in _AGENTS
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    homes = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
    return {**kept, **homes, "PATH": path, "TIPSTAFF_OPA": opa}


if __name__ == "__main__":
    sys.exit(main())
