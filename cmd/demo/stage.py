"""Runs commands where people can watch: the command line, its output, and whether it is what was announced.

A step that comes out otherwise is marked, counted, and makes the whole demo fail.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

_WIDTH = 100


@dataclass
class Act:
    """One numbered part: its title and what was checked in it."""

    title: str
    expects: str
    checks: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether there was something to check, and all of it held."""
        return bool(self.checks) and all(held for _, held in self.checks)


class Stage:
    """Where the commands run: one folder, one environment."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self.environment = dict(environment)
        self._acts: list[Act] = []

    def act(self, title: str, explanation: str, expects: str) -> None:
        """Begin a part."""
        self._acts.append(Act(title, expects))
        click.echo()
        click.secho(f"── {title} ".ljust(_WIDTH, "─"), fg="cyan", bold=True)
        click.echo(explanation)

    def say(self, line: str) -> None:
        """A line between commands."""
        click.echo(line)

    def check(self, what: str, holds: bool) -> None:
        """Note whether a fact is as announced."""
        self._acts[-1].checks.append((what, holds))
        mark = click.style("  ✓", fg="green") if holds else click.style("  ✗ NOT SO:", fg="red")
        click.echo(f"{mark} {what}")

    def show(self, file: Path, *, lines: int) -> None:
        """The beginning of a file."""
        text = file.read_text(encoding="utf-8").splitlines()
        click.secho(f"\n$ head -{lines} {self._name(file)}", bold=True)
        _indent("\n".join(text[:lines]))

    def tipstaff(
        self,
        *arguments: str,
        code: int,
        shows: Sequence[str] = (),
        also: Mapping[str, str] | None = None,
    ) -> str:
        """Run one command line, show it and its output, check its exit code and what it printed.

        ``also`` adds to the environment of this one command, and is shown. Returns standard output.
        """
        prefix = [f"{name}={shlex.quote(value)}" for name, value in (also or {}).items()]
        words = [*prefix, "tipstaff", *(shlex.quote(self._short(item)) for item in arguments)]
        click.secho(f"\n$ {' '.join(words)}", bold=True)
        done = self._run(arguments, {**self.environment, **(also or {})})
        _indent(done.stderr, dim=True)
        _indent(done.stdout)
        self.check(f"exit code {code}", done.returncode == code)
        for text in shows:
            self.check(f"says {text}", text in done.stdout + done.stderr)
        return done.stdout

    def ask(self, *arguments: str) -> str:
        """Run a command without showing it; standard output."""
        return self._run(arguments, self.environment).stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Show a command line and start it, to be waited for with ``finish``."""
        click.secho(f"\n$ tipstaff {shlex.join(arguments)} &", bold=True)
        return subprocess.Popen(
            self._argv(arguments),
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(
        self, process: subprocess.Popen[str], *, code: int, shows: Sequence[str] = ()
    ) -> None:
        """Wait for a started command and check it as ``tipstaff`` does."""
        output, _ = process.communicate(timeout=60)
        _indent(output)
        self.check(f"exit code {code}", process.returncode == code)
        for text in shows:
            self.check(f"says {text}", text in output)

    def close(self) -> int:
        """Print what came of every part; 0 when all is as announced, else 1."""
        click.echo()
        click.secho("── Summary ".ljust(_WIDTH, "─"), fg="cyan", bold=True)
        width = max(len(act.title) for act in self._acts) + 2
        for act in self._acts:
            mark = click.style("✓", fg="green") if act.holds else click.style("✗", fg="red")
            click.echo(f"{mark} {act.title:<{width}}{act.expects}")
        failed = [what for act in self._acts for what, held in act.checks if not held]
        total = sum(len(act.checks) for act in self._acts)
        click.echo()
        if failed or not all(act.holds for act in self._acts):
            click.secho(f"{len(failed)} of {total} checks did not hold", fg="red", bold=True)
            return 1
        click.secho(f"all {total} checks hold", fg="green", bold=True)
        return 0

    def _run(
        self, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._argv(arguments),
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def _argv(self, arguments: Sequence[str]) -> list[str]:
        return [str(Path(sys.executable).parent / "tipstaff"), *arguments]

    def _short(self, argument: str) -> str:
        return argument.replace(f"{self.root}/", "")

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self.root)) if file.is_relative_to(self.root) else str(file)


def _indent(text: str, *, dim: bool = False) -> None:
    for line in text.rstrip().splitlines():
        click.secho(f"  {line.rstrip()}", dim=dim)
