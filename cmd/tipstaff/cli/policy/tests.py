"""`tipstaff policy test`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import click

from tipstaff import declared
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.cli.writing import write_text
from tipstaff.documents.base import Json
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa, ensure
from tipstaff.pdp.syntax import lines

_ALL = 100.0
_ONE_TEST_S = 20
_ALL_TESTS_S = 600.0
_CANCELLED = "eval_cancel_error"


@click.command()
@folder_argument
@click.option(
    "--coverage",
    "wanted",
    type=click.FloatRange(0, _ALL),
    help="Percent of the rules' lines that tests must reach; below it the lines are named.",
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write the results to, as JUnit XML.",
)
@json_option
def test(folder: Path | None, wanted: float | None, junit: Path | None, as_json: bool) -> int:
    """Run `opa test` on the folder; an overlay's tests see Tipstaff's own packages.

    A test that takes longer than 20 seconds fails.

    Exits 0 when all tests pass, 1 when one fails or too little is covered, 2 when the Rego does not compile or there
    is no test.
    """
    folder = folder or overlay()
    answer, covered = _run(ensure(say), folder, with_coverage=wanted is not None)
    results = _results(answer.stdout, answer.stderr, folder)
    rows = [_row(result) for result in results]
    passed, skipped = (sum(row[name] for row in rows) for name in ("passed", "skipped"))
    failed = len(rows) - passed - skipped
    report: Json = {"passed": passed, "failed": failed, "skipped": skipped, "tests": rows}
    is_covered = True
    if wanted is not None and not failed:
        from tipstaff.authoring import coverage

        found = coverage.of_rules(covered, folder)
        report["coverage"] = {"percent": found.percent, "uncovered": list(found.uncovered)}
        # No decision about a change: the number that the caller wants, held against a count.
        is_covered = found.percent >= wanted
    if junit:
        from tipstaff.authoring.junit import report as junit_report

        write_text(junit, junit_report(results))
    if as_json:
        print_json(report)
    else:
        _show(report, wanted)
    return 0 if not failed and is_covered else 1


def _run(opa: Opa, folder: Path, *, with_coverage: bool) -> tuple[CompletedProcess[bytes], bytes]:
    """The results and, from a second run beside the first, what is covered: OPA reports one or the other."""
    arguments = [
        "test",
        str(folder),
        "--format=json",
        f"--timeout={_ONE_TEST_S}s",
        "--schema",
        _schemas(),
    ]
    name = root(folder)
    if name != "tipstaff":
        arguments += [str(declared.folder("policy")), "--run", rf"^data\.{name}\."]
    with ThreadPoolExecutor(2) as pool:
        other = (
            pool.submit(opa.run, [*arguments, "--coverage"], timeout_s=_ALL_TESTS_S)
            if with_coverage
            else None
        )
        answer = opa.run(arguments, timeout_s=_ALL_TESTS_S)
        return answer, other.result().stdout if other else b""


def _row(result: Json) -> dict[str, Any]:
    return {
        "package": result["package"],
        "name": result["name"],
        "passed": not any(result.get(name) for name in ("fail", "error", "skip")),
        "skipped": bool(result.get("skip")),
        "error": _error(result.get("error")),
        "file": result["location"]["file"],
        "line": result["location"]["row"],
    }


def _error(error: Json | None) -> str | None:
    """Why a test came to no end of its own; None for one that did."""
    if error is None:
        return None
    if error.get("code") == _CANCELLED:
        return f"it took longer than {_ONE_TEST_S} s"
    return str(error.get("message"))


def _show(report: Json, wanted: float | None) -> None:
    for row in report["tests"]:
        if not row["passed"] and not row["skipped"]:
            place = f"{row['file']}:{row['line']}"
            why = f": {row['error']}" if row["error"] else ""
            click.echo(visible(f"{place}: {row['package']}.{row['name']} failed{why}"))
    if found := report.get("coverage"):
        for place in found["uncovered"]:
            click.echo(visible(f"{place['file']}:{place['lines']}: no test reaches it"))
        click.echo(f"{found['percent']:g} % covered, wanted {wanted:g} %")
    skipped = f", {report['skipped']} skipped" if report["skipped"] else ""
    click.echo(f"{report['passed']} passed, {report['failed']} failed{skipped}")


def _schemas() -> str:
    return str(declared.folder("contracts"))


def _results(stdout: bytes, stderr: bytes, folder: Path) -> Sequence[Json]:
    try:
        results = json.loads(stdout or b"[]")
    except ValueError:
        results = None
    if not isinstance(results, list) or not results:
        raise ContractError(
            "policy.invalid",
            lines(stderr or stdout) or "there is no test",
            file=str(folder),
            fix="correct the Rego at the named line, or add a test",
        )
    return results
