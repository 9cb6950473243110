"""`tipstaff policy check`: is the source of a policy what its conventions and schemas ask for?"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from tipstaff.authoring.facts import Folder
from tipstaff.authoring.judging import check_policy
from tipstaff.cli.findings import check_options, demand_one_form, show
from tipstaff.cli.output import say
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.pdp.opa import ensure
from tipstaff.project import find_root


@click.command()
@folder_argument
@check_options
def check(folder: Path | None, now: datetime | None, as_json: bool, as_sarif: bool) -> int:
    """Check format, types, capabilities and conventions of the folder.

    Types are checked against the schemas in contracts/, so that a misspelt input path is found. The conventions are
    Rego themselves (tipstaff.conventions). Findings that waivers.yaml sets aside stay visible.

    Exits 0 when nothing is wrong, 1 with findings, 2 where the Rego does not parse or there is no rule.
    """
    demand_one_form(as_json, as_sarif)
    folder = (folder or overlay()).absolute()
    given = Folder(folder, root(folder), find_root(folder))
    report = check_policy(ensure(say), given, now=now)
    return show(report, as_json=as_json, as_sarif=as_sarif)
