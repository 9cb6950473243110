"""The option that names an approval store."""

from __future__ import annotations

import click

store_option = click.option(
    "--store",
    required=True,
    metavar="PATH",
    help="File of JSON lines that holds requests and decisions, or the URL of a PostgreSQL database.",
)
