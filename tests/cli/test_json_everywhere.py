"""With --json every verb prints one JSON document, when it works and when it does not; exit codes tell which."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import tipstaff
from support.augment_scene import GOLDEN_FOLDER, SKILL_FILE, AugmentScene
from support.documents import a_change
from support.ledger_parts import asked
from support.pinned import Pinned
from support.workshop import Workshop
from tipstaff.cli.program import program
from tipstaff.documents.contract import read_snapshot
from tipstaff.drift.candidates import Candidates
from tipstaff.ledger.approval_file import ApprovalFile
from tipstaff.ledger.database import open_database
from tipstaff.ledger.tokens import Tokens
from tipstaff.project import current_actor

Verb = tuple[str, ...]
RAW_SERVER = str(Path(__file__).parents[1] / "support/servers/raw.py")
UNKNOWN_KEY = "ab" * 32


def verbs(group: click.Group = program) -> list[Verb]:
    """Every command that is no group."""
    found: list[Verb] = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = verbs(command) if isinstance(command, click.Group) else [()]
        found += [(name, *each) for each in inner]
    return found


GOOD: dict[Verb, tuple[list[str], int]] = {
    ("approvals", "approve"): (["{key}"], 0),
    ("approvals", "list"): ([], 0),
    ("approvals", "reject"): (["{other}"], 0),
    ("approvals", "show"): (["{key}"], 0),
    ("audit", "export"): (["{new}"], 0),
    ("audit", "list"): ([], 0),
    ("audit", "verify"): ([], 0),
    ("augment", "propose"): (
        ["{skill}", "--block", "add-up", "--script", "{script}", "--golden", "{golden}"],
        1,
    ),
    ("augment", "scan"): (["{skill}"], 0),
    ("change", "list"): ([], 0),
    ("change", "propose"): (["--class", "heal_additive", "--diff", "{diff}"], 1),
    ("change", "show"): (["{change}"], 0),
    ("check",): ([], 0),
    ("completion",): (["bash"], 0),
    ("contracts", "accept"): (["weather", "--digest", "{candidate}"], 0),
    ("contracts", "canary", "record"): (["told", "--tool", "get_forecast"], 0),
    ("contracts", "canary", "run"): (["told"], 0),
    ("contracts", "check"): (["told"], 0),
    ("contracts", "diff"): (["{snapshot}", "{snapshot}"], 0),
    ("contracts", "import"): (["{capture}", "--name", "weather", "--out", "{new}"], 0),
    ("contracts", "propose"): (["told"], 0),
    ("contracts", "snapshot"): (["weather", "--out", "{new}", "--", sys.executable, RAW_SERVER], 0),
    ("decide",): (["{input}"], 1),
    ("doctor",): ([], 0),
    ("explain",): (["{change}"], 0),
    ("governed-harness", "approvals"): (["--store", "{store}"], 0),
    ("governed-harness", "approve"): (["--store", "{store}", "--key", "a" * 64], 0),
    ("governed-harness", "init"): (["--out", "{new}", "--demo"], 0),
    ("governed-harness", "plan"): (["--spec", "{spec}"], 0),
    ("governed-harness", "reject"): (["--store", "{store}", "--key", "b" * 64], 0),
    ("governed-harness", "run"): (["--spec", "{spec}"], 0),
    ("init",): (["--force"], 0),
    ("mcp", "token", "issue"): (["desk"], 0),
    ("mcp", "token", "list"): ([], 0),
    ("mcp", "token", "revoke"): (["{token}"], 0),
    ("pause",): (["--reason", "x"], 0),
    ("policy", "build"): (["--out", "{new}"], 0),
    ("policy", "docs"): ([], 0),
    ("policy", "new"): (["sized"], 0),
    ("policy", "mutate"): (["--minimum", "50"], 0),
    ("policy", "check"): ([], 0),
    ("policy", "diff"): (["--base", "HEAD", "--from-audit"], 0),
    ("policy", "sign"): ([], 0),
    ("policy", "test"): ([], 0),
    ("policy", "verify"): ([], 0),
    ("policy", "rollback"): (["r1"], 0),
    ("policy", "accept"): (["--reason", "x"], 0),
    ("resume",): ([], 0),
    ("sandbox", "doctor"): ([], 0),
    ("sandbox", "escape"): (["--case", "terminal"], 0),
    ("sandbox", "install"): (["gvisor"], 0),
    ("sandbox", "run"): (["--", "true"], 0),
    ("sidecar", "start"): ([], 0),
    ("sidecar", "status"): ([], 0),
    ("sidecar", "stop"): ([], 0),
    ("tiers",): ([], 0),
    ("audit", "restart"): (["--reason", "x"], 0),
}

# Their standard output is a protocol's, once they serve.
SERVERS: dict[Verb, list[str]] = {("mcp", "serve"): []}

# What a verb is given that it must refuse, beside a project whose configuration is broken.
BAD: list[tuple[Verb, list[str], int]] = [
    (("approvals", "approve"), [UNKNOWN_KEY], 2),
    (("approvals", "approve"), [], 2),
    (("approvals", "list"), ["--status", "denied"], 2),
    (("approvals", "reject"), [UNKNOWN_KEY], 2),
    (("approvals", "show"), ["x"], 2),
    (("audit", "export"), ["README.md"], 2),
    (("audit", "list"), ["--last", "0"], 2),
    (("augment", "propose"), ["absent.md", "--block", "a"], 2),
    (
        ("augment", "propose"),
        ["README.md", "--block", "a", "--script", "x", "--golden", "golden"],
        2,
    ),
    (("augment", "scan"), ["absent.md"], 2),
    (("augment", "scna"), ["README.md"], 2),
    (("change", "propose"), ["--diff", "absent", "--class", "augment"], 2),
    (("change", "propose"), ["--class", "augment"], 2),
    (("change", "show"), ["abcdef"], 2),
    (("change", "shwo"), ["abcdef"], 2),
    (("completion",), ["tcsh"], 2),
    (("contracts", "accept"), ["weather"], 2),
    (("contracts", "accept"), ["weather", "--digest", "abc"], 2),
    (("contracts", "accept"), ["../x", "--digest", UNKNOWN_KEY], 2),
    (("contracts", "canary", "record"), ["weather", "--tool", "x"], 2),
    (("contracts", "canary", "run"), ["weather"], 2),
    (("contracts", "check"), [], 2),
    (("contracts", "check"), ["weather"], 2),
    (("contracts", "check"), ["--sarif"], 2),
    (("contracts", "diff"), ["README.md", "README.md"], 2),
    (("contracts", "diff"), ["absent.mcpc.json", "absent.mcpc.json"], 2),
    (("contracts", "import"), ["README.md", "--name", "x"], 2),
    (("contracts", "import"), ["README.md", "--name", "../x"], 2),
    (("contracts", "propose"), ["weather"], 2),
    (("contracts", "propose"), ["../x"], 2),
    (("contracts", "propose"), ["weather", "--candidate", UNKNOWN_KEY], 2),
    (("contracts", "snapshot"), ["weather"], 2),
    (("contracts", "snapshot"), ["weather", "--", "no-such-program"], 3),
    (("contracts", "snapshot"), ["weather", "--url", "http://host.example/"], 2),
    (("decide",), ["absent.json"], 2),
    (("decide",), [], 2),
    (("decide",), ["README.md"], 2),
    (("explain",), ["no-such-decision"], 2),
    (("governed-harness", "approvals"), ["--store", "x", "--status", "denied"], 2),
    (("governed-harness", "approvals"), [], 2),
    (("governed-harness", "approvals"), ["--store", "README.md"], 3),
    (("governed-harness", "approve"), ["--store", "absent.jsonl", "--key", UNKNOWN_KEY], 2),
    (("governed-harness", "approve"), ["--store", "absent.jsonl"], 2),
    (("governed-harness", "init"), ["--out", "README.md"], 2),
    (("governed-harness", "init"), [], 2),
    (("governed-harness", "plan"), ["--spec", "README.md"], 2),
    (("governed-harness", "plan"), [], 2),
    (("governed-harness", "run"), ["--spec", "absent.json"], 2),
    (("governed-harness", "run"), ["--spec", "golden"], 2),
    (("governed-harness", "reject"), ["--store", "golden", "--key", UNKNOWN_KEY], 3),
    (("governed-harness", "aprove"), ["--store", "x"], 2),
    (("init",), [], 2),
    (("init",), ["absent"], 2),
    (("mcp", "serve"), ["--scope", "approve"], 2),
    (("mcp", "serve"), ["--transport", "pigeon"], 2),
    (("mcp", "token", "issue"), ["../x"], 2),
    (("mcp", "token", "issue"), ["desk", "--lifetime", "soon"], 2),
    (("mcp", "token", "issue"), ["desk", "--scope", "approve"], 2),
    (("mcp", "token", "revoke"), ["absent"], 2),
    (("mcp", "token", "rvoke"), ["absent"], 2),
    (("pause",), [], 2),
    (("policy", "build"), [], 2),
    (("policy", "docs"), ["golden"], 2),
    (("policy", "new"), ["../x"], 2),
    (("policy", "mutate"), ["golden"], 2),
    (("policy", "mutate"), ["--minimum", "101"], 2),
    (("policy", "check"), ["golden"], 2),
    (("policy", "check"), ["--now", "2027-01-01"], 2),
    (("policy", "check"), ["--sarif"], 2),
    (("policy", "diff"), ["--base", "no-such-commit"], 2),
    (("policy", "sign"), ["golden"], 2),
    (("policy", "sign"), ["--expires", "soon"], 2),
    (("policy", "rollback"), ["r99"], 2),
    (("policy", "accept"), [], 2),
    (("policy", "test"), ["golden"], 2),
    (("policy", "test"), ["--coverage", "101"], 2),
    (("policy", "test"), ["--junit", "README.md/x"], 2),
    (("sandbox", "doctor"), ["extra"], 2),
    (("sandbox", "escape"), ["--case", "nonsense"], 2),
    (("sandbox", "escape"), ["--backend", "docker"], 2),
    (("sandbox", "install"), ["bubblewrap"], 2),
    (("sandbox", "run"), [], 2),
    (("sandbox", "run"), ["no-such-command"], 2),
    (("tiers",), ["extra"], 2),
    (("tires",), [], 2),
]


@pytest.fixture
def alone(project: Path) -> Workshop:
    """A workshop with a sidecar of its own."""
    return Workshop(project)


@pytest.fixture
def words(alone: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the placeholders of the arguments stand for."""
    pinned = Pinned.laid(alone, monkeypatch, name="told")
    assert pinned.run("snapshot", "told").code == 0
    scene = AugmentScene.set(alone, tmp_path / "outside")
    first = alone.propose().effects.approval
    other = alone.propose({"skills/b.md": "x\n"})
    assert first is not None
    assert other.effects.approval is not None
    (tmp_path / "change.diff").write_bytes(alone.diff({"skills/c.md": "x\n"}))
    (tmp_path / "input.json").write_text(json.dumps(a_change()))
    store = ApprovalFile(tmp_path / "approvals.jsonl")
    for digest in ("a" * 64, "b" * 64):
        store.request(asked(digest))
    (tmp_path / "capture.json").write_text(json.dumps({"tools": []}))
    (tmp_path / "weather.mcpc.json").write_text(
        json.dumps(
            {
                "schema_version": 1,
                "server_id": "weather",
                "captured_at": "2026-01-01T00:00:00Z",
                "tools": [],
            }
        )
    )
    candidate = read_snapshot(tmp_path / "weather.mcpc.json")
    Candidates(alone.state).keep(candidate, current_actor())
    tokens = Tokens(open_database(alone.state))
    tokens.issue("a-token", "read", lifetime_s=60, by=current_actor())
    return {
        "token": "a-token",
        "candidate": candidate.digest,
        "key": first.key,
        "other": other.effects.approval.key,
        "change": other.verdict.decision_id,
        "diff": str(tmp_path / "change.diff"),
        "input": str(tmp_path / "input.json"),
        "new": str(tmp_path / "new.file"),
        "skill": SKILL_FILE,
        "script": str(scene.script()),
        "golden": GOLDEN_FOLDER,
        "store": str(store.path),
        "spec": str(_specification(tmp_path)),
        "capture": str(tmp_path / "capture.json"),
        "snapshot": str(tmp_path / "weather.mcpc.json"),
    }


def _specification(folder: Path) -> Path:
    starter = Path(tipstaff.__file__).parent / "starter/governed"
    spec = json.loads((starter / "demo.json").read_bytes())
    for side in ("before", "after"):
        spec[side] = json.loads((starter / f"{side}.json").read_bytes())
    path = folder / "governed.json"
    path.write_text(json.dumps(spec))
    return path


def the_document(stdout: str) -> Any:
    """The one JSON document, which ends with a newline."""
    value = json.loads(stdout)
    assert stdout.endswith("}\n")
    assert "\x1b" not in stdout
    return value


def test_table_of_good_calls_names_every_verb() -> None:
    assert {*GOOD, *SERVERS} == set(verbs())


def test_each_verb_that_works_prints_one_document(
    alone: Workshop, words: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tipstaff.sandbox.gvisor.program.install", lambda say: Path("/opt/runsc"))
    alone.run("sidecar", "start")
    for verb, (arguments, code) in GOOD.items():
        Path(words["new"]).unlink(missing_ok=True)
        answer = alone.run(*verb, "--json", *(text.format_map(words) for text in arguments))
        assert answer.code == code, (verb, answer.stdout, answer.stderr)
        assert "error" not in the_document(answer.stdout), verb


@pytest.mark.parametrize(("verb", "arguments", "code"), BAD)
def test_verb_that_is_used_wrongly_prints_one_document(
    workshop: Workshop, verb: Verb, arguments: list[str], code: int
) -> None:
    answer = workshop.run(*verb, "--json", *arguments)
    assert answer.code == code
    told = the_document(answer.stdout)["error"]
    assert set(told) == {"code", "message", "file", "field", "fix"}
    assert told["code"]
    assert told["message"]
    assert told["fix"]
    assert told["message"] in answer.stderr


NEEDS_NO_CONFIG = {
    ("augment", "scan"),
    ("completion",),
    ("doctor",),
    ("init",),
    ("policy", "build"),
    ("sandbox", "doctor"),
    ("sandbox", "escape"),
    ("sandbox", "install"),
    ("change", "list"),
    ("change", "show"),
    ("governed-harness", "approvals"),
    ("governed-harness", "init"),
}


def test_each_verb_in_a_project_with_a_broken_configuration_says_so_in_one_document(
    alone: Workshop, words: dict[str, str]
) -> None:
    (alone.root / "tipstaff.yaml").write_text("schema_version: one\n")
    calls = {verb: arguments for verb, (arguments, _) in GOOD.items()} | SERVERS
    for verb in set(calls) - NEEDS_NO_CONFIG:
        arguments = [text.format_map(words) for text in calls[verb]]
        answer = alone.run(*verb, "--json", *arguments)
        assert answer.code == 2, (verb, answer.stdout)
        assert the_document(answer.stdout)["error"]["field"] == "schema_version", verb


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (["chnage"], "change"),
        (["tires"], "tiers"),
        (["change", "porpose"], "propose"),
        (["approvals", "aprove"], "approve"),
        (["audit", "verfy"], "verify"),
        (["polcy", "test"], "policy"),
    ],
)
def test_wrong_verb_suggests_the_right_one(
    workshop: Workshop, wrong: list[str], right: str
) -> None:
    answer = workshop.run(*wrong)
    assert answer.code == 2
    assert f"Did you mean {right!r}?" in answer.stderr
    assert answer.stdout == ""


def test_verb_that_is_like_none_gets_no_suggestion(workshop: Workshop) -> None:
    answer = workshop.run("xyzzy")
    assert answer.code == 2
    assert "Did you mean" not in answer.stderr


@pytest.mark.parametrize("verb", [(), *verbs()], ids=" ".join)
def test_help_of_each_verb_says_what_it_does(workshop: Workshop, verb: Verb) -> None:
    answer = workshop.run(*verb, "--help")
    assert answer.code == 0
    assert answer.stdout.startswith("Usage: tipstaff")
    if verb:
        assert "--json" in answer.stdout
    assert answer.stderr == ""


def test_exit_codes_tell_how_a_decision_went(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decide(document: Any) -> int:
        return workshop.run("decide", "-", stdin=json.dumps(document).encode()).code

    workshop.configure(autonomy={"heal_additive": "auto-if-tests-pass", "heal_warning": "off"})
    assert decide(a_change()) == 0
    assert decide(a_change("augment")) == 1
    assert decide(a_change("heal_warning")) == 1
    assert decide(a_change(action__found_capabilities=None)) == 1
    assert decide([]) == 2
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TIPSTAFF_OPA_TOKEN", "t")
    assert decide(a_change()) == 3


def test_reader_that_goes_away_is_no_error(workshop: Workshop) -> None:
    line = (
        f"{sys.executable} -c 'from tipstaff.cli import main; main()' audit list --json | head -c 1"
    )
    ended = subprocess.run(line, shell=True, cwd=workshop.root, capture_output=True, check=False)
    assert ended.stdout == b"{"
    assert b"Traceback" not in ended.stderr
