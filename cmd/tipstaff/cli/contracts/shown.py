"""What the verbs about contracts print: findings as lines, as JSON, or as SARIF."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from tipstaff.cli.findings import demand_one_form
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.documents.base import Json
from tipstaff.documents.contract_diff import Authority, ContractDiff, ContractFinding, Grade
from tipstaff.documents.finding import Finding, Severity
from tipstaff.documents.text import SHOWN_CHARACTERS, visible
from tipstaff.documents.verdict import Reason

F = TypeVar("F", bound=Callable[..., Any])
_LEVELS: dict[Grade, Severity] = {
    "none": "note",
    "info": "note",
    "warning": "warning",
    "error": "error",
}
_COLOURS = {"info": "blue", "warning": "yellow", "error": "red"}
_SHOWN = 300
_PAGES = {
    "prompt": "server/prompts",
    "resource": "server/resources",
    "server": "basic/lifecycle",
    "version": "basic/versioning",
}


def diff_options(function: F) -> F:
    """``--json``, ``--sarif``, and what a difference fails on."""
    function = json_option(function)
    function = click.option("--sarif", "as_sarif", is_flag=True, help="Print a SARIF 2.1.0 log.")(
        function
    )
    function = click.option(
        "--fail-on-authority",
        type=click.Choice(["widens", "narrows"]),
        help="Fail on any finding that changes authority this way, too.",
    )(function)
    return click.option(
        "--fail-on",
        type=click.Choice(["info", "warning", "error"]),
        default="error",
        show_default=True,
        help="Fail on findings of this severity and above.",
    )(function)


def show(diff: ContractDiff, file: str, *, as_json: bool, as_sarif: bool) -> None:
    """Print a difference in one of the three forms; ``file`` is the snapshot that findings are about."""
    demand_one_form(as_json, as_sarif)
    if as_json:
        print_json(diff.model_dump())
    elif as_sarif:
        print_json(_sarif(diff.findings, file))
    else:
        show_lines(diff)


def say_what_to_do(name: str, digest: str) -> None:
    """Tell a person how a candidate becomes the committed snapshot."""
    say(f"a person accepts it: tipstaff contracts accept {name} --digest {digest}")


def show_lines(diff: ContractDiff) -> None:
    """Each finding with what stood there and what stands there now, and the sum of it."""
    for found in diff.findings:
        mark = click.style(f"{found.severity:7}", fg=_COLOURS.get(found.severity), bold=True)
        authority = "" if found.authority == "none" else f", {found.authority} authority"
        click.echo(f"{mark}  {_seen(_place(found))}  {found.kind}{authority}")
        click.echo(f"         {_seen(found.message)}")
        for sign, value in (("-", found.before), ("+", found.after)):
            if value is not None:
                click.echo(f"         {sign} {_seen(_text(value), _SHOWN)}")
    if not diff.findings:
        click.echo("unchanged")
        return
    risk = "low risk" if diff.low_risk else "not low risk"
    of_class = f", {diff.change_class}, {risk}" if diff.drift else ", same meaning"
    click.echo(f"{len(diff.findings)} findings, {diff.severity}{of_class}")


def _seen(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """A text of a server, with what nobody sees and what looks like something else as escapes."""
    from tipstaff.drift.screen import unmistakable

    return unmistakable(visible(text, limit=limit))


def _place(found: ContractFinding) -> str:
    return f"{found.tool or 'server'}{found.path}"


def _text(value: Any) -> str:
    import json

    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    )


def _sarif(findings: Iterable[ContractFinding], file: str) -> Json:
    from tipstaff.cli.sarif import sarif

    found = list(findings)
    return sarif(to_findings(found, file), [], about=about(found))


def about(findings: Iterable[ContractFinding]) -> dict[str, str]:
    """The page of the Model Context Protocol for each code of these findings."""
    return {f"contract.{found.kind}": _page(found.kind) for found in findings}


def _page(kind: str) -> str:
    """Where the Model Context Protocol says what a finding is about."""
    part = next((page for start, page in _PAGES.items() if kind.startswith(start)), "server/tools")
    return f"https://modelcontextprotocol.io/specification/2025-11-25/{part}"


def to_findings(findings: Iterable[ContractFinding], file: str) -> list[Finding]:
    """What changed in the contract of a snapshot's file, as a linter would say it."""
    from tipstaff.cli.contracts.places import Places

    path, places = Path(file), Places(Path(file))
    return [
        Finding(
            code=f"contract.{found.kind}",
            severity=_LEVELS[found.severity],
            file=file if not path.is_absolute() else path.name,
            line=places.line(found.tool, found.path),
            message=visible(f"{_place(found)}: {found.message}"),
            solution="look at both contracts, and repair what depends on it before the new one is accepted",
            rule="tipstaff.contract.grades",
        )
        for found in findings
    ]


def reason_findings(reasons: Iterable[Reason], file: str) -> list[Finding]:
    """Why policy does not take a contract as it stands, as a linter would say it."""
    return [
        Finding(
            code=reason.code,
            severity="error",
            file=file,
            line=None,
            message=visible(reason.message),
            solution=visible(reason.solution),
            rule=reason.rule,
        )
        for reason in reasons
    ]


__all__ = [
    "Authority",
    "about",
    "diff_options",
    "reason_findings",
    "say_what_to_do",
    "show",
    "show_lines",
    "to_findings",
]
