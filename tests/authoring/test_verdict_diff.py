"""`tipstaff policy diff` shows what an edit does to verdicts, and stops what loosens one without a word."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.cases import a_case, write_cases
from support.command_line import Result, run
from support.repositories import commit, git
from support.workshop import Workshop
from tipstaff import declared

FENCE = """# METADATA
# title: Fence
# description: Folders that nobody but their owners touches.
package org.fence

_closed := {"infra", "secrets"}

# METADATA
# title: Closed folder
# description: The file lies in a closed folder.
deny contains {"code": "org.fence", "message": "closed", "solution": "ask"} if {
	some file in input.resource.files
	split(file.path, "/")[0] in _closed
}
"""
OPENED = FENCE.replace('{"infra", "secrets"}', '{"secrets"}')
PATHS = ("README.md", "infra/main.tf", "secrets/key.txt", "src/app.py", "docs/infra/notes.md")
RULE = "policy/org/fence/fence.rego"


def a_case_a_path(folder: Path) -> Path:
    """One case a path."""
    named = {f"writes/{path.replace('/', '-')}": a_case(path) for path in PATHS}
    return write_cases(folder / "cases", named)


def a_fence(workshop: Workshop) -> Workshop:
    """The project, its committed overlay closing two folders."""
    write(workshop.root, {RULE: FENCE})
    commit(workshop.root, "close folders")
    return workshop


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """One case a path."""
    return a_case_a_path(tmp_path)


@pytest.fixture
def fenced(workshop: Workshop) -> Workshop:
    """A project whose committed overlay closes two folders."""
    return a_fence(workshop)


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write files into a working tree."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def diff(workshop: Workshop, *more: str | Path, base: str = "HEAD") -> Result:
    """Run the verb in the project."""
    return workshop.run("policy", "diff", "--base", base, *more)


def counts(result: Result) -> list[int]:
    """How many verdicts are looser, stricter, otherwise changed, and the same."""
    return [result.json[name] for name in ("loosened", "tightened", "changed", "unchanged")]


@pytest.mark.req("CI-06")
@pytest.mark.promise("ahead 9")
def test_one_token_that_opens_one_path_is_exactly_that_flip_and_needs_its_id(
    workshop: Workshop, tmp_path: Path
) -> None:
    fenced, cases = a_fence(workshop), a_case_a_path(tmp_path)
    write(fenced.root, {RULE: OPENED})
    before = git(fenced.root, "status", "--porcelain")
    found = diff(fenced, "--corpus", cases, "--json")
    assert (found.code, counts(found)) == (1, [1, 0, 0, len(PATHS) - 1])
    [flip] = found.json["flips"]
    assert flip["case"] == "writes/infra-main.tf"
    assert (flip["base"]["effect"], flip["head"]["effect"]) == ("deny", "allow")
    assert flip["rules"]["went"] == ["org.fence.deny"]
    assert git(fenced.root, "status", "--porcelain") == before
    known = diff(fenced, "--corpus", cases, "--json", "--acknowledge", flip["id"])
    assert (known.code, known.json["unacknowledged"]) == (0, 0)
    assert known.json["flips"] == [{**flip, "acknowledged": True}]


@pytest.mark.req("CI-06")
def test_acknowledgement_in_the_folder_counts_and_one_too_many_is_told(
    fenced: Workshop, cases: Path
) -> None:
    write(fenced.root, {RULE: OPENED})
    [flip] = diff(fenced, "--corpus", cases, "--json").json["flips"]
    entries = [f"  - {{id: '{one}', owner: bob, reason: moved}}" for one in (flip["id"], "0" * 16)]
    text = "\n".join(["schema_version: 1", "loosened:", *entries, ""])
    write(fenced.root, {"policy/acknowledged.yaml": text})
    found = diff(fenced, "--corpus", cases)
    assert found.code == 0
    assert f"loosened  {flip['id']}  writes/infra-main.tf  acknowledged" in found.stdout
    assert f"note: {'0' * 16} is acknowledged and loosens nothing" in found.stderr
    write(fenced.root, {"policy/acknowledged.yaml": text.replace(", reason: moved", "")})
    refused = diff(fenced, "--corpus", cases, "--json")
    assert (refused.code, refused.json["error"]["field"]) == (2, "loosened.0.reason")


def test_tightening_stops_nothing_and_is_counted(fenced: Workshop, cases: Path) -> None:
    write(fenced.root, {RULE: FENCE.replace('"infra"', '"infra", "src"')})
    found = diff(fenced, "--corpus", cases, "--json")
    assert (found.code, counts(found)) == (0, [0, 1, 0, len(PATHS) - 1])


def test_long_list_is_folded_and_counted_and_whole_as_json(
    fenced: Workshop, tmp_path: Path
) -> None:
    named = {f"writes/{number}": a_case(f"infra/{number}.tf") for number in range(23)}
    many = write_cases(tmp_path / "many", named)
    write(fenced.root, {RULE: OPENED})
    shown = diff(fenced, "--corpus", many)
    assert shown.stdout.count("\nloosened") == 20
    assert "and 3 more loosened; --json has them all" in shown.stdout
    assert "not acknowledged: 23 loosened verdicts" in shown.stderr
    assert len(diff(fenced, "--corpus", many, "--json").json["flips"]) == 23
    short = diff(fenced, "--corpus", many, "--summary")
    assert short.code == 1
    assert "loosened  " not in short.stdout
    assert "23 cases: 23 loosened, 0 tightened, 0 changed, 0 unchanged" in short.stdout


def test_edit_without_effect_says_so(fenced: Workshop, cases: Path) -> None:
    write(fenced.root, {RULE: FENCE.replace("_closed", "_shut")})
    found = diff(fenced, "--corpus", cases)
    assert found.code == 0
    assert (
        f"{len(PATHS)} cases: 0 loosened, 0 tightened, 0 changed, {len(PATHS)} unchanged"
        in found.stdout
    )
    assert "this edit changes nothing in these cases" in found.stdout


@pytest.mark.req("CI-06")
def test_number_of_our_own_policy_that_lets_more_through_is_loosened(tmp_path: Path) -> None:
    root = tmp_path / "ours"
    shutil.copytree(declared.folder("policy"), root / "rules")
    git(tmp_path, "init", "-q", str(root))
    commit(root, "our policy")
    data = root / "rules/tipstaff/evidence/data.json"
    data.write_text(data.read_text().replace('["network", "write"]', '["network"]'))
    leaky = a_case()
    leaky["evidence"]["sandbox"]["held"] = ["network"]
    cases = write_cases(tmp_path / "cases", {"leaky": leaky, "sound": a_case()})
    arguments = ("policy", "diff", "--base", "HEAD", "rules", "--corpus", cases, "--json")
    found = run(*arguments, cwd=root)
    assert (found.code, counts(found)) == (1, [1, 0, 0, 1])
    assert found.json["flips"][0]["base"]["codes"] == ["sandbox.not_held:write"]
    assert run(*arguments, "--acknowledge", found.json["flips"][0]["id"], cwd=root).code == 0


def test_team_file_that_differs_judges_on_its_own_side(workshop: Workshop, cases: Path) -> None:
    workshop.configure(autonomy={"heal_additive": "propose"})
    commit(workshop.root, "ask about everything")
    workshop.configure(autonomy={"heal_additive": "auto-if-tests-pass"})
    found = diff(workshop, "--corpus", cases)
    assert found.code == 1
    assert "tipstaff.yaml differs; each side judges under its own" in found.stdout
    assert f"{len(PATHS)} loosened" in found.stdout


def test_overlay_whose_key_the_edit_takes_out_is_all_gone(fenced: Workshop, cases: Path) -> None:
    fenced.configure(policy={"overlay": "policy", "public_key": None})
    found = diff(fenced, "--corpus", cases, "--json")
    assert (found.code, counts(found)) == (1, [2, 0, 0, len(PATHS) - 2])
    assert found.json["head"]["revision"] == "org+0.none"


def test_overlay_that_the_base_lacks_is_all_new(fenced: Workshop, cases: Path) -> None:
    git(fenced.root, "rm", "-r", "-q", "--cached", "policy")
    git(fenced.root, "commit", "-q", "-m", "without an overlay")
    found = diff(fenced, "--corpus", cases, "--json")
    assert (found.code, counts(found)) == (0, [0, 2, 0, len(PATHS) - 2])
    assert found.json["base"]["revision"] == "org+0.none"


@pytest.mark.promise("BR-17")
def test_nothing_to_compare_is_an_error(fenced: Workshop, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for options in (("--corpus", tmp_path / "empty"), ("--from-audit",)):
        found = diff(fenced, *options, "--json")
        assert (found.code, found.json["error"]["code"]) == (2, "comparison.empty")
        assert found.json["error"]["file"]


def test_commit_that_is_none_and_case_that_is_none_are_named(
    fenced: Workshop, tmp_path: Path
) -> None:
    unknown = diff(fenced, "--json", base="no-such-branch")
    assert (unknown.code, unknown.json["error"]["code"]) == (2, "repository.unknown_revision")
    bare = {key: value for key, value in a_case().items() if key != "context"}
    bad = diff(fenced, "--corpus", write_cases(tmp_path / "bad", {"bare": bare}), "--json")
    assert (bad.code, bad.json["error"]["code"]) == (2, "corpus.incomplete")
    assert bad.json["error"]["file"].endswith("bare.input.json")


@pytest.mark.parametrize("broken", ["base", "head"])
def test_rego_that_does_not_compile_is_named_by_side_and_file(
    fenced: Workshop, cases: Path, broken: str
) -> None:
    write(fenced.root, {RULE: FENCE.replace("some file in", "some file inn")})
    if broken == "base":
        commit(fenced.root, "a slip")
        write(fenced.root, {RULE: FENCE})
    found = diff(fenced, "--corpus", cases, "--json")
    assert (found.code, found.json["error"]["code"]) == (2, "policy.invalid")
    side = {"base": "the base HEAD", "head": "the working tree"}[broken]
    assert found.json["error"]["message"].startswith(side)
    assert found.json["error"]["file"].endswith("org/fence/fence.rego")


def test_rule_that_fails_on_one_case_refuses_that_case_alone(fenced: Workshop, cases: Path) -> None:
    failing = (
        FENCE
        + '\ndeny contains "no" if {\n\tinput.resource.files[0].path == "src/app.py"\n\t1 / 0 == 1\n}\n'
    )
    write(fenced.root, {RULE: failing})
    found = diff(fenced, "--corpus", cases, "--json")
    assert (found.code, counts(found)) == (0, [0, 1, 0, len(PATHS) - 1])
    assert found.json["flips"][0]["head"] == {"effect": "deny", "codes": ["engine.http"]}
