package tipstaff.decision_test

import data.tipstaff.decision
import data.tipstaff.testing

_verdict(document) := verdict if {
	verdict := decision.verdict with input as document with data.tipstaff.bundle as testing.bundle
}

_verdict_beside(document, org) := verdict if {
	verdict := decision.verdict with input as document
		with data.tipstaff.bundle as testing.bundle
		with data.org as org
}

_under(class, team) := testing.with_facts(testing.change_under(team, null), {"/action/class": class})

_green(tier) := {"autonomy": {"heal_additive": tier}, "approval_gates": {"require_human": []}}

# METADATA
# custom:
#   req: [E-06]
test_allowed_change_is_a_whole_verdict if {
	_verdict(testing.change) == {
		"schema_version": 1,
		"kind": "change",
		"effect": "allow",
		"confirmations": 0,
		"codes": ["tier.auto_if_tests_pass"],
		"reasons": [{
			"code": "tier.auto_if_tests_pass",
			"message": "the golden tests pass, the change only adds, and heal_additive may then be applied",
			"rule": "tipstaff.autonomy.grant#tier.auto_if_tests_pass",
			"solution": "to have a person look first, set the class to `propose`",
		}],
		"matched_rules": ["tipstaff.autonomy.grant#tier.auto_if_tests_pass"],
		"obligations": [{"id": "open_pull_request", "draft": false}],
		"advice": [],
		"facts": {
			"tier": {
				"effective": "auto-if-tests-pass",
				"ceiling": "auto-if-tests-pass",
				"set_by": {"file": "tipstaff.yaml", "key": "autonomy.heal_additive"},
			},
			"purely_additive": true,
			"low_risk": true,
			"lifted": [],
		},
		"policy": {"bundle": "tipstaff", "revision": "example", "data_digest": "none"},
		"decision_id": "01980000-0000-7000-8000-000000000000",
	}
}

test_granted_act_is_a_whole_verdict if {
	verdict := _verdict(testing.control)
	testing.assert_verdict(verdict, "allow", "control.granted")
	object.filter(verdict, ["kind", "codes", "obligations", "advice", "facts", "matched_rules"]) == {
		"kind": "control",
		"codes": ["control.granted"],
		"obligations": [],
		"advice": [],
		"facts": {},
		"matched_rules": ["tipstaff.control.grant#control.granted"],
	}
}

# METADATA
# custom:
#   req: [E-03, EX-03]
test_document_that_is_none_is_refused if {
	every document in [null, true, 5, "x", [], [testing.change]] {
		verdict := _verdict(document)
		testing.assert_verdict(verdict, "deny", "decision.undefined")
		verdict.matched_rules == ["tipstaff.decision.verdict#decision.undefined"]
	}
	testing.assert_verdict(_verdict({}), "deny", "input.kind_unknown:null")
	_verdict({}).decision_id == "none"
}

test_bundle_without_identity_is_refused if {
	verdict := decision.verdict with input as testing.change with data.tipstaff.bundle as {"revision": "example"}
	testing.assert_verdict(verdict, "deny", "decision.undefined")
	unnamed := decision.verdict with input as testing.change
	testing.assert_verdict(unnamed, "deny", "bundle.mismatch:tipstaff")
	unnamed.policy == {"bundle": "tipstaff", "revision": "", "data_digest": ""}
}

test_many_documents_are_answered_in_order if {
	documents := [testing.change, testing.control, {}, null, testing.change]
	verdicts := decision.verdicts with input as {"documents": documents} with data.tipstaff.bundle as testing.bundle
	[verdict.effect | some verdict in verdicts] == ["allow", "allow", "deny", "deny", "allow"]
	[verdict.kind | some verdict in verdicts] == ["change", "control", "none", "none", "change"]
	decision.verdicts == [] with input as {"documents": []}
	decision.verdicts == [] with input as {"documents": {"a": {}}}
	decision.verdicts == [] with input as {}
}

test_nothing_granted_is_refused if {
	verdict := _verdict(testing.with_facts(_under("audit", null), {"/resource/files": []})) with data.tipstaff.autonomy.grant as set()
	testing.assert_verdict(verdict, "deny", "decision.no_grant")
	control := _verdict(testing.control) with data.tipstaff.control.grant as set()
	testing.assert_verdict(control, "deny", "decision.no_grant")
}

test_approval_of_what_nobody_grants_is_refused if {
	document := testing.with_facts(testing.control, {"/context/approval": testing.approved})
	verdict := _verdict_beside(document, {"freeze": {"require_approval": {"ask"}}}) with data.tipstaff.control.grant as set()
	testing.assert_verdict(verdict, "deny", "decision.no_grant")
}

# METADATA
# custom:
#   req: [T-09, G-01]
test_class_that_is_off_beats_a_pin if {
	verdict := _verdict(_under("heal_breaking", {"autonomy": {"heal_breaking": "off"}}))
	testing.assert_verdict(verdict, "deny", "tier.off")
	verdict.obligations == []
	"gate.require_human" in verdict.codes
}

# METADATA
# custom:
#   req: [T-05]
test_breaking_change_at_auto_is_asked_about if {
	verdict := _verdict(_under("heal_breaking", {
		"autonomy": {"heal_breaking": "auto"},
		"approval_gates": {"require_human": []},
	}))
	testing.assert_verdict(verdict, "require_approval", "tier.propose")
	[reason.code | some reason in verdict.advice] == ["tier.auto_not_readonly"]
	object.keys(verdict.advice[0]) == {"code", "message", "rule", "solution"}
}

# METADATA
# custom:
#   req: [G-01]
test_pinned_green_change_is_asked_about if {
	verdict := _verdict(_under("augment", {
		"autonomy": {"augment": "auto-if-tests-pass"},
		"approval_gates": {"require_human": ["augment"]},
	}))
	testing.assert_verdict(verdict, "require_approval", "gate.require_human")
	verdict.codes == ["gate.require_human"]
}

# METADATA
# custom:
#   req: [T-06, T-07, T-08]
test_tier_decides_what_green_tests_are_worth if {
	every case in [
		["off", {}, "deny", "tier.off"],
		["propose", {}, "require_approval", "tier.propose"],
		["auto-if-tests-pass", {}, "allow", "tier.auto_if_tests_pass"],
		["auto", {}, "allow", "tier.auto_if_tests_pass"],
		["auto-if-tests-pass", {"/evidence/tests/passed": 11, "/evidence/tests/failed": 1}, "require_approval", "tests.failed"],
		["auto-if-tests-pass", {"/evidence/tests/passed": 0}, "require_approval", "tests.none"],
		["auto-if-tests-pass", {"/resource/files/0/status": "deleted"}, "require_approval", "change.not_additive"],
	] {
		[tier, facts, effect, code] := case
		testing.assert_verdict(_verdict(testing.with_facts(_under("heal_additive", _green(tier)), facts)), effect, code)
	}
}

# METADATA
# custom:
#   req: [T-03]
test_unknown_class_is_refused_and_has_no_tier if {
	verdict := _verdict(_under("heal_foo", null))
	testing.assert_verdict(verdict, "deny", "class.unknown")
	[verdict.facts.tier, verdict.obligations] == [null, []]
	verdict.codes == ["class.unknown"]
}

test_change_without_a_class_is_escalated if {
	_verdict(testing.without(testing.change, ["/action/class"])).codes == ["input.missing:class"]
}

test_what_was_derived_is_shown_when_it_falls_short if {
	facts := _verdict(testing.change_with({"/resource/files/0/status": "deleted"})).facts
	object.filter(facts, ["purely_additive", "low_risk"]) == {"purely_additive": false, "low_risk": false}
}

test_each_kind_is_judged_by_its_own_rules_only if {
	both := testing.with_facts(
		testing.change_under(
			{"autonomy": {"augment": "off"}, "pause": {"hard": true}},
			{"autonomy": {"augment": "auto"}},
		),
		{
			"/action": {"type": "approve", "class": "augment", "found_capabilities": ["raw_shell_execution"]},
			"/resource/id": "x",
			"/context/config/local_tracked": true,
			"/context/pause/global": true,
			"/context/approval": testing.approved,
		},
	)
	act := _verdict(testing.with_facts(both, {"/kind": "control"}))
	object.filter(act, ["effect", "codes", "obligations", "advice", "facts"]) == {
		"effect": "allow",
		"codes": ["control.granted"],
		"obligations": [],
		"advice": [],
		"facts": {},
	}
	every type in ["approve", "nonsense"] {
		change := _verdict(testing.change_with({"/action/type": type}))
		change.codes == ["tier.auto_if_tests_pass"]
	}
}

test_reading_class_is_allowed_and_opens_nothing if {
	verdict := _verdict(testing.with_facts(_under("audit", null), {"/resource/files": []}))
	testing.assert_verdict(verdict, "allow", "tier.auto")
	verdict.obligations == []
}

# METADATA
# custom:
#   req: [E-04]
test_missing_fact_is_escalated_not_asked_about if {
	document := testing.without(_under("augment", null), ["/context/now"])
	verdict := _verdict(document)
	testing.assert_verdict(verdict, "escalate", "input.missing:now")
	[verdict.confirmations, verdict.obligations] == [0, []]
}

# METADATA
# custom:
#   req: [G-02, G-06, G-07]
test_forbidden_things_are_refused_at_every_tier if {
	every tier in ["propose", "auto-if-tests-pass", "auto"] {
		every facts, code in {
			{"/action/requested_capabilities": ["raw_shell_execution"]}: "forbid:raw_shell_execution",
			{"/action/found_capabilities": ["network_egress_from_sandbox"]}: "forbid:network_egress_from_sandbox",
			{"/resource/files/0/path": "skills/vendor/a/SKILL.md"}: "path.read_only",
			{"/resource/files/0/path": "policy/tiers.rego"}: "path.control_plane",
		} {
			document := testing.with_facts(_under("heal_additive", _green(tier)), facts)
			testing.assert_verdict(_verdict(document), "deny", code)
			approved := testing.with_facts(document, {"/context/approval": testing.approved})
			testing.assert_verdict(_verdict(approved), "deny", code)
		}
	}
}

test_verdict_that_lacks_a_part_is_refused_whole if {
	verdict := decision.verdict with input as testing.change with data.tipstaff.bundle as {}
	verdict == {
		"schema_version": 1,
		"kind": "none",
		"effect": "deny",
		"confirmations": 0,
		"codes": ["decision.undefined"],
		"reasons": [{
			"code": "decision.undefined",
			"message": "the rules came to no answer",
			"rule": "tipstaff.decision.verdict#decision.undefined",
			"solution": "run `tipstaff policy test`; a rule that the verdict is made of is undefined",
		}],
		"matched_rules": ["tipstaff.decision.verdict#decision.undefined"],
		"obligations": [],
		"advice": [],
		"facts": {},
		"policy": {"bundle": "tipstaff", "revision": "", "data_digest": ""},
		"decision_id": "none",
	}
}

test_rules_of_a_refusal_are_those_of_its_reasons if {
	verdict := _verdict(testing.change_with({"/resource/files": [testing.file("policy/x")]}))
	verdict.effect == "deny"
	{rule | some rule in verdict.matched_rules} == {reason.rule | some reason in verdict.reasons}
}
