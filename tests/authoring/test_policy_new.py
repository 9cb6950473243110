"""`tipstaff policy new` and `docs`: a rule that passes at once, and a reference that says when it is out of date."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

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
    assert run_cli("policy", "sign", cwd=project).code == 0
    assert "org.billing" in run_cli("decide", example, "--json", cwd=project).json["codes"]


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


def test_hostile_annotation_is_shown_in_the_reference_and_not_obeyed(
    run_cli: Cli, project: Path
) -> None:
    said = "'<img src=x onerror=alert(1)> [x](javascript:y) | `a\u202e` | b'"
    note = f"# METADATA\n# title: {said}\n# description: {said}\n"
    more = "".join(f"#   {key}: {said}\n" for key in ("code", "message", "solution"))
    rule = "deny contains rego.metadata.rule().custom if input.kind == 1\n"
    file = project / "policy/org/odd/odd.rego"
    file.parent.mkdir()
    file.write_text(f"{note}package org.odd\n\n{note}# custom:\n{more}{rule}")
    assert run_cli("policy", "docs", cwd=project).code == 0
    page = (
        MarkdownIt("commonmark").enable("table").parse((project / "policy/README.md").read_text())
    )
    inner = [child for token in page for child in token.children or []]
    assert not {"html_inline", "image"} & {child.type for child in inner}
    links = [child.attrGet("href") for child in inner if child.type == "link_open"]
    assert links
    assert all(str(link).startswith("org/") for link in links)
    assert not any(token.type == "html_block" for token in page)
    assert "\u202e" not in (project / "policy/README.md").read_text()


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
