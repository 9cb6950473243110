"""`tipstaff sandbox install`: a backend's program, built into the user's cache; no run ever does that by itself."""

from __future__ import annotations

import click

from tipstaff.cli.output import json_option, print_json, say


@click.command()
@click.argument("backend", type=click.Choice(["gvisor"]))
@json_option
def install(backend: str, as_json: bool) -> int:
    """Build a backend's program, by its pinned version, into the user's cache.

    It takes Go, the network and some minutes, once. The other backends come
    with Tipstaff or with the system.

    Exits 3 when it cannot be built.
    """
    from tipstaff.sandbox.gvisor import program

    path = program.install(say)
    if as_json:
        print_json({"backend": backend, "version": program.VERSION, "program": str(path)})
    else:
        print(path)
    return 0
