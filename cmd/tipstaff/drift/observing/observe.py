"""Observing one server: its contract three times over two sessions, its answers, and what it did meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tipstaff.documents.contract import Source
from tipstaff.documents.redaction import redact_text
from tipstaff.drift.observing import inside, origin, outside, variables
from tipstaff.drift.observing.inside import Isolating
from tipstaff.drift.observing.reading import Heard, demand_steady
from tipstaff.drift.observing.target import Call, Observation, Target
from tipstaff.errors import UnobservedError
from tipstaff.project import timestamp


def observe(
    target: Target, isolation: Isolating, *, root: Path, calls: Sequence[Call] = ()
) -> Observation:
    """Start a server in the sandbox, or ask the one at its URL, and give its contract as it is now.

    ``root`` is the project's folder, in which a command is given. Raises ``ContractError`` for a variable that is not
    set, ``SandboxError`` where nothing isolates, and ``UnobservedError`` for a server that is not observed whole: codes
    ``contract.unreachable``, ``contract.incomplete``, ``contract.unsteady`` and ``contract.error_response``.
    """
    if target.command is None:
        source, heard = (
            Source(transport="http", url=redact_text(target.url or "")),
            outside.observe_url(target, calls),
        )
    else:
        source, heard = _inside(target, isolation, root, calls)
    report = heard.report(source.transport)
    try:
        heard.demand_whole()
        snapshots = heard.snapshots(target.name, timestamp(), source)
        demand_steady(snapshots)
    except UnobservedError as error:
        error.report = report
        raise
    return Observation(snapshots[0], report, heard.called())


def _inside(
    target: Target, isolation: Isolating, root: Path, calls: Sequence[Call]
) -> tuple[Source, Heard]:
    values = variables.values(target.environment)
    command = target.command or ()
    found = origin.find(command, root)
    source = Source(
        transport="stdio",
        command=command[0],
        arguments=[redact_text(word) for word in command[1:]],
        environment=sorted({*target.environment, *origin.FIXED}),
        dependencies=dict(found.dependencies),
        executable_sha256=found.executable_sha256,
    )
    return source, inside.observe_inside(target, found, isolation, values, calls)
