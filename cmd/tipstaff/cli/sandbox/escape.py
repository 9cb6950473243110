"""`tipstaff sandbox escape`: the escape suite, as a matrix of cases and backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tipstaff.cli.output import json_option, print_json, print_table, say
from tipstaff.cli.sandbox.choice import backend_option, strict_backends
from tipstaff.errors import Error

if TYPE_CHECKING:
    from tipstaff.sandbox.backend import SandboxBackend
    from tipstaff.sandbox.escape.cases import Case
    from tipstaff.sandbox.escape.suite import Finding

    Matrix = Mapping[str, Mapping[str, Finding]]


@click.command()
@backend_option("every one that works")
@click.option(
    "--case", "words", multiple=True, help="Only this case, or this part such as network."
)
@json_option
def escape(backend: str | None, words: tuple[str, ...], as_json: bool) -> int:
    """Run every escape case on every backend that works here, and print what became of it.

    held: refused, or without effect. contained: granted by a kernel of the sandbox's own, with nothing of the host
    in reach. escaped: the host saw it, or it was granted by the host's kernel.

    Exits 0 when nothing escaped, 1 when something did, 3 when a case could not be judged or no backend works.
    """
    from tipstaff.sandbox.escape import cases, suite
    from tipstaff.sandbox.profile import load

    chosen = cases.chosen(words)
    profile = load("strict")
    matrix: dict[str, dict[str, Finding]] = {}
    backends = strict_backends(backend)
    for each in backends:
        matrix[each.name] = {f.case: f for f in suite.run(each, profile, chosen)}
        counts = Counter(finding.outcome for finding in matrix[each.name].values())
        say(f"{each.name}: " + ", ".join(f"{number} {word}" for word, number in counts.items()))
    if as_json:
        print_json(_as_json(backends, chosen, matrix))
    else:
        _print(chosen, matrix)
    return _exit_code(matrix)


def _exit_code(matrix: Matrix) -> int:
    outcomes = {finding.outcome for column in matrix.values() for finding in column.values()}
    if "escaped" in outcomes:
        return 1
    return Error.exit_code if "unjudged" in outcomes else 0


def _print(chosen: Sequence[Case], matrix: Matrix) -> None:
    print_table(
        ["CASE", *(name.upper() for name in matrix), "WHAT MUST BE TRUE"],
        [
            [case.id, *(column[case.id].outcome for column in matrix.values()), case.must]
            for case in chosen
        ],
    )
    for name, column in matrix.items():
        for finding in column.values():
            if finding.outcome in ("escaped", "unjudged"):
                say(f"{name}: {finding.case} {finding.outcome}: {finding.said}")


def _as_json(
    backends: Sequence[SandboxBackend], chosen: Sequence[Case], matrix: Matrix
) -> dict[str, Any]:
    every = [finding.outcome for column in matrix.values() for finding in column.values()]
    rows = []
    for case in chosen:
        found = {name: column[case.id] for name, column in matrix.items()}
        rows.append(
            {
                **case.model_dump(include={"id", "must", "why", "judged"}),
                "found": {n: {"outcome": f.outcome, "said": f.said} for n, f in found.items()},
            }
        )
    return {
        "backends": [asdict(backend.probe()) for backend in backends],
        "cases": rows,
        "counts": dict(Counter(every)),
    }
