package tipstaff.explanation_test

import data.tipstaff.explanation

# A document in which every part is there and every fact is absent.
_bare := {
	"action": {"class": "augment"},
	"resource": {"diff_sha256": "d"},
	"evidence": {"tests": {}, "sandbox": {}},
	"context": {
		"actor": {}, "pause": {}, "approval": {"decided_by": {}},
		"config": {"team": {
			"autonomy": {}, "approval_gates": {}, "paths": {},
			"tests": {"command": "make"}, "sandbox": {"minimum_backend": "nsjail"},
		}},
	},
}

# What would be changed in a document whose verdict has one code.
_wanted(document, code) := [[change.fact, change.wanted] | some change in changes] if {
	changes := explanation._changes with input as {"document": document}
		with data.tipstaff.decision.verdict as {"codes": [code]}
}

_tier := "context.config.team.autonomy.augment"

_expected := {
	"tier.propose": [[_tier, "auto-if-tests-pass"], [_tier, "auto"]],
	"tier.off": [[_tier, "propose"], [_tier, "auto-if-tests-pass"]],
	"tier.auto_if_tests_pass": [[_tier, "propose"]],
	"tier.auto": [[_tier, "propose"]],
	"gate.require_human": [["context.config.team.approval_gates.require_human", []]],
	"forbid:db_write": [["action.requested_capabilities", []], ["action.found_capabilities", []]],
	"capability.caution:db_write": [["action.found_capabilities", []]],
	"tests.none": [["evidence.tests.passed", 1]],
	"tests.failed": [["evidence.tests.failed", 0]],
	"tests.stale": [["evidence.tests.diff_sha256", "d"]],
	"tests.command": [["evidence.tests.command", "make"]],
	"sandbox.unisolated": [["evidence.sandbox.isolated", true], ["evidence.sandbox.profile", "strict"]],
	"sandbox.minimum": [["evidence.sandbox.backend", "nsjail"]],
	"sandbox.not_held": [["evidence.sandbox.held", ["network", "write"]]],
	"approval.confirmations": [["context.approval.confirmations", 2]],
	"approval.consumed": [["context.approval.status", "approved"]],
	"approval.human_only": [["context.approval.decided_by.type", "human"]],
	"control.human_only": [["context.actor.type", "human"]],
	"control.granted": [["context.actor.type", "agent"]],
	"pause.global": [["context.pause.global", false]],
	"pause.user": [["context.pause.user", false]],
	"pause.unknown": [["context.pause.global", false], ["context.pause.user", false]],
	"class.read_only": [["resource.files", []]],
	"path.not_allowed": [["context.config.team.paths.allowed", ["**"]]],
	"path.read_only": [["context.config.team.paths.read_only", []]],
	"other": [],
}

# METADATA
# custom:
#   req: [EX-04]
test_each_code_has_its_facts_and_what_they_would_have_to_be if {
	every code, pairs in _expected {
		_wanted(_bare, code) == pairs
	}
}

test_absent_evidence_is_wanted_as_a_whole if {
	_wanted(object.union(object.remove(_bare, ["evidence"]), {"evidence": {}}), "tests.none") == [
		["evidence.tests", {"passed": 1, "failed": 0, "skipped": 0, "diff_sha256": "d", "command": "make"}],
		["evidence.sandbox", {"backend": "bubblewrap", "profile": "strict", "isolated": true, "held": ["network", "write"]}],
	]
}

test_fact_that_is_as_it_would_have_to_be_is_not_changed if {
	_wanted(object.union(_bare, {"evidence": {"tests": {"failed": 0}}}), "tests.failed") == []
}
