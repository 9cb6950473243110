"""A target that judges changes is out of reach, however it is written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.figures import SEED, dice, figure
from support.harness_known import changed, judged, known
from support.harness_scene import Scene
from tipstaff.errors import ContractError
from tipstaff.harness.facts import document


def spellings(path: str, chance: random.Random) -> str:
    """The path as somebody writes it who hopes that it is not seen."""
    first, _, rest = path.partition("/")
    look = str.maketrans(
        {"o": "\u043e", "i": "\u0456", "a": "\u0430", "p": "\u0440", "c": "\u0441"}
    )
    return chance.choice(
        [
            path.upper(),
            path.title(),
            f"{first} /{rest}",
            f"{first}./{rest}",
            f"{first}\u200b/{rest}",
            path.translate(look),
            f"{first[0].upper()}{first[1:]}/{rest}",
            f"x/../{path}",
            f"{first}//{rest}",
            f"./{path}",
            f" {path}",
            path.replace("/", "\u2215"),
            path.replace("/", "\\"),
            f"{path}\u202e",
            f"{first}\u00ad/{rest}",
            "".join(chance.choice((one.upper(), one)) for one in path[:-1]) + path[-1].upper(),
        ]
    )


@pytest.mark.req("HS-04")
@pytest.mark.promise("A8", "row 86", "row 23", "BR-11", "BR-29")
@figure("number", commit=120, full=500)
def test_target_that_judges_changes_is_out_of_reach_in_every_spelling(
    folder: Path, number: int
) -> None:
    chance = dice(SEED + 1)
    with Scene(folder) as scene:
        asked = []
        for place in ("policy/org/x.rego", "tipstaff.yaml/x.py", ".github/workflows/x.yml"):
            assert not judged(scene, known(scene, changed(modification__target=place))).is_allowed
        for _ in range(number):
            path = spellings(chance.choice(["policy/org/x.py", ".tipstaff/x.py"]), chance)
            try:
                asked.append(
                    document(known(scene, changed(modification__target=path)), scene.engine)
                )
            except ContractError as error:
                assert error.field == "modification.target"
        found = [
            (one.resource.target, verdict.codes)
            for start in range(0, len(asked), 40)
            for one, verdict in zip(
                asked[start : start + 40],
                scene.engine.evaluate(asked[start : start + 40]),
                strict=True,
            )
            if verdict.is_allowed
        ]
        assert not found
