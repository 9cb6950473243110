"""`tipstaff sandbox run`: one command, isolated, on a private copy of a folder."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

from tipstaff.cli.completion import files
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.sandbox.choice import PROFILES, backend_option, isolating, isolation
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError

if TYPE_CHECKING:
    from tipstaff.documents.sandbox import SandboxProfile, SandboxResult
    from tipstaff.sandbox.backend import RunSpec
    from tipstaff.sandbox.toolchain import Toolchain

_OUT = "sandbox-output"


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--profile", type=click.Choice(PROFILES), help="Profile; the project's, if not given."
)
@backend_option("the strongest that works")
@click.option(
    "--input",
    "folder",
    type=click.Path(path_type=Path),
    shell_complete=files,
    help="Folder to copy in, seen read-only at /work; an empty one, if not given.",
)
@click.option(
    "--collect",
    "wanted",
    multiple=True,
    metavar="PATH",
    help="File or folder below /scratch to hand back.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help=f"Where to put what is handed back, a folder that does not exist yet; {_OUT}, if not given.",
)
@json_option
@click.argument("command", nargs=-1, required=True, metavar="-- CMD [ARG]...")
def run(  # noqa: PLR0913 (one parameter for each option)
    profile: str | None,
    backend: str | None,
    folder: Path | None,
    wanted: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Run one command isolated; its output is printed, and kept up to the profile's limit.

    It sees the copy read-only at /work, and may write to /scratch and /tmp. No network, no variable and no other file
    of the host is in its reach. --json prints the record of the run instead, with the command's own exit code.

    Exits 0 when the command ended with 0 and all that was asked for was handed back, 1 when it failed, hit a limit or
    left something out, 2 for bad input, with nothing run, and 3 when nothing can isolate it here.
    """
    from tipstaff.sandbox import transfer
    from tipstaff.sandbox.folder import temporary_folder

    found = isolation(profile, backend)
    outputs = tuple(dict.fromkeys(transfer.place(path) for path in wanted))
    target = Path(_OUT) if out is None else out
    if outputs or out is not None:
        transfer.fresh(target)
    with temporary_folder() as private:
        copy = private / "input"
        if folder is None:
            copy.mkdir()
        else:
            transfer.copy_in(folder, copy)
        spec = _spec(command, copy, found.profile, outputs)
        result, taken = isolating(found).run(spec)
    written = transfer.deliver(taken, target) if outputs else {}
    if as_json:
        print_json({**result.model_dump(mode="json"), "collected": _listed(taken, written)})
    else:
        _print(result, written)
    whole = result.exit_code == 0 and not (result.timed_out or result.oom or result.refused)
    return 0 if whole else 1


def _spec(
    command: tuple[str, ...], copy: Path, profile: SandboxProfile, outputs: tuple[str, ...]
) -> RunSpec:
    from tipstaff.sandbox.backend import RunSpec, workplace

    tools = _tools(command[0], copy)
    program = tools.program
    if not program.startswith("/"):
        program = str(PurePosixPath(workplace(tools.readonly), program))
    return RunSpec(
        argv=(program, *command[1:]),
        workdir=copy,
        profile=profile,
        outputs=outputs,
        environment={"PATH": tools.search_path(profile.environment.get("PATH", ""))},
        readonly=tools.readonly,
    )


def _tools(program: str, copy: Path) -> Toolchain:
    """What the command needs: a program on PATH or by its full path, or one of the input by its relative path."""
    from tipstaff.sandbox import toolchain

    host = toolchain.Host.current(Path.cwd())
    try:
        if "/" not in program or program.startswith("/"):
            return toolchain.find(program, host)
        relative = os.path.normpath(program)
        file = copy / relative
        if relative.startswith("..") or not file.is_file() or file.is_symlink():
            raise _missing(f"{program!r} is not a file of the input", "name a program on PATH")
        if not os.access(file, os.X_OK):
            raise _missing(f"{program!r} is not executable", "chmod +x it, or name its interpreter")
        needs = toolchain.find_interpreter(file, host) or toolchain.Toolchain(relative)
        return toolchain.Toolchain(relative, needs.readonly, needs.path, needs.sources)
    except ContractError as error:
        raise _missing(error.message, error.fix) from error
    except OSError as error:
        raise _missing(f"{program}: {error.strerror}", "name a program that can be read") from error


def _missing(message: str, fix: str) -> ContractError:
    return ContractError("sandbox.command", message, field="CMD", fix=fix)


def _print(result: SandboxResult, written: Mapping[str, Path]) -> None:
    for text, stream in ((result.stdout, sys.stdout), (result.stderr, sys.stderr)):
        shown = visible(text, limit=len(text), multiline=True) if stream.isatty() else text
        click.echo(shown, nl=False, file=stream)
    ended = "stopped at the time limit" if result.timed_out else f"ended with {result.exit_code}"
    say(f"{result.backend}, {result.profile}: {ended} after {result.duration_ms} ms")
    if result.oom:
        say("it was stopped at the memory limit")
    if result.truncated:
        say(f"only the first {result.limits.output_bytes} bytes of each stream were kept")
    for one in result.refused:
        say(f"not handed back: {one.path} {one.reason}")
    for name, path in written.items():
        say(f"handed back: {name} as {path}")


def _listed(taken: Mapping[str, bytes], written: Mapping[str, Path]) -> list[dict[str, Any]]:
    return [
        {
            "path": name,
            "file": str(path),
            "bytes": len(taken[name]),
            "sha256": hashlib.sha256(taken[name]).hexdigest(),
        }
        for name, path in written.items()
    ]
