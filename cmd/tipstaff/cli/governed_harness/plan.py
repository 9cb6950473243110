"""`tipstaff governed-harness plan`: what reading a specification shows; nothing is run or written."""

from __future__ import annotations

import click

from tipstaff.cli.governed_harness.shown import (
    demand_listed,
    print_receipt,
    spec_option,
    strict_refs_option,
)
from tipstaff.cli.output import json_option, print_json, say


@click.command()
@spec_option
@strict_refs_option
@json_option
def plan(spec: str, strict_refs: bool, as_json: bool) -> int:
    """Read a specification and say what its stages would be.

    What the source uses is judged as in a run. No prover, gate reference or store is asked, and nothing is written.

    Exits 0 when the specification can be judged, whatever it would come to, 2 for one that cannot be read, and 3 where
    policy gives no answer.
    """
    from pathlib import Path

    from tipstaff.engine import Engine
    from tipstaff.harness.pipeline import Pipeline
    from tipstaff.harness.specification import load

    specification = load(Path(spec))
    if strict_refs:
        demand_listed(specification)
    with Engine.open(say=say) as engine:
        judged = Pipeline(engine, specification, say=say).plan()
    if as_json:
        print_json(judged.receipt.model_dump())
    else:
        print_receipt(judged.receipt)
    return 0 if judged.is_answered else 3
