"""`tipstaff policy`: the real opa on a policy folder, ours or a team's overlay."""

from __future__ import annotations

from collections.abc import Mapping

import click

from tipstaff.cli.program import LazyGroup

VERBS: Mapping[str, tuple[str, str]] = {
    "build": ("bundles", "Compile the folder into a signed bundle file."),
    "check": ("check", "Check format, types, capabilities and conventions of the folder."),
    "diff": ("diff", "Show which verdicts an edit loosens, tightens or changes."),
    "mutate": ("mutate", "Change the policy in small ways; list what no test notices."),
    "accept": ("rollback", "Begin from the bundles that lie here now."),
    "rollback": ("rollback", "Bring the content of an earlier bundle back."),
    "sign": ("bundles", "Build the overlay and put its signed bundle beside it."),
    "test": ("tests", "Run `opa test` on the folder."),
    "verify": ("verifying", "Check a signed bundle, link by link."),
}


@click.group(cls=LazyGroup, table=VERBS, package=__name__)
def policy() -> None:
    """Test, build and sign policy.

    That is the team's overlay, if no folder is named.
    """
