"""The program's commands, loaded only when one is run, and the one place where errors become exit codes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import click

from tipstaff import __version__
from tipstaff.errors import Error

if TYPE_CHECKING:
    from tipstaff.documents.observation import ObservationReport

# Name: module below this package, and the line in `--help`.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "approvals": ("approvals", "List, show, approve and reject requests."),
    "audit": ("audit", "Verify, list and export the audit trail."),
    "augment": ("augment", "Scan a skill for marked blocks; propose a script in place of one."),
    "change": ("change", "Propose a change; list and show proposed ones."),
    "check": ("check", "Lint the configuration."),
    "completion": ("completion", "Print or install shell completion."),
    "contracts": ("contracts", "Keep and compare what MCP servers advertise."),
    "decide": ("decide", "Ask the engine about an input document."),
    "doctor": ("doctor", "Check every part and say how to repair it."),
    "explain": ("explain", "Show why a decision came out as it did."),
    "governed-harness": (
        "governed_harness",
        "Judge a change of a harness; list and decide the requests it makes.",
    ),
    "init": ("init", "Set a repository up for Tipstaff."),
    "mcp": ("mcp", "Serve an MCP host the tools that it may call."),
    "pause": ("pause", "Make automatic work wait for a person."),
    "policy": ("policy", "Test, build and sign policy."),
    "resume": ("pause", "End a pause."),
    "sandbox": ("sandbox", "Run code that nobody vouches for, and see what holds it."),
    "sidecar": ("sidecar", "Start, inspect and stop OPA."),
    "tiers": ("tiers", "Show the effective tier of every action class."),
}
_INTERRUPTED = 130


class SuggestingGroup(click.Group):
    """A group that answers a wrong verb with the one that was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or fail with a suggestion."""
        name = args[0] if args else ""
        if args and self.get_command(ctx, name) is None and not name.startswith("-"):
            close = get_close_matches(name, self.list_commands(ctx), 1, 0.5)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported when they are run.

    ``table`` maps names to a module below ``package`` and the line in ``--help``.
    """

    def __init__(
        self, *args: Any, table: Mapping[str, tuple[str, str]], package: str, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._table = table
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, in order."""
        return sorted(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, if there is one of that name."""
        if cmd_name not in self._table:
            return None
        module = import_module(f"{self._package}.{self._table[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        command = getattr(module, f"{name}_" if iskeyword(name) else name)
        assert isinstance(command, click.Command)  # noqa: S101 (narrows the type of a module attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._table[name][1]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    package="tipstaff.cli",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 allowed or clean, 1 not allowed or findings, 2 input or usage, "
    "3 could not evaluate.",
)
@click.version_option(__version__, prog_name="tipstaff", message="%(prog)s %(version)s")
def program() -> None:
    """Carry out what Open Policy Agent decides about changes and actions of AI agents."""


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code; no exception escapes."""
    try:
        code = program.main(args=argv, prog_name="tipstaff", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        _show_usage(error)
        return _tell(_usage(error), error.exit_code, argv)
    except click.Abort:
        click.echo("interrupted", err=True)
        stopped = {"code": "interrupted", "message": "interrupted", "file": None, "field": None}
        return _tell({**stopped, "fix": "run the command again"}, _INTERRUPTED, argv)
    except Error as error:
        return _report(error, argv)
    except SystemExit:
        # click's way out when the reader of stdout went away; what it was not told must not look like a yes.
        return Error.exit_code
    except Exception as error:
        return _defect(error, argv)


def _report(error: Error, argv: list[str]) -> int:
    from tipstaff.cli.output import say

    first, *more = error.message.splitlines() or [""]
    where = "".join(f"{part}: " for part in (error.file, error.field) if part)
    say(f"error: {where}{first} [{error.code}]")
    for line in more:
        say(f"    {line}")
    say(f"fix: {error.fix}")
    return _tell(error.diagnostics(), error.exit_code, argv, getattr(error, "report", None))


def _defect(error: Exception, argv: list[str]) -> int:
    """An error that nothing foresaw: exit 3, so that no script takes it for an answer of policy."""
    import traceback

    from tipstaff.documents.redaction import redact_text

    click.echo(redact_text("".join(traceback.format_exception(error))), err=True, nl=False)
    message = f"a defect in tipstaff: {type(error).__name__}"
    click.echo(f"error: {message} [internal]", err=True)
    fix = "report it with the lines above; `tipstaff audit list` shows what was done"
    found = {"code": "internal", "message": message, "file": None, "field": None, "fix": fix}
    return _tell(found, Error.exit_code, argv)


def _show_usage(error: click.ClickException) -> None:
    from io import StringIO

    from tipstaff.documents.redaction import redact_text

    said = StringIO()
    error.show(said)
    click.echo(redact_text(said.getvalue()), err=True, nl=False)


def _usage(error: click.ClickException) -> dict[str, str | None]:
    """A wrong call as the same data that every other error is."""
    context = getattr(error, "ctx", None)
    parameter = getattr(error, "param", None)
    command = context.command_path if context else "tipstaff"
    return {
        "code": "usage",
        "message": error.format_message(),
        "file": None,
        "field": parameter.opts[0] if parameter else None,
        "fix": f"see `{command} --help`",
    }


def _tell(
    diagnostics: dict[str, str | None],
    code: int,
    argv: list[str],
    report: ObservationReport | None = None,
) -> int:
    """The error as one document, beside what was seen until then; returns the exit code."""
    ours = argv[: argv.index("--")] if "--" in argv else argv
    if "--json" in ours:
        from tipstaff.cli.output import print_json
        from tipstaff.documents.redaction import redact

        seen = {"report": redact(report.model_dump(mode="json"))} if report else {}
        print_json({"error": redact(diagnostics), **seen})
    return code
