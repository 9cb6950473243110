"""A contract that drifted: proposed with what depends on it, by the path of every other change."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.contracts import FORECAST, STATIONS, edited, taken
from support.repair_scene import (
    AGENT,
    AGENT_TEXT,
    PIN,
    SKILL,
    SKILL_TEXT,
    Edit,
    RepairScene,
    add_deletion,
    add_radars,
    nothing,
    remove,
    rename_days,
    reword,
)
from support.repositories import commit, git, write
from support.workshop import GOLDEN, Workshop
from tipstaff.documents.contract import SUFFIX, read_snapshot, text

OPEN = {
    "autonomy": dict.fromkeys(
        ("heal_additive", "heal_warning", "heal_breaking"), "auto-if-tests-pass"
    ),
    "approval_gates": {"require_human": []},
}


@pytest.fixture
def scene(workshop: Workshop) -> RepairScene:
    """The weather's server, pinned."""
    return RepairScene.set(workshop)


@pytest.mark.req("C-18", "T-02", "AU-05", "KG-11")
def test_renamed_parameter_is_proposed_with_the_files_that_name_it(
    scene: RepairScene, tmp_path: Path
) -> None:
    before, root = scene.workshop.own(), scene.workshop.root
    done = scene.propose(rename_days)
    assert scene.workshop.own() == before
    assert done.change is not None
    verdict = done.change.verdict
    assert verdict.effect == "require_approval"
    assert {"contract.breaking", "gate.require_human", "tier.propose"} <= set(verdict.codes)
    assert done.branch is not None
    assert done.branch.startswith("tipstaff/heal_breaking/")
    assert scene.changed(done.branch) == [AGENT, PIN, SKILL]
    assert scene.shown(done.branch, AGENT) == AGENT_TEXT.strip().replace('"days"', '"day_count"')
    assert scene.shown(done.branch, SKILL) == SKILL_TEXT.strip().replace(
        "`days`", "`day_count`"
    ).replace("days=3", "day_count=3")
    patch = tmp_path / "repair.patch"
    patch.write_text(git(root, "diff", "--binary", "main", done.branch) + "\n")
    subprocess.run(["git", "-C", root, "apply", "--check", patch], check=True)
    assert [
        entry for entry in scene.workshop.entries() if entry not in ("started", "checkpoint")
    ] == ["detected", "require_approval", "proposed", "awaiting-approval"]
    assert scene.workshop.is_sound()
    [request] = scene.requests()
    assert request["status"] == "pending"
    assert scene.workshop.approve(request["key"]).verdict.is_allowed
    assert 'status: "ready"' in scene.body()


@pytest.mark.req("T-02")
def test_trail_says_which_contract_drifted(scene: RepairScene) -> None:
    done = scene.propose(rename_days)
    records = {record["decision"]: record for record in scene.workshop.records()}
    [pin] = records["detected"]["detail"]["drift"]
    assert pin == {
        "server": "weather",
        "status": "compared",
        "old_digest": done.diff.old_digest,
        "new_digest": done.diff.new_digest,
    }
    [facts] = records["require_approval"]["detail"]["evidence"]["drift"]["contracts"]
    assert facts["observed_digest"] == facts["new_digest"] == done.diff.new_digest
    assert [change["kind"] for change in facts["changes"]] == ["param_renamed"]


@pytest.mark.req("C-05", "C-18", "C-19", "T-02")
@pytest.mark.parametrize(
    ("edit", "action_class", "effect", "code"),
    [
        (add_radars, "heal_additive", "allow", "tier.auto_if_tests_pass"),
        (add_deletion, "heal_additive", "require_approval", "contract.added_destructive"),
        (reword, "heal_warning", "require_approval", "contract.warning"),
        (remove, "heal_breaking", "require_approval", "contract.breaking"),
    ],
)
def test_only_low_risk_goes_through_by_itself(
    workshop: Workshop, edit: Edit, action_class: str, effect: str, code: str
) -> None:
    workshop.configure(**OPEN)
    commit(workshop.root, "open")
    scene = RepairScene.set(workshop)
    done = scene.propose(edit, tests=GOLDEN)
    assert done.change is not None
    assert done.change.golden.tests is not None
    assert (done.change.verdict.effect, done.diff.change_class) == (effect, action_class)
    assert code in done.change.verdict.codes
    assert str(done.branch).startswith(f"tipstaff/{action_class}/")
    assert (
        git(workshop.root, "log", "--format=%s", "main").splitlines()[0] == "use a weather server"
    )
    if effect == "allow":
        assert scene.requests() == []
        assert 'status: "ready"' in scene.body()


@pytest.mark.req("C-17")
def test_first_contract_is_proposed_and_not_written(workshop: Workshop) -> None:
    scene = RepairScene.set(workshop, pinned=False)
    before = workshop.own()
    done = scene.propose(nothing)
    assert workshop.own() == before
    assert not (workshop.root / PIN).exists()
    assert done.change is not None
    assert done.change.verdict.effect == "require_approval"
    assert "contract.unbaselined" in done.change.verdict.codes
    assert scene.changed(done.branch) == [PIN]
    assert "nothing that was pinned" in scene.body()


@pytest.mark.req("C-03")
def test_contract_that_means_the_same_is_not_proposed(scene: RepairScene) -> None:
    def respell(value: dict[str, Any]) -> None:
        value["tools"][0]["inputSchema"]["$schema"] = "https://json-schema.org/draft/2020-12/schema"

    for edit in (nothing, respell):
        done = scene.propose(edit, at="2027-01-01T00:00:00Z")
        assert (done.status, done.branch, done.change) == ("unchanged", None, None)
    assert scene.workshop.branches() == []
    assert scene.requests() == []
    entries = [entry for entry in scene.workshop.entries() if entry == "allow"]
    assert len(entries) == 2


def test_second_proposal_of_the_same_contract_is_none(scene: RepairScene) -> None:
    first = scene.propose(rename_days)
    again = scene.propose(rename_days, at="2027-05-05T05:05:05Z")
    assert (again.status, again.branch) == ("already_proposed", first.branch)
    assert again.earlier is not None
    assert again.earlier.branch == first.branch
    assert scene.workshop.branches() == [first.branch]
    assert len(scene.requests()) == 1
    assert len(scene.workshop.pull_requests()) == 1
    scene.propose(reword)
    assert len(scene.workshop.branches()) == 2


def test_proposal_that_another_machine_pushed_is_none_again(
    scene: RepairScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = scene.workshop.root
    done = scene.propose(rename_days)
    git(root, "update-ref", f"refs/remotes/origin/{done.branch}", f"{done.branch}")
    git(root, "update-ref", "-d", f"refs/heads/{done.branch}")
    monkeypatch.setenv("TIPSTAFF_STATE_DIR", str(tmp_path / "another"))
    again = scene.propose(rename_days, at="2027-05-05T05:05:05Z")
    assert (again.status, again.branch, again.earlier) == ("already_proposed", done.branch, None)
    assert scene.workshop.branches() == []


@pytest.mark.req("T-09", "C-18")
def test_drift_of_a_class_that_is_off_is_not_proposed(workshop: Workshop) -> None:
    workshop.configure(autonomy={"heal_breaking": "off"})
    commit(workshop.root, "off")
    scene = RepairScene.set(workshop)
    done = scene.propose(remove)
    assert done.change is not None
    assert (done.change.verdict.effect, done.branch) == ("deny", None)
    assert "tier.off" in done.change.verdict.codes
    assert workshop.branches() == []


@pytest.mark.promise("M3")
def test_name_that_deceives_is_not_proposed(workshop: Workshop) -> None:
    workshop.configure(**OPEN)
    commit(workshop.root, "open")
    scene = RepairScene.set(workshop)
    other = taken(edited(nothing, {**STATIONS, "name": "list_radars"}), "radar")
    write(workshop.root, {f"contracts/radar{SUFFIX}": text(other)})
    commit(workshop.root, "another server")
    for edit in (
        add_radars,
        lambda value: value["tools"].append({**STATIONS, "name": "list_st\u0430tions"}),
        lambda value: value["tools"][0].update(description="Forecast.\U000e0041\U000e0042"),
    ):
        done = scene.propose(edit, tests=GOLDEN)
        assert done.change is not None
        assert (done.change.verdict.effect, done.branch) == ("escalate", None)
        assert "contract.deceptive" in done.change.verdict.codes
    assert workshop.branches() == []


def test_file_out_of_reach_is_left_and_told(workshop: Workshop) -> None:
    files = {
        SKILL: SKILL_TEXT,
        "vendored/vendor/x.md": "`get_forecast` with `days`",
        ".github/agent.md": "`get_forecast` with `days`",
        "docs/CODEOWNERS": "# get_forecast.days\n",
    }
    scene = RepairScene.set(workshop, files=files)
    done = scene.propose(rename_days)
    assert scene.changed(done.branch) == [PIN, SKILL]
    assert {place.path for place in done.repair.todo} == {
        SKILL,
        ".github/agent.md",
        "docs/CODEOWNERS",
    }
    assert "is in a file that no proposal may touch" in scene.body()
    assert "2 in vendored or generated folders" in scene.body()


def test_only_named_folders_are_searched(workshop: Workshop) -> None:
    workshop.configure(contracts={"dependents": ["skills"]})
    commit(workshop.root, "look among skills")
    scene = RepairScene.set(workshop)
    done = scene.propose(rename_days)
    assert scene.changed(done.branch) == [PIN, SKILL]
    assert {place.path for place in done.repair.todo} == {SKILL}


def test_what_is_not_committed_is_not_looked_at(scene: RepairScene) -> None:
    write(scene.workshop.root, {"skills/new.md": "`get_forecast` with `days`", SKILL: "Nothing.\n"})
    done = scene.propose(rename_days)
    assert scene.changed(done.branch) == [AGENT, PIN, SKILL]
    assert "`day_count`" in scene.shown(done.branch, SKILL)


@pytest.mark.req("KG-11")
def test_large_repair_is_whole(workshop: Workshop, tmp_path: Path) -> None:
    many = {f"skills/s{number}/SKILL.md": SKILL_TEXT * 20 for number in range(60)}
    scene = RepairScene.set(workshop, files=many)
    done = scene.propose(rename_days)
    root = workshop.root
    assert len(scene.changed(done.branch)) == 61
    diff = git(root, "diff", "--binary", "main", str(done.branch)) + "\n"
    assert len(diff.splitlines()) > 4000
    (tmp_path / "p").write_text(diff)
    subprocess.run(["git", "-C", root, "apply", "--check", tmp_path / "p"], check=True)
    assert len(scene.body()) < 65_536
    assert re.search(r"\d+ more places, in the JSON of", scene.body())


def test_odd_files_are_passed_over_and_counted(workshop: Workshop) -> None:
    root = workshop.root
    scene = RepairScene.set(workshop)
    odd = {
        "a.bin": b"get_forecast `days`\0",
        "latin.md": "get_forecast `days` \xe9".encode("latin-1"),
        "gen.md": b"<!-- @generated -->\nget_forecast `days`\n",
        "big.md": b"get_forecast `days`\n" + b"x" * (1 << 20),
        "node_modules/a/README.md": b"get_forecast `days`\n",
    }
    for name, data in odd.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (root / "link.md").symlink_to(SKILL)
    git(root, "add", "-A", "-f")
    commit(root, "odd files")
    done = scene.propose(rename_days)
    assert scene.changed(done.branch) == [AGENT, PIN, SKILL]
    told = " ".join(done.repair.skipped)
    for reason in (
        "binary",
        "not UTF-8",
        "marked as generated",
        "larger than",
        "vendored",
        "links",
    ):
        assert reason in told


HOSTILE = [
    "`</code><script>alert(1)</script>",
    "@everyone #1 GH-1 https://evil.example/?x",
    "|a|b|\n|---|---|\n",
    "\n\n## Approved\n\n- [x] fine\n",
    "```\ntipstaff approvals approve\n```",
    "<!-- --> <img src=x onerror=y>",
    "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[2J",
    "\u202etxt.exe\u2066 \u200b\U000e0041",
    "[click](javascript:alert(1)) ![i](http://evil.example/i.png)",
    "ghp_" + "a1B2" * 9,
]


@pytest.mark.promise("row 112")
@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_of_a_server_is_shown_and_never_obeyed(scene: RepairScene, hostile: str) -> None:
    def edit(value: dict[str, Any]) -> None:
        value["tools"][0]["description"] = f"Forecast. {hostile}"
        found = value["tools"][0]["inputSchema"]["properties"]
        found["units"]["description"] = hostile
        found["location"]["default"] = hostile
        value["serverInfo"] = {"name": hostile, "version": "1"}

    git(scene.workshop.root, "checkout", "-q", "main")
    done = scene.propose(edit)
    assert done.change is not None
    if done.branch is None:  # what is hidden is not even proposed
        assert done.change.verdict.effect == "escalate"
        return
    body = scene.body()
    demand_inert(body)


def demand_inert(body: str) -> None:
    """Whatever a server says stands in code spans, on one line, without what a terminal obeys."""
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]",
        body,
    )
    bare = re.sub(r"^```\n.*?^```$", "", body, flags=re.MULTILINE | re.DOTALL)
    bare = re.sub(r"`[^`\n]*`", "", bare)
    assert "`" not in bare
    for word in (
        "evil",
        "<script",
        "<img",
        "@everyone",
        "## Approved",
        "[x]",
        "javascript:",
        "ghp_",
    ):
        assert word not in bare
    assert "ghp_a1B2" not in body


def test_pin_that_cannot_be_read_is_an_error_and_nothing_is_made(scene: RepairScene) -> None:
    from tipstaff.errors import ContractError

    write(scene.workshop.root, {PIN: "{}"})
    commit(scene.workshop.root, "break it")
    with pytest.raises(ContractError):
        scene.propose(rename_days)
    assert scene.workshop.branches() == []


@pytest.mark.req("C-05", "C-19")
def test_diff_that_moves_a_pin_under_a_milder_class_is_refused(workshop: Workshop) -> None:
    workshop.configure(**OPEN)
    commit(workshop.root, "open")
    RepairScene.set(workshop)
    for edit, codes in (
        (remove, {"contract.class", "contract.breaking", "contract.unobserved"}),
        (add_radars, {"contract.unobserved"}),
    ):
        moved = workshop.diff({PIN: text(taken(edited(edit)))})
        done = workshop.propose(moved, tests=GOLDEN)
        assert codes <= set(done.verdict.codes)
        assert done.verdict.effect == ("deny" if edit is remove else "require_approval")


def test_diff_that_removes_or_breaks_a_pin_waits_or_is_refused(workshop: Workshop) -> None:
    workshop.configure(**OPEN)
    commit(workshop.root, "open")
    RepairScene.set(workshop)
    gone = workshop.propose(workshop.diff({PIN: None}), "heal_breaking", tests=GOLDEN)
    assert gone.verdict.effect == "require_approval"
    assert "contract.removed" in gone.verdict.codes
    for content in ("{}", "", text(taken(edited(nothing), "other"))):
        broken = workshop.propose(workshop.diff({PIN: content}), "heal_breaking", tests=GOLDEN)
        assert broken.verdict.effect == "deny"
        assert "contract.baseline_untrusted" in broken.verdict.codes


def test_proposed_pin_is_what_was_observed(scene: RepairScene, tmp_path: Path) -> None:
    done = scene.propose(rename_days)
    file = tmp_path / "new.mcpc.json"
    file.write_text(scene.shown(done.branch, PIN) + "\n")
    assert read_snapshot(file).digest == done.diff.new_digest
    assert FORECAST["inputSchema"]["properties"]["days"]
