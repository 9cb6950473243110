"""`tipstaff policy check` on an overlay made by `tipstaff init`: each mistake has its file, line and remedy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Result, run
from support.edited_policy import edit_rego
from tipstaff.pdp.opa import Opa

Cli = Callable[..., Result]
FREEZE = "policy/org/freeze/freeze.rego"
TEST = "policy/org/freeze/freeze_test.rego"
SIZE = """# METADATA
# title: Size
# description: Big changes are looked at.
# schemas:
#   - input: schema["change.schema"]
package org.size

# METADATA
# title: Big file
# description: One file grows by more than 500 lines.
# custom:
#   code: org.size
#   message: a file grows by more than 500 lines
#   solution: split the change, or have it approved
require_approval contains rego.metadata.rule().custom if {
	some file in input.resource.files
	is_number(file.added)
	file.added > 500
}
"""
SIZE_TEST = """package org.size_test

import data.org.size

_change(added) := {"resource": {"files": [{"added": added}]}}

test_big_file_is_looked_at if count(size.require_approval) == 1 with input as _change(501)

test_small_file_is_not_looked_at if count(size.require_approval) == 0 with input as _change(500)
"""


@pytest.fixture
def sized(project: Path) -> Path:
    """The project with a second rule in its overlay."""
    folder = project / "policy/org/size"
    folder.mkdir()
    (folder / "size.rego").write_text(SIZE)
    (folder / "size_test.rego").write_text(SIZE_TEST)
    return project


def findings(run_cli: Cli, root: Path, *arguments: str) -> list[dict[str, Any]]:
    """What a check with findings finds."""
    done = run_cli("policy", "check", *arguments, "--json", cwd=root)
    assert done.code == 1, done.stderr
    found: list[dict[str, Any]] = done.json["findings"]
    for one in found:
        assert one.keys() == {"code", "severity", "file", "line", "message", "solution", "rule"}
        assert one["solution"]
    return found


def test_overlay_that_init_makes_has_no_finding(run_cli: Cli, project: Path) -> None:
    done = run_cli("policy", "check", "--json", cwd=project)
    assert done.code == 0
    assert done.json == {"findings": [], "waived": [], "checked": {"files": 2, "rules": 2}}


# Before, after, code, line, and a word of the remedy.
MISTAKES: dict[str, tuple[str, str, str, int, str]] = {
    "a type error": ("file.added > 500", "count(file.added) > 500", "convention.type", 18, "type"),
    "a misspelt path": (
        "input.resource.files",
        "input.resorce.files",
        "convention.type",
        16,
        "path",
    ),
    "a built-in that is not allowed": (
        "\tis_number(file.added)\n",
        '\tis_number(file.added)\n\thttp.send({"url": "http://x"}).status_code == 200\n',
        "convention.type",
        18,
        "built-in",
    ),
    "an unguarded comparison": (
        "\tis_number(file.added)\n",
        "",
        "convention.comparison",
        17,
        "is_number",
    ),
    "a missing metadata key": (
        "#   solution: split the change, or have it approved\n",
        "",
        "convention.metadata",
        14,
        "solution",
    ),
    "a misspelt metadata key": (
        "#   code: org.size\n",
        "#   code: org.size\n#   sevirity: x\n",
        "convention.unknown_key",
        16,
        "severity",
    ),
    "a code used twice": (
        "#   code: org.size\n",
        "#   code: org.freeze\n",
        "convention.code_twice",
        15,
        "another code",
    ),
    "a code of another family": (
        "#   code: org.size\n",
        "#   code: size.big\n",
        "convention.code_family",
        15,
        "org.<name>",
    ),
    "an unused variable": (
        "\tis_number(file.added)\n",
        "\tis_number(file.added)\n\tunread := 5\n",
        "convention.compile",
        18,
        "misspelt",
    ),
    "loose format": (
        "\tis_number(file.added)\n",
        "    is_number(file.added)\n",
        "convention.format",
        17,
        "opa fmt",
    ),
    "a name that nobody reads": (
        "require_approval contains",
        "violation contains",
        "convention.unread",
        15,
        "require_approval",
    ),
    "no schema": (
        '# schemas:\n#   - input: schema["change.schema"]\n',
        "",
        "convention.schema",
        4,
        "schemas",
    ),
    "a package of another folder": (
        "package org.size",
        "package org.sizes",
        "convention.package",
        6,
        "move the file",
    ),
    "a print": (
        "\tis_number(file.added)\n",
        '\tis_number(file.added)\n\tprint("x")\n',
        "convention.print",
        18,
        "take it out",
    ),
}


# OPA checks types only where everything else compiles.
EARLIER = {"a built-in that is not allowed", "an unused variable"}


@pytest.fixture(scope="module")
def found_mistakes(_initialised: Path, opa: Opa, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Overlays with every mistake, each in a package of its own: what is found, and what is printed."""
    found, printed = [], ""
    for names in (EARLIER, set(MISTAKES) - EARLIER):
        root = tmp_path_factory.mktemp("mistakes") / "repository"
        shutil.copytree(_initialised, root, symlinks=True)
        for name in names:
            _make(root, name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TIPSTAFF_OPA", str(opa.path))
            done = run("policy", "check", "--json", cwd=root)
            assert done.code == 1, done.stderr
            found += done.json["findings"]
            printed = run("policy", "check", cwd=root).stdout
    return found, printed


def _make(root: Path, mistake: str) -> None:
    before, after, *_ = MISTAKES[mistake]
    assert SIZE.count(before) == 1
    name = f"size{list(MISTAKES).index(mistake)}"
    folder = root / "policy/org" / name
    folder.mkdir()
    (folder / f"{name}.rego").write_text(_renamed(SIZE.replace(before, after), name))
    (folder / f"{name}_test.rego").write_text(_renamed(SIZE_TEST, name))


def _renamed(text: str, name: str) -> str:
    text = re.sub(r"\bsize\.", f"{name}.", re.sub(r"\borg\.size", f"org.{name}", text))
    return text


@pytest.mark.req("CI-02")
@pytest.mark.promise("BR-12")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_in_an_overlay_is_named_with_file_line_and_remedy(
    mistake: str, found_mistakes: tuple[list[dict[str, Any]], str]
) -> None:
    *_, code, line, remedy = MISTAKES[mistake]
    found, printed = found_mistakes
    name = f"size{list(MISTAKES).index(mistake)}"
    file = f"policy/org/{name}/{name}.rego"
    [hit] = [one for one in found if one["code"] == code and one["file"] == file]
    assert hit["line"] == line
    assert remedy in f"{hit['message']} {hit['solution']}"
    assert mistake in EARLIER or f"{file}:{line}: {code}: {hit['message']}" in printed


def test_boolean_rule_without_a_default_is_found_where_its_value_is_asked_for(
    run_cli: Cli, sized: Path
) -> None:
    rule = '\n# METADATA\n# title: Code\nis_code if input.kind == "change"\n\n_other if is_code == false\n'
    file = sized / "policy/org/size/size.rego"
    file.write_text(SIZE + rule)
    [hit] = findings(run_cli, sized)
    assert (hit["code"], hit["line"]) == ("convention.default", 25)
    assert "default is_code := false" in hit["solution"]
    file.write_text(SIZE + rule.replace("is_code if", "default is_code := false\n\nis_code if"))
    assert run_cli("policy", "check", cwd=sized).code == 0


@pytest.mark.promise("D4", "row 35")
def test_entrypoint_without_a_default_is_found(run_cli: Cli, tmp_path: Path) -> None:
    folder = edit_rego(
        tmp_path / "edited",
        "decision/decision.rego",
        "default verdicts := []\n\nverdicts",
        "verdicts",
    )
    [hit] = findings(run_cli, tmp_path, str(folder))
    assert hit["code"] == "convention.default"
    assert hit["rule"] == "tipstaff.decision.verdicts"
    assert hit["file"].endswith("tipstaff/decision/decision.rego")


def test_reason_that_no_test_names_is_found(run_cli: Cli, sized: Path) -> None:
    (sized / "policy/org/size/size_test.rego").unlink()
    [hit] = findings(run_cli, sized)
    assert (hit["code"], hit["line"]) == ("convention.untested", 15)


def test_misspelt_path_says_which_there_are(
    found_mistakes: tuple[list[dict[str, Any]], str],
) -> None:
    [hit] = [one for one in found_mistakes[0] if "input.resorce" in one["message"]]
    assert "there is: " in hit["message"]
    assert "resource" in hit["message"]


@pytest.mark.parametrize("file", [FREEZE, TEST])
def test_rego_that_does_not_parse_is_an_error_with_its_line(
    file: str, run_cli: Cli, project: Path
) -> None:
    (project / file).write_text("package org.freeze\n\ndeny contains {\n")
    done = run_cli("policy", "check", "--json", cwd=project)
    assert done.code == 2
    assert done.json["error"]["code"] == "policy.invalid"
    assert done.json["error"]["file"].startswith(f"{file}:")
    assert "rego_parse_error" in done.json["error"]["message"]


def test_folder_without_a_rule_is_an_error_and_not_clean(run_cli: Cli, project: Path) -> None:
    (project / TEST).unlink()
    (project / FREEZE).write_text("package org.freeze\n")
    done = run_cli("policy", "check", "--json", cwd=project)
    assert done.code == 2
    assert done.json["error"]["code"] == "policy.empty"
    assert "0 rules checked" in done.json["error"]["message"]
    (project / FREEZE).unlink()
    assert run_cli("policy", "check", cwd=project).code == 2


def test_json_and_sarif_together_are_a_usage_error(run_cli: Cli, project: Path) -> None:
    done = run_cli("policy", "check", "--json", "--sarif", cwd=project)
    assert done.code == 2
    assert done.json["error"]["code"] == "usage"


@pytest.mark.parametrize("verb", ["docs", "sign"])
def test_verb_that_passes_says_what_check_would_find(
    project: Path, run_cli: Callable[..., Result], verb: str
) -> None:
    file = project / "policy/org/freeze/freeze.rego"
    file.write_text(file.read_text() + "\n\n\n")
    done = run_cli("policy", verb, cwd=project)
    assert done.code == 0
    assert "`tipstaff policy check` has 1 finding here" in done.stderr
    assert "1 finding, 0 waived" in run_cli("policy", "check", cwd=project).stdout


def test_rule_without_metadata_is_one_finding_that_names_all_it_lacks(
    project: Path, run_cli: Callable[..., Result]
) -> None:
    file = project / "policy/org/freeze/freeze.rego"
    file.write_text(file.read_text() + '\ndeny contains {"code": "x"} if input.kind == "action"\n')
    found = run_cli("policy", "check", "--json", cwd=project).json["findings"]
    [lacking] = [one for one in found if one["code"] == "convention.metadata"]
    for key in ("title", "description", "custom.code", "custom.message", "custom.solution"):
        assert key in lacking["message"]
