"""A check that cannot fail proves nothing: one fault planted in each group of rows turns a test of the group red."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.command_line import run
from support.edited_policy import edit_rego, put_in_place
from support.workshop import Workshop
from tipstaff.documents import input as inputs
from tipstaff.engine import Engine
from tipstaff.evidence.golden import GoldenRun
from tipstaff.ledger.approvals import Approvals
from tipstaff.ledger.pause import PauseSwitch
from tipstaff.ledger.trail import Trail
from tipstaff.pdp.marks import Marks

TESTS = Path(__file__).parents[1]
Plant = Callable[[pytest.MonkeyPatch, Path], None]


def module(path: str) -> ModuleType:
    """A test module, to call its tests."""
    spec = importlib.util.spec_from_file_location(f"planted_{Path(path).stem}", TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


def rego(file: str, before: str, after: str) -> Plant:
    """A text in a rule replaced, in a copy of the policy that takes its place."""
    return lambda patch, tmp: put_in_place(edit_rego(tmp / "policy", file, before, after), patch)


def python(owner: Any, name: str, value: Any) -> Plant:
    """Something in the Python replaced; the owner may be the name of a module."""
    place = importlib.import_module(owner) if isinstance(owner, str) else owner
    return lambda patch, tmp: patch.setattr(place, name, value)


def everything_passes(_repository: Any, patch: Any, *_: Any, **__: Any) -> GoldenRun:
    """Golden tests that are not run."""
    tests = inputs.TestFacts(passed=2, failed=0, skipped=0, diff_sha256=patch.diff_sha256)
    held = ["network", "write"]
    sandbox = inputs.SandboxFacts(backend="bubblewrap", profile="strict", isolated=True, held=held)
    return GoldenRun(tests, sandbox, None)


def no_verdict_needed(self: Engine, verdict: Any) -> Any:
    """A redemption that takes every verdict."""
    return next(one for one in self._issued.values() if one.verdict.kind == "change")


ON_RECORD, APPROVING = "engine/test_on_record.py", "healing/test_approving.py"
ONE_TOKEN = (
    "authoring/test_verdict_diff.py",
    "test_one_token_that_opens_one_path_is_exactly_that_flip_and_needs_its_id",
)
TIERS, GATES = "healing/test_tiers_at_work.py", "healing/test_gates_at_work.py"
BUNDLES = "cli/test_policy_bundles.py"

FAULTS: dict[str, tuple[Plant, str, str, dict[str, Any]]] = {
    "E-02: any verdict will do": (
        python(Engine, "redeem", no_verdict_needed),
        "engine/test_only_verdicts_act.py",
        "test_act_without_its_verdict_is_denied",
        {"act": "carry_out"},
    ),
    "E-04: a missing fact is overlooked": (
        rego("guard/guard.rego", "object.get(input, path, null) == null", "input.never == path"),
        "engine/test_missing_facts.py",
        "test_change_that_lacks_a_fact_at_the_highest_tier_escalates",
        {},
    ),
    "E-07: escalations of the overlay get lost": (
        rego("decision/layers.rego", "some reason in overlay.escalate", "some reason in set()"),
        "engine/test_strictness.py",
        "test_overlay_tells_all_its_reasons_and_the_strictest_wins",
        {},
    ),
    "T-11: the highest tier wins": (
        rego("autonomy/autonomy.rego", "ranked[0][2]", "ranked[count(ranked) - 1][2]"),
        "healing/test_local_file.py",
        "test_local_tier_above_the_ceiling_is_clamped_and_the_clamp_is_audited_once",
        {},
    ),
    "G-02: the built-in list is forgotten": (
        rego("config/config.rego", "in data.tipstaff.gates.forbid\n", "in []\n"),
        GATES,
        "test_forbidden_capability_is_denied_at_every_tier_and_whatever_the_team_lists",
        {"gates": None, "tier": "propose"},
    ),
    "AU-01: nothing is written down": (
        python(Trail, "append", lambda *_: [SimpleNamespace(hash="0" * 64)]),
        ON_RECORD,
        "test_each_of_many_decisions_is_one_line_with_all_its_fields",
        {},
    ),
    "AP-10: an approval is not used up": (
        python(Approvals, "consume", Approvals.show),
        APPROVING,
        "test_approved_change_becomes_ready_and_its_approval_is_used_up",
        {},
    ),
    "PA-04: the pause is not looked at": (
        python(PauseSwitch, "read", lambda *_: inputs.PauseFacts(global_=False, user=False)),
        "healing/test_pauses_at_work.py",
        "test_pause_between_two_calls_of_one_engine_stops_the_second",
        {},
    ),
    "CI-06: what is loosened gets lost": (
        rego(
            "comparison/comparison.rego",
            "not _same(case)",
            'case.head.effect != "allow"',
        ),
        *ONE_TOKEN,
        {},
    ),
    "CI-06: the head answers for the base": (
        python("tipstaff.authoring.sides", "_folder_at", lambda edit, *_: edit.folder),
        *ONE_TOKEN,
        {},
    ),
    "D4: an entrypoint needs no default": (
        rego("conventions/trees.rego", "\tnote.entrypoint\n", "\tnote.never\n"),
        "authoring/test_policy_check.py",
        "test_entrypoint_without_a_default_is_found",
        {},
    ),
    "BR-32: a waiver never expires": (
        rego(
            "waivers/waivers.rego",
            "waiver.expires >= substring(input.now, 0, 10)",
            "waiver.expires",
        ),
        "authoring/test_waivers.py",
        "test_waiver_past_its_day_turns_the_check_red",
        {},
    ),
    "EX-05: text is shown as it came": (
        python("tipstaff.enforce.pull_request", "code", lambda text, **_: text),
        ON_RECORD,
        "test_note_from_outside_is_escaped_wherever_it_is_kept",
        {},
    ),
    "B2: marks are not looked at": (
        python(Marks, "_agrees", lambda *_: True),
        BUNDLES,
        "test_older_signed_bundle_put_back_denies_until_it_is_signed_anew",
        {},
    ),
    "B3: a bundle never ends": (
        rego("guard/expiry.rego", "\tnot _in_time(name)\n", "\tinput.never == name\n"),
        BUNDLES,
        "test_bundle_past_its_end_only_escalates",
        {},
    ),
    "B4: one signature is enough": (
        python("tipstaff.pdp.bundle", "demand", lambda *_: 1),
        BUNDLES,
        "test_bundle_of_two_people_decides_once_the_second_has_signed",
        {},
    ),
    "B6: any source will do": (
        python("tipstaff.cli.policy.verify", "_source", lambda *_: "whatever"),
        BUNDLES,
        "test_each_broken_link_is_named",
        {},
    ),
    "KG-08: passing tests are assumed": (
        python("tipstaff.evidence.golden", "run", everything_passes),
        TIERS,
        "test_addition_that_breaks_a_golden_test_is_not_carried_out_unattended",
        {},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_turns_a_test_red(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str
) -> None:
    plant, path, name, values = FAULTS[fault]
    tests = module(path)
    given: dict[str, Any] = {
        "workshop": workshop,
        "shop": workshop,
        "monkeypatch": monkeypatch,
        "project": workshop.root,
        "run_cli": run,
        "tmp_path": tmp_path,
    }
    test = getattr(tests, name)
    plant(monkeypatch, tmp_path)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        if "act" in values:
            with tests.a_bench(workshop) as bench:
                test(bench, **values)
        else:
            wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
            test(**{key: given[key] for key in wanted if key in given}, **values)
