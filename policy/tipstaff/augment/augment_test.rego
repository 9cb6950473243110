package tipstaff.augment_test

import data.tipstaff.augment
import data.tipstaff.decision
import data.tipstaff.testing

_codes(facts) := codes if {
	codes := testing.codes(augment.deny) with input as testing.augment_with(facts)
}

_verdict(document) := verdict if {
	verdict := decision.verdict with input as document with data.tipstaff.bundle as testing.bundle
}

_on_first(script, prose) := {
	"/evidence/augment/inputs/0/script_outputs": script,
	"/evidence/augment/inputs/0/prose_outputs": prose,
}

_mixed(first, number) := array.concat(testing.outputs("6", first), [testing.digest(digit) |
	some place, digit in ["a", "b", "c", "d", "e", "f", "0"]
	place < number
])

# METADATA
# custom:
#   req: [A-01, A-06]
test_block_that_is_proven_may_be_replaced if {
	_codes({}) == set()
	testing.assert_verdict(_verdict(testing.augment), "allow", "tier.auto_if_tests_pass")
	_verdict(testing.augment).facts.augment == {"runs": 8, "measure": true}
}

# METADATA
# custom:
#   req: [A-06, G-01]
test_block_that_is_proven_waits_for_a_person_under_defaults if {
	every team in [{"schema_version": 1}, {"schema_version": 1, "autonomy": {"augment": "auto-if-tests-pass"}}] {
		document := testing.augment_with({"/context/config/team": team})
		testing.assert_verdict(_verdict(document), "require_approval", "gate.require_human")
	}
	without := testing.augment_with({"/context/config/team": null, "/context/config/team_sha256": null})
	testing.assert_verdict(_verdict(without), "require_approval", "gate.require_human")
}

# METADATA
# custom:
#   req: [A-01]
test_change_that_replaces_no_block_is_not_judged_here if {
	every facts in [null, [], "facts", true, 5] {
		_codes({"/evidence/augment": facts}) == set()
	}
	augment.replaces_prose == false with input as testing.change
	not augment.terms with input as testing.change
	not _verdict(testing.change).facts.augment
}

# METADATA
# custom:
#   req: [A-01]
test_block_is_judged_whatever_the_class_of_the_change if {
	document := testing.augment_with({"/action/class": "heal_additive", "/evidence/augment/tokens/after": 98})
	testing.assert_codes(augment.deny, {"augment.tokens"}) with input as document
	testing.assert_verdict(_verdict(document), "deny", "augment.tokens")
}

# METADATA
# custom:
#   req: [A-05]
test_only_deterministic_candidates_are_replaced if {
	every class in ["judgment-required", "script", "Deterministic-candidate", "", null, 5, true, ["deterministic-candidate"]] {
		_codes({"/evidence/augment/block/class": class}) == {"augment.class"}
	}
	document := testing.without(testing.augment, ["/evidence/augment/block/class"])
	testing.assert_codes(augment.deny, {"augment.class"}) with input as document
}

# METADATA
# custom:
#   req: [A-05, E-11]
test_block_of_little_confidence_is_not_replaced if {
	every confidence in [0, 740, 749, -751, null, "900", true, [], {}] {
		_codes({"/evidence/augment/block/confidence_permille": confidence}) == {"augment.confidence"}
	}
	every confidence in [750, 751, 1000] {
		_codes({"/evidence/augment/block/confidence_permille": confidence}) == set()
	}
}

# METADATA
# custom:
#   req: [A-01, A-04, E-11]
test_too_few_tokens_saved_is_refused if {
	every case in [[100, 86], [100, 100], [100, 102], [20, 18], [7, 6], [0, 0], [1, 1], [0, 5]] {
		[before, after] := case
		_codes({"/evidence/augment/tokens/before": before, "/evidence/augment/tokens/after": after}) == {"augment.tokens"}
	}
	every case in [[100, 85], [20, 17], [7, 5], [1, 0], [1000000007, 850000005]] {
		[before, after] := case
		_codes({"/evidence/augment/tokens/before": before, "/evidence/augment/tokens/after": after}) == set()
	}
}

# METADATA
# custom:
#   req: [A-04]
test_saving_nothing_is_refused_whatever_the_share if {
	document := testing.augment_with({"/evidence/augment/tokens/after": 100})
	testing.assert_codes(augment.deny, {"augment.tokens"}) with input as document with data.tipstaff.augment.reduction_percent as 0
	smaller := testing.augment_with({"/evidence/augment/tokens/after": 99})
	testing.assert_codes(augment.deny, set()) with input as smaller with data.tipstaff.augment.reduction_percent as 0
}

# METADATA
# custom:
#   req: [A-05]
test_caller_is_told_not_to_measure_what_is_refused_anyway if {
	unmeasured := {
		"/evidence/tests": null,
		"/evidence/augment/sandbox": null,
		"/evidence/augment/control": null,
		"/evidence/augment/inputs/0/script_outputs": null,
		"/evidence/augment/inputs/1/script_outputs": null,
	}
	every case in [
		[{}, true],
		[{"/evidence/augment/prose": null, "/evidence/augment/inputs/0/prose_outputs": null}, true],
		[{"/evidence/augment/block/class": "judgment-required"}, false],
		[{"/evidence/augment/block/confidence_permille": 740}, false],
		[{"/evidence/augment/tokens/after": 86}, false],
		[{"/evidence/augment/inputs/0/prose_outputs": testing.outputs("6", 7)}, false],
		[{"/evidence/augment/inputs/0/prose_outputs": null}, false],
		[{"/action/found_capabilities": ["raw_shell_execution"]}, false],
		[{"/resource/files/0/path": "policy/x.md"}, false],
		[{"/context/config/team/autonomy/augment": "off"}, false],
		[{"/subject/id": null}, false],
	] {
		[facts, measure] := case
		document := testing.augment_with(object.union(unmeasured, facts))
		verdict := _verdict(document)
		print(facts, verdict.effect, verdict.codes)
		verdict.effect in {"deny", "escalate"}
		verdict.facts.augment == {"runs": 8, "measure": measure}
	}
}

# METADATA
# custom:
#   req: [A-03, A-04, A-05, E-01]
test_data_alone_moves_each_threshold if {
	nine := testing.augment_with(_on_first(testing.outputs("6", 9), testing.outputs("6", 9)))
	testing.assert_codes(augment.deny, {"augment.unmeasured"}) with input as nine with data.tipstaff.augment.runs as 9
	testing.assert_codes(augment.deny, {"augment.tokens"}) with input as testing.augment with data.tipstaff.augment.reduction_percent as 81
	testing.assert_codes(augment.deny, {"augment.confidence"}) with input as testing.augment with data.tipstaff.augment.confidence_permille as 901
	testing.assert_codes(augment.deny, {"augment.class"}) with input as testing.augment with data.tipstaff.augment.class as "other"
	failed := testing.augment_with({"/evidence/tests/failed": 1})
	testing.assert_codes(augment.deny, set()) with input as failed with data.tipstaff.augment.gating as ["sandbox"]
	augment.terms.runs == 9 with input as testing.augment with data.tipstaff.augment.runs as 9
}
