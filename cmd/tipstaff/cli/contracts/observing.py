"""Observing servers for the verbs about contracts: which server a name means, and what a report shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tipstaff.documents.text import visible
from tipstaff.errors import UnobservedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tipstaff.documents.observation import ObservationReport
    from tipstaff.drift.observing.target import Call, Observation, Target
    from tipstaff.project import Project


def configured(project: Project, name: str) -> Target:
    """The server of that name in the team's file; raises ``ContractError`` (``contract.unknown``) without one."""
    from tipstaff.drift.observing.target import Target
    from tipstaff.healing.pins.baseline import server

    return Target.configured(name, server(project, name))


def observe(project: Project, target: Target, calls: Sequence[Call] = ()) -> Observation:
    """A server as it is now, isolated as the project's files say; see ``drift.observing``."""
    from tipstaff.drift.observing import limits
    from tipstaff.drift.observing.observe import observe as observe_server
    from tipstaff.evidence.isolation import configured as isolation

    found = isolation(project, limits=limits.load().run)
    return observe_server(target, found, root=project.root, calls=calls)


def show_report(report: ObservationReport) -> None:
    """What a server tried, left and said besides, a line each."""
    for one in report.attempts:
        times = f", {one.times} times" if one.times > 1 else ""
        click.echo(f"tried    {one.kind} {visible(one.what)} ({one.call}{times})")
    if report.attempts_left_out:
        click.echo(f"tried    {report.attempts_left_out} more")
    for path in report.written:
        click.echo(f"left     {visible(path)}")
    if report.noise_lines:
        click.echo(f"printed  {report.noise_lines} lines outside the protocol")
    for note in report.notes:
        click.echo(f"note     {visible(note)}")


def show_failed(error: UnobservedError) -> None:
    """What is known of a server that could not be observed."""
    if error.report is not None:
        show_report(error.report)


def here() -> Project:
    """The project of the working folder."""
    from tipstaff.project import Project

    return Project.find(Path())
