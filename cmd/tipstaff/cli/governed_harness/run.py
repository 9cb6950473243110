"""`tipstaff governed-harness run`: a specification through every stage, and its receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tipstaff.cli.completion import files
from tipstaff.cli.governed_harness.shown import (
    demand_listed,
    print_receipt,
    spec_option,
    strict_refs_option,
)
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.writing import demand_room, write_text
from tipstaff.errors import ContractError


@click.command()
@spec_option
@click.option("--out", metavar="FILE", shell_complete=files, help="Write the receipt there, too.")
@strict_refs_option
@json_option
def run(spec: str, out: str | None, strict_refs: bool, as_json: bool) -> int:
    """Take a specification through every stage, and give its receipt.

    Gate, proof, approval, evidence, promotion, rollback plan: a stage that stops it leaves the later ones out. Provers
    run isolated. Where a person has to agree, a request is left in the store. Nothing is applied.

    Exits 0 only when it is promoted, 1 when it is deferred, rejected or rolled back, 2 for a specification that cannot
    be read, and 3 where nothing could be judged.
    """
    from tipstaff.engine import Engine
    from tipstaff.harness.pipeline import Pipeline
    from tipstaff.harness.specification import load

    specification = load(Path(spec))
    if strict_refs:
        demand_listed(specification)
    if out is not None:
        with _told("name a file that can be written"):
            demand_room(Path(out))
    with Engine.open(say=say) as engine:
        judged = Pipeline(engine, specification, say=say).run()
    receipt = judged.receipt
    if out is not None:
        with _told("name another file; the decision is on record"):
            write_text(Path(out), json.dumps(receipt.model_dump(), indent=2) + "\n")
    if as_json:
        print_json(receipt.model_dump())
    else:
        print_receipt(receipt)
    if receipt.promoted:
        return 0
    return 1 if judged.is_answered else 3


@contextmanager
def _told(fix: str) -> Iterator[None]:
    """Name the option by which an unusable file was given."""
    try:
        yield
    except ContractError as error:
        raise ContractError(
            error.code, error.message, file=error.file, field="--out", fix=fix
        ) from error
