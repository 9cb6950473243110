package tipstaff.augment_test

import data.tipstaff.augment
import data.tipstaff.testing

# METADATA
# custom:
#   req: [A-03]
test_script_that_varies_more_than_the_prose_is_refused if {
	every case in [
		[testing.outputs("6", 8), testing.outputs("6", 8), set()],
		[testing.outputs("6", 8), _mixed(1, 7), set()],
		[_mixed(7, 1), testing.outputs("6", 8), {"augment.variance", "augment.golden"}],
		[_mixed(6, 2), _mixed(7, 1), {"augment.variance", "augment.golden"}],
		[_mixed(7, 1), _mixed(7, 1), {"augment.golden"}],
		[_mixed(7, 1), _mixed(6, 2), {"augment.golden"}],
	] {
		[script, prose, codes] := case
		_codes(_on_first(script, prose)) == codes
	}
}

# METADATA
# custom:
#   req: [A-03, E-11]
test_variance_is_compared_across_different_numbers_of_runs if {
	every case in [
		[_mixed(14, 2), _mixed(7, 1), {"augment.golden"}],
		[_mixed(7, 1), _mixed(14, 2), {"augment.variance", "augment.golden"}],
		[_mixed(7, 1), _mixed(13, 2), {"augment.golden"}],
		[_mixed(7, 1), _mixed(8, 1), {"augment.variance", "augment.golden"}],
	] {
		[script, prose, codes] := case
		print(count(script), count(prose))
		_codes(_on_first(script, prose)) == codes
	}
}

# METADATA
# custom:
#   req: [A-03]
test_each_golden_input_counts_for_itself if {
	facts := {"/evidence/augment/inputs/1/script_outputs": array.concat(testing.outputs("7", 7), [testing.digest("a")])}
	_codes(facts) == {"augment.variance", "augment.golden"}
	messages := {reason.message | some reason in augment.deny} with input as testing.augment_with(facts)
	messages == {
		"the script's outputs vary more than those of the prose on b.txt",
		"the script does not print what is expected for b.txt",
	}
}

# METADATA
# custom:
#   req: [A-03]
test_missing_measurement_is_unmeasured if {
	seven := testing.outputs("6", 7)
	every facts in [
		{"/evidence/augment/tokens": null},
		{"/evidence/augment/tokens/before": "100"},
		{"/evidence/augment/tokens/after": null},
		{"/evidence/augment/prose": null},
		{"/evidence/augment/sandbox": null},
		{"/evidence/augment/inputs": []},
		{"/evidence/augment/inputs/0/script_outputs": null},
		{"/evidence/augment/inputs/0/prose_outputs": null},
		{"/evidence/augment/inputs/1/script_outputs": []},
		{"/evidence/augment/inputs/1/prose_outputs": []},
		{"/evidence/augment/inputs/0/script_outputs": seven},
		{"/evidence/augment/inputs/0/prose_outputs": seven},
		{"/evidence/augment/inputs/0/prose_outputs": "66666666"},
	] {
		_codes(facts) == {"augment.unmeasured"}
	}
	without := testing.without(testing.augment, ["/evidence/augment/inputs/0/prose_outputs"])
	testing.assert_codes(augment.deny, {"augment.unmeasured"}) with input as without
}

# METADATA
# custom:
#   req: [A-03]
test_what_is_not_measured_is_named if {
	facts := {"/evidence/augment": object.union(testing.augment_facts, {
		"tokens": null,
		"prose": null,
		"sandbox": null,
		"inputs": [object.union(testing.measured("a.txt", "6"), {"script_outputs": null, "prose_outputs": null})],
	})}
	messages := {reason.message | some reason in augment.deny} with input as testing.augment_with(facts)
	messages == {
		"not measured: tokens",
		"not measured: runs of the prose",
		"not measured: where the script ran",
		"not measured: the script on a.txt",
		"not measured: the prose on a.txt",
	}
	none := {reason.message | some reason in augment.deny} with input as testing.augment_with({"/evidence/augment/inputs": []})
	none == {"not measured: golden inputs"}
}

# METADATA
# custom:
#   req: [A-01]
test_run_without_a_whole_output_is_a_failure if {
	facts := {"/evidence/augment/inputs/0/script_outputs/3": null}
	document := testing.with_facts(testing.without(testing.augment, ["/evidence/augment/inputs/0/script_outputs/7"]), facts)
	testing.assert_codes(augment.deny, {"augment.failed", "augment.variance"}) with input as document
	every_run := {"/evidence/augment/inputs/0/script_outputs": [null, null, null, null, null, null, null, null]}
	_codes(every_run) == {"augment.failed"}
}

# METADATA
# custom:
#   req: [A-02]
test_output_that_is_not_the_expected_one_is_refused if {
	_codes({"/evidence/augment/inputs/0/expected_sha256": testing.digest("a")}) == {"augment.golden"}
}

# METADATA
# custom:
#   req: [A-01, A-02]
test_golden_tests_that_do_not_pass_refuse_the_proposal if {
	every case in [
		[{"/evidence/tests": null}, "tests.none"],
		[{"/evidence/tests/passed": 0}, "tests.none"],
		[{"/evidence/tests/passed": 2, "/evidence/tests/failed": 1}, "tests.failed"],
		[{"/evidence/tests/diff_sha256": testing.digest("e")}, "tests.stale"],
		[{"/context/actor/type": "agent"}, "tests.command"],
		[{"/evidence/sandbox/isolated": false}, "sandbox.unisolated"],
		[{"/evidence/sandbox/backend": "none"}, "sandbox.minimum"],
		[{"/evidence/sandbox/held": ["network"]}, "sandbox.not_held:write"],
	] {
		[facts, code] := case
		_codes(facts) == {code}
		testing.assert_verdict(_verdict(testing.augment_with(facts)), "deny", code)
	}
}

# METADATA
# custom:
#   req: [A-02]
test_runs_of_the_script_are_held_to_the_same_isolation if {
	every case in [
		[{"/evidence/augment/sandbox/isolated": false}, "sandbox.unisolated"],
		[{"/evidence/augment/sandbox/profile": "dev"}, "sandbox.unisolated"],
		[{"/evidence/augment/sandbox/backend": "none"}, "sandbox.minimum"],
		[{"/evidence/augment/sandbox/held": []}, "sandbox.not_held:network"],
	] {
		[facts, code] := case
		code in _codes(facts)
	}
}

test_other_shortfalls_refuse_nothing_here if {
	every facts in [
		{"/action/found_capabilities": ["dynamic_code"]},
		{"/evidence/augment/control/failed": 0},
		{"/evidence/augment/outside": null},
		{"/resource/files/0/status": "deleted"},
	] {
		_codes(facts) == set()
		_verdict(testing.augment_with(facts)).effect == "require_approval"
	}
}
