"""The policy folder that a verb works on, and the name of its root."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tipstaff.engine.policy import OVERLAY_FOLDER
from tipstaff.errors import ContractError
from tipstaff.files import read_regular
from tipstaff.pdp.source import demand_readable
from tipstaff.project import Project

_MANIFEST_BYTES = 1 << 16

folder_argument = click.argument(
    "folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)


def overlay() -> Path:
    """The overlay of the project here; raises ``ContractError`` (``policy.none``)."""
    project = Project.find()
    folder = project.root / (project.team_setting("policy", "overlay") or OVERLAY_FOLDER)
    if not folder.is_dir():
        raise ContractError(
            "policy.none",
            "no such policy folder",
            file=str(folder),
            fix="run `tipstaff init`, or name the folder",
        )
    return folder


def root(folder: Path) -> str:
    """The one root that the folder's manifest claims, which names its bundle.

    Raises ``ContractError``: ``policy.manifest``, and ``policy.invalid`` for a folder that is not to be read.
    """
    demand_readable(folder)
    manifest = folder / ".manifest"
    try:
        roots = json.loads(read_regular(manifest, limit=_MANIFEST_BYTES))["roots"]
        [name] = roots
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ContractError(
            "policy.manifest",
            "the manifest does not name exactly one root",
            file=str(manifest),
            fix='write {"roots": ["org"]}',
        ) from error
    return str(name)
