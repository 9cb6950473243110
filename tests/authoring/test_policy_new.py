"""`tipstaff policy new` and `docs`: a rule that passes at once, and a reference that says when it is out of date."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import Result
from tipstaff.pdp.opa import Opa

Cli = Callable[..., Result]
EXAMPLES = Path(__file__).parents[2] / "cmd/tipstaff/starter/examples"


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below the overlay and its examples."""
    return {
        str(file): file.read_bytes()
        for folder in root.glob("policy*")
        for file in [folder, *folder.rglob("*")]
        if file.is_file()
    }


@pytest.mark.parametrize("kind", ["deny", "require_approval", "escalate"])
def test_new_rule_passes_every_check_and_answers_its_example(
    kind: str, run_cli: Cli, project: Path, opa: Opa
) -> None:
    made = run_cli("policy", "new", "billing", "--kind", kind, "--json", cwd=project)
    assert made.code == 0
    assert made.json["package"] == "org.billing"
    assert all((project / name).is_file() for name in made.json["written"])
    assert run_cli("policy", "docs", "--check", cwd=project).code == 1
    assert run_cli("policy", "docs", cwd=project).code == 0
    assert run_cli("policy", "docs", "--check", cwd=project).code == 0
    assert f"| {kind} |" in (project / "policy/README.md").read_text()
    assert run_cli("policy", "check", cwd=project).code == 0
    assert run_cli("policy", "test", cwd=project).code == 0
    assert opa.run(["test", "policy"], cwd=project).returncode == 0
    example = "policy-examples/billing.input.json"
    arguments = ["eval", "--format", "raw", "-d", "policy", "-i", example]
    answer = opa.run([*arguments, f"data.org.billing.{kind}[_].code"], cwd=project)
    assert answer.stdout.decode().strip() == "org.billing"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Billing",
        "1st",
        "a-b",
        "a.b",
        "../x",
        "/tmp/x",
        "default",
        "bundle",
        "x_test",
        "a b",
        "é",
        "x" * 42,
    ],
)
def test_bad_name_is_refused_and_nothing_is_written(name: str, run_cli: Cli, project: Path) -> None:
    before = snapshot(project)
    done = run_cli("policy", "new", "--json", "--", name, cwd=project)
    assert done.code == 2
    assert done.json["error"]["code"] == "policy.name"
    assert snapshot(project) == before


def test_existing_rule_is_never_overwritten_unasked(run_cli: Cli, project: Path) -> None:
    before = snapshot(project)
    done = run_cli("policy", "new", "freeze", "--json", cwd=project)
    assert done.code == 2
    assert done.json["error"]["code"] == "policy.exists"
    assert snapshot(project) == before
    assert run_cli("policy", "new", "freeze", "--force", cwd=project).code == 0
    assert snapshot(project) != before


def test_overlay_that_init_makes_has_a_current_reference(run_cli: Cli, project: Path) -> None:
    assert run_cli("policy", "docs", "--check", "--json", cwd=project).json["current"] is True
    out = project / "docs/policy.md"
    assert run_cli("policy", "docs", "--out", str(out), cwd=project).code == 0
    assert "(../policy/org/freeze/freeze.rego#L" in out.read_text()


def test_example_rules_pass_test_check_and_docs(run_cli: Cli, opa: Opa) -> None:
    tested = run_cli("policy", "test", EXAMPLES, "--json")
    assert (tested.code, tested.json["failed"]) == (0, 0)
    assert run_cli("policy", "check", EXAMPLES).code == 0
    assert run_cli("policy", "docs", EXAMPLES, "--check").code == 0
    alone = subprocess.run([opa.path, "test", EXAMPLES], capture_output=True, check=False)
    assert alone.returncode == 0
