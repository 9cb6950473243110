"""Values of this process's variables for a server, read when they are needed and kept nowhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from tipstaff.errors import ContractError

_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


def values(names: Iterable[str]) -> dict[str, str]:
    """Variables with their values; raises ``ContractError`` (``contract.variable``) for one that is not set."""
    found = {}
    for name in names:
        if name not in os.environ:
            raise _refusal(name, "is not set", f"set {name} in the environment of this command")
        found[name] = os.environ[name]
    return found


def headers(wanted: Mapping[str, str]) -> dict[str, str]:
    """Headers with their values from variables; raises ``ContractError`` also for a value that no header can have."""
    known = values(wanted.values())
    for variable in wanted.values():
        if not _HEADER_VALUE.fullmatch(known[variable]):
            raise _refusal(
                variable, "holds what no header can", "set it to one line of printable ASCII"
            )
    return {name: known[variable] for name, variable in wanted.items()}


def _refusal(name: str, message: str, fix: str) -> ContractError:
    return ContractError("contract.variable", f"the variable {name} {message}", field=name, fix=fix)
