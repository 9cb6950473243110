"""`tipstaff sandbox doctor`: each backend as its probe found it."""

from __future__ import annotations

from dataclasses import asdict

import click

from tipstaff.cli.output import json_option, print_json, print_table, say


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Probe every backend, strongest first, under the profile strict.

    The probe runs inside and tries what must be refused; a name on PATH counts for nothing.

    Exits 0 when one backend holds all and limits all, 1 when none does.
    """
    from tipstaff.sandbox.backend import PROTECTIONS
    from tipstaff.sandbox.selection import survey

    probes = survey()
    if as_json:
        print_json({"backends": [asdict(probe) for probe in probes]})
    else:
        print_table(
            ["BACKEND", "STATE", "VERSION", "KERNEL", "HOLDS", "DETAIL"],
            [
                [
                    probe.backend,
                    "ok" if probe.available else "no",
                    probe.version,
                    probe.kernel if probe.held else "",
                    f"{len(probe.held)} of {len(PROTECTIONS)}",
                    probe.reason or probe.program,
                ]
                for probe in probes
            ],
        )
        for probe in probes:
            if probe.fix and not probe.available:
                say(f"{probe.backend}: {probe.fix}")
    return 0 if any(probe.available for probe in probes) else 1
