"""Gates on real diffs: pinned classes, forbidden capabilities, and paths that no proposal reaches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.documents import a_change, an_approval
from support.repositories import SCRIPT, commit, git, write
from support.workshop import AUTOMATIC, GOLDEN, Files, Workshop
from tipstaff import declared
from tipstaff.pdp.opa import Opa

SHELL = "import subprocess\n\nsubprocess.run('x', shell=True)\n"
NETWORK = "import urllib.request\n\nurllib.request.urlopen('https://example.com')\n"
DENIED = "raw_shell_execution"


@pytest.mark.req("G-01")
@pytest.mark.parametrize("gates", [None, {"require_human": ["augment"]}])
def test_pinned_class_waits_for_a_person_whatever_its_tier(
    workshop: Workshop, gates: dict[str, Any] | None
) -> None:
    workshop.configure(autonomy={"augment": "auto-if-tests-pass"}, approval_gates=gates)
    outcome = workshop.propose(action_class="augment", tests=GOLDEN)
    assert outcome.golden.tests is not None
    assert outcome.verdict.facts["low_risk"] is True
    assert outcome.verdict.effect == "require_approval"
    assert outcome.verdict.codes == ["gate.require_human"]


@pytest.mark.req("G-01")
def test_breaking_heals_are_pinned_too_unless_the_team_says_otherwise(workshop: Workshop) -> None:
    workshop.configure(autonomy={"heal_breaking": "auto-if-tests-pass"}, approval_gates=None)
    assert workshop.decide(a_change("heal_breaking")).codes == ["gate.require_human"]
    workshop.configure(approval_gates={"require_human": []})
    assert workshop.decide(a_change("heal_breaking")).effect == "allow"


@pytest.mark.req("G-02", "KG-09")
@pytest.mark.parametrize("gates", [None, {}, {"forbid": []}, {"forbid": ["db_write"]}])
@pytest.mark.parametrize("tier", ["propose", "auto-if-tests-pass"])
def test_forbidden_capability_is_denied_at_every_tier_and_whatever_the_team_lists(
    workshop: Workshop, gates: dict[str, Any] | None, tier: str
) -> None:
    workshop.configure(autonomy={"heal_additive": tier}, approval_gates=gates)
    for capability in (DENIED, "network_egress_from_sandbox"):
        for place in ("requested", "found"):
            document = a_change(**{f"action__{place}_capabilities": [capability]})
            verdict = workshop.decide(document)
            assert (verdict.effect, verdict.codes[0]) == ("deny", f"forbid:{capability}")


@pytest.mark.req("G-02", "AP-10")
def test_forbidden_capability_is_denied_with_an_approval(workshop: Workshop) -> None:
    waiting = workshop.propose().effects.approval
    assert waiting is not None
    shell = a_change(action__requested_capabilities=[DENIED])
    with workshop.engine() as engine:
        approvals = [
            an_approval(waiting, engine.actor, digest=engine.question(document).judged_sha256)
            for document in (shell, a_change())
        ]
        verdict = engine.decide(shell, approval=approvals[0])
        approved = engine.decide(a_change(), approval=approvals[1])
    assert (verdict.effect, verdict.codes[0]) == ("deny", f"forbid:{DENIED}")
    assert approved.effect == "allow"


@pytest.mark.req("G-03")
def test_local_lists_only_add(workshop: Workshop) -> None:
    both = [DENIED, "network_egress_from_sandbox"]
    workshop.prefer(approval_gates={"forbid": [], "require_human": []})
    for capability in both:
        document = a_change(action__found_capabilities=[capability])
        assert workshop.decide(document).codes[0] == f"forbid:{capability}"
    assert "gate.require_human" in workshop.decide(a_change("augment")).codes
    workshop.prefer(approval_gates={"forbid": ["db_write"], "require_human": ["heal_warning"]})
    three = workshop.decide(a_change(action__found_capabilities=[*both, "db_write"]))
    assert [code for code in three.codes if code.startswith("forbid:")] == [
        "forbid:db_write",
        "forbid:network_egress_from_sandbox",
        f"forbid:{DENIED}",
    ]
    assert "gate.require_human" in workshop.decide(a_change("heal_warning")).codes


@pytest.mark.req("G-04")
@pytest.mark.parametrize("file", ["tipstaff.yaml", "tipstaff.local.yaml"])
def test_unknown_class_among_the_pins_is_an_error(workshop: Workshop, file: str) -> None:
    gates = "approval_gates: {require_human: [heal_braking]}"
    (workshop.root / file).write_text(f"schema_version: 1\n{gates}\n")
    for verb in (["check"], ["tiers"], ["decide", "-"]):
        refused = workshop.run(*verb, "--json", stdin=json.dumps(a_change()).encode())
        assert refused.code == 2
        assert refused.json["error"]["field"] == "approval_gates.require_human.0"
        assert "heal_breaking" in refused.json["error"]["fix"]
    assert workshop.records() == []


@pytest.mark.req("G-05", "G-02")
@pytest.mark.parametrize(
    ("files", "capability"),
    [
        ({"skills/new/run.py": SHELL}, DENIED),
        ({"skills/new/run": "#!/usr/bin/env python3\n" + SHELL}, DENIED),
        ({"skills/word-count/scripts/count.py": SCRIPT + "\n\n" + SHELL}, DENIED),
        ({"skills/new/SKILL.md": f"# Use\n\n```python\n{SHELL}```\n"}, DENIED),
        ({"skills/new/run.py": NETWORK}, "network_egress_from_sandbox"),
    ],
    ids=["script", "without a suffix", "added lines", "in prose", "network"],
)
def test_capability_in_the_added_code_is_found_whatever_was_declared(
    workshop: Workshop, files: Files, capability: str
) -> None:
    outcome = workshop.propose(files)
    assert outcome.document.action.requested_capabilities == []
    assert capability in (outcome.document.action.found_capabilities or [])
    assert outcome.verdict.effect == "deny"
    assert f"forbid:{capability}" in outcome.verdict.codes
    assert workshop.branches() == []


@pytest.mark.req("G-05")
def test_capability_that_is_only_asked_for_counts_too(workshop: Workshop) -> None:
    answer = workshop.propose_cli(workshop.diff(), "--request-capability", DENIED, "--json")
    assert (answer.code, answer.json["verdict"]["codes"][0]) == (1, f"forbid:{DENIED}")


@pytest.mark.req("G-06")
@pytest.mark.parametrize(
    ("files", "paths", "code"),
    [
        (
            {"skills/vendor/a/SKILL.md": "# A\n"},
            {"allowed": ["skills/**/SKILL.md"]},
            "path.read_only",
        ),
        ({"skills/vendor/theirs/SKILL.md": None}, {}, "path.read_only"),
        ({"VENDOR/a.md": "# A\n"}, {}, "path.read_only"),
        ({"README.md": "# R\n"}, {"allowed": ["skills/**/SKILL.md"]}, "path.not_allowed"),
        ({"golden/test_new.py": "\n"}, {"read_only": ["golden/**"]}, "path.read_only"),
    ],
)
def test_path_that_is_not_open_to_proposals_is_a_verdict(
    workshop: Workshop, files: Files, paths: dict[str, Any], code: str
) -> None:
    workshop.configure(autonomy=AUTOMATIC, paths=paths)
    answer = workshop.propose_cli(workshop.diff(files), "--json")
    assert answer.code == 1
    assert answer.json["verdict"]["effect"] == "deny"
    assert code in answer.json["verdict"]["codes"]
    assert workshop.branches() == []


@pytest.mark.req("G-06")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("skills/vendor/theirs/SKILL.md", "skills/ours/SKILL.md"),
        ("skills/word-count/SKILL.md", "skills/vendor/SKILL.md"),
        ("skills/word-count/SKILL.md", "policy/SKILL.md"),
    ],
)
def test_protected_path_is_protected_against_renames_of_both_kinds(
    workshop: Workshop, old: str, new: str
) -> None:
    text = (workshop.root / old).read_text()
    diff = workshop.diff({old: None, new: text})
    assert b"rename from" in diff
    verdict = workshop.propose(diff).verdict
    assert verdict.effect == "deny"
    assert verdict.codes[0].startswith("path.")


CONTROL_PLANE = [
    "policy/tiers.rego",
    "policy/org/freeze/data.json",
    "policy.tar.gz",
    "tipstaff.yaml",
    "tipstaff.local.yaml",
    "skills/tipstaff.yaml",
    ".github/workflows/ci.yml",
    ".tipstaff/audit-trail.jsonl",
    ".tipstaff/ledger.sqlite3",
    "sandbox/profiles/strict.yaml",
    ".gitattributes",
    "POLICY/x.rego",
]


@pytest.mark.req("G-07")
@pytest.mark.parametrize("actor", ["human", "agent", "ci"])
def test_what_judges_changes_is_out_of_reach(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, actor: str
) -> None:
    for name in {"agent": ["CLAUDECODE"], "ci": ["CI"]}.get(actor, []):
        monkeypatch.setenv(name, "1")
    for path in CONTROL_PLANE:
        outcome = workshop.propose({path: "x\n"})
        assert outcome.verdict.effect == "deny", path
        assert "path.control_plane" in outcome.verdict.codes, path
    assert workshop.records()[-1]["actor"]["type"] == actor
    assert workshop.branches() == []


@pytest.mark.req("G-07")
def test_overlay_folder_of_another_name_is_out_of_reach_too(workshop: Workshop) -> None:
    team = workshop.root / "tipstaff.yaml"
    team.write_text("schema_version: 1\npolicy: {overlay: rules/ours}\n")
    assert workshop.propose({"rules/ours/x.rego": "x\n"}).verdict.codes[0] == "path.control_plane"
    assert workshop.propose({"rules/theirs/x.md": "x\n"}).verdict.effect == "require_approval"


@pytest.mark.req("G-07")
def test_link_into_the_control_plane_is_no_way_around(workshop: Workshop) -> None:
    write(workshop.root, {"shared/a.md": "x\n"})
    (workshop.root / "alias").symlink_to("policy")
    commit(workshop.root, "link")
    answer = workshop.run(
        "change", "propose", "--class", "heal_additive", "--diff", "-", stdin=SLIPPED
    )
    assert answer.code == 2
    assert workshop.branches() == []
    assert git(workshop.root, "status", "--porcelain") == ""


SLIPPED = b"""--- /dev/null
+++ b/alias/x.rego
@@ -0,0 +1 @@
+package org.x
"""


@pytest.mark.req("G-08")
def test_each_rule_of_the_gates_names_its_risks_and_a_remedy(opa: Opa) -> None:
    out = opa.run(["inspect", "-a", "-f", "json", str(declared.folder("policy"))])
    annotations = json.loads(out.stdout)["annotations"]
    rules = [
        entry["annotations"]
        for entry in annotations
        if [part["value"] for part in entry["path"]][1:3] == ["tipstaff", "gates"]
        and entry["annotations"]["scope"] == "rule"
        and "_test" not in entry["location"]["file"]
    ]
    assert {rule["custom"]["code"] for rule in rules} == {"gate.require_human", "forbid"}
    for rule in rules:
        assert rule["custom"]["solution"]
        controls = rule["custom"]["controls"]
        assert "OWASP-LLM06:2025" in controls
        assert any(control.startswith("OWASP-ASI") for control in controls)
