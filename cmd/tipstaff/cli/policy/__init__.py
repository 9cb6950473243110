"""`tipstaff policy`: the real opa on a policy folder, ours or a team's overlay."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "accept": ("rollback", "Begin from the bundles that lie here now."),
    "build": ("bundles", "Compile the folder into a signed bundle file."),
    "check": ("check", "Check format, types, capabilities and conventions of the folder."),
    "diff": ("diff", "Show which verdicts an edit loosens, tightens or changes."),
    "docs": ("docs", "Write the reference of the folder from its annotations."),
    "mutate": ("mutate", "Change the policy in small ways; list what no test notices."),
    "new": ("new", "Write a rule with its test, metadata and example into the overlay."),
    "rollback": ("rollback", "Bring the content of an earlier bundle back."),
    "sign": ("bundles", "Build the overlay and put its signed bundle beside it."),
    "test": ("tests", "Run `opa test` on the folder."),
    "verify": ("verify", "Check a signed bundle, link by link."),
}


@click.group(cls=LazyGroup, table=VERBS, package=__name__)
def policy() -> None:
    """Test, build and sign policy.

    That is the team's overlay, if no folder is named.
    """
