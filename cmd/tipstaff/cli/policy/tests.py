"""`tipstaff policy test`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tipstaff import declared
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.policy.folder import folder_argument, overlay, root
from tipstaff.documents.base import Json
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import ensure


@click.command()
@folder_argument
@json_option
def test(folder: Path | None, as_json: bool) -> int:
    """Run `opa test` on the folder; an overlay's tests see Tipstaff's own packages.

    Exits 0 when all tests pass, 1 when one fails, 2 when the Rego does not compile or there is no test.
    """
    folder = folder or overlay()
    name, opa = root(folder), ensure(say)
    arguments = ["test", str(folder), "--format", "json", "--schema", _schemas()]
    if name != "tipstaff":
        arguments += [str(declared.folder("policy")), "--run", rf"^data\.{name}\."]
    answer = opa.run(arguments)
    results = _results(answer.stdout, answer.stderr, folder)
    failed = [result for result in results if result.get("fail") or result.get("error")]
    rows = [
        {
            "package": result["package"],
            "name": result["name"],
            "passed": result not in failed,
            "file": result["location"]["file"],
            "line": result["location"]["row"],
        }
        for result in results
    ]
    if as_json:
        print_json({"passed": len(rows) - len(failed), "failed": len(failed), "tests": rows})
    for row in () if as_json else rows:
        if not row["passed"]:
            click.echo(f"{row['file']}:{row['line']}: {row['package']}.{row['name']} failed")
    if not as_json:
        click.echo(f"{len(rows) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _schemas() -> str:
    return str(declared.folder("contracts"))


def _results(stdout: bytes, stderr: bytes, folder: Path) -> list[Json]:
    try:
        results = json.loads(stdout or b"[]")
    except ValueError:
        results = None
    if not isinstance(results, list) or not results:
        message = " ".join((stderr or stdout).decode(errors="replace").split())
        raise ContractError(
            "policy.invalid",
            message or "there is no test",
            file=str(folder),
            fix="correct the Rego at the named line, or add a test",
        )
    return results
