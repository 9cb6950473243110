"""The ``--expires`` option: when a bundle ends, as a span from now or as a point in time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click

from tipstaff.errors import ContractError
from tipstaff.pdp.identity import moment
from tipstaff.project import timestamp, utc_now

F = TypeVar("F", bound=Callable[..., Any])
_SPAN = re.compile(r"([1-9][0-9]{0,5})([dhm])")
# What rules take for a time; OPA counts nanoseconds since 1970 in 64 bits, which end in 2262.
_LATEST = "2200-01-01T00:00:00.000000Z"
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def expires_option(function: F) -> F:
    """``--expires 30d`` or ``--expires 2027-01-31T12:00:00Z``; given to the verb as ``expires_at``."""
    return click.option(
        "--expires",
        "expires_at",
        callback=lambda _context, _option, text: None if text is None else _ending(text),
        help="When it ends: 30d, 12h, 90m, or RFC 3339.",
    )(function)


def span(text: str) -> timedelta | None:
    """What ``30d``, ``12h`` or ``90m`` stands for; None for any other text."""
    found = _SPAN.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None


def _ending(text: str) -> str:
    ahead = span(text)
    try:
        if ahead:
            return _reachable(timestamp(utc_now() + ahead))
        end = moment(text)
    except (ValueError, OverflowError) as error:
        raise _unusable(f"{text!r} is neither a span nor a point in time") from error
    if end <= timestamp():
        raise _unusable(f"{text} has passed already")
    return _reachable(end)


def _reachable(end: str) -> str:
    if end >= _LATEST:
        raise _unusable(f"{end} is further ahead than rules can count")
    return end


def _unusable(why: str) -> ContractError:
    return ContractError(
        "bundle.expires",
        why,
        field="--expires",
        fix="give 30d, 12h, 90m, or RFC 3339 with its time zone, as 2027-01-31T12:00:00Z, that is ahead",
    )
