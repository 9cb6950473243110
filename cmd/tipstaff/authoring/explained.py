"""`mutation.toml` beside a policy: the wanted score, and why single mutants cannot be noticed.

It is TOML because OPA takes every JSON and YAML file of a folder for data. An explanation is bound to a mutant's id,
which rests on the text of the rule and not on its line: whoever edits the rule has to think again.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tipstaff.documents.base import parse
from tipstaff.documents.mutation import MutationFile
from tipstaff.errors import ContractError

NAME = "mutation.toml"


@dataclass(frozen=True)
class Explanations:
    """The wanted score of a folder and the explanations by mutant."""

    minimum: float | None
    reasons: dict[str, str]


def read(folder: Path) -> Explanations:
    """What the file in a folder says; nothing where there is none.

    Raises ``ContractError``: ``document.invalid``, ``file.unreadable``, ``policy.explanation``.
    """
    file = folder / NAME
    try:
        value = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Explanations(None, {})
    except OSError as error:
        raise ContractError(
            "file.unreadable", str(error.strerror), file=str(file), fix="make the file readable"
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _bad(file, f"it is not TOML: {error}") from error
    said = parse(MutationFile, value, file=str(file))
    reasons = {one.id: one.why for one in said.explained}
    if len(reasons) != len(said.explained):
        raise _bad(file, "an id stands in it twice")
    return Explanations(said.minimum, reasons)


def _bad(file: Path, why: str) -> ContractError:
    return ContractError(
        "policy.explanation",
        why,
        file=str(file),
        fix="write minimum = 95, and for each mutant [[explained]] with id, what and why",
    )
