"""What the verbs of governed modifications share: the option that names a specification, and a receipt as lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tipstaff.cli.completion import files
from tipstaff.cli.output import say
from tipstaff.documents.text import visible

if TYPE_CHECKING:
    from tipstaff.documents.governed import Receipt
    from tipstaff.harness.specification import Specification

F = TypeVar("F", bound=Callable[..., Any])
_COLOURS = {"promote": "green", "defer": "yellow", "reject": "red", "rollback": "red"}


def spec_option(function: F) -> F:
    """``--spec``: the file that holds the specification."""
    return click.option(
        "--spec", required=True, metavar="FILE", shell_complete=files, help="The specification."
    )(function)


def strict_refs_option(function: F) -> F:
    """``--strict-refs``: references are held to the list that holds for callers over MCP."""
    return click.option(
        "--strict-refs",
        is_flag=True,
        help="Ask no reference but those on the list in TIPSTAFF_SURFACE_ALLOW.",
    )(function)


def demand_listed(specification: Specification) -> None:
    """Refuse a reference that is on no list (``surface.reference``)."""
    from tipstaff.surfaces.confinement import Confinement

    Confinement().demand_references(specification)


def print_receipt(receipt: Receipt) -> None:
    """The outcome, each stage, why it stopped there, and what a rollback would do."""
    outcome = click.style(receipt.outcome, fg=_COLOURS[receipt.outcome], bold=True)
    click.echo(f"{outcome}  {visible(receipt.modification_id)} of {visible(receipt.artifact_id)}")
    for stage in receipt.stages:
        rest = ", ".join([*stage.codes, *filter(None, [stage.detail])])
        click.echo(f"  {stage.name:10} {stage.status:13} {visible(rest)}".rstrip())
    for reason in receipt.reasons:
        click.echo(f"  {visible(reason['code'])}: {visible(reason['message'])}")
        click.echo(f"      {visible(reason['solution'])}")
    if receipt.approval is not None:
        click.echo(f"  approval {receipt.approval.status}: {visible(receipt.approval.key)}")
    for step in receipt.rollback_plan or []:
        click.echo(f"  rollback would {step.action}: {visible(step.path)}")
    for name, how in receipt.clamped.items():
        say(f"note: {name} is {how}")
    for note in receipt.notes:
        say(f"note: {note}")
