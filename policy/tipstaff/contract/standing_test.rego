package tipstaff.contract_test

import data.tipstaff.contract
import data.tipstaff.testing

_checked(facts) := testing.with_facts(testing.contract, object.union({"/action/type": "check"}, facts))

_unchanged_facts := {"/evidence/changes": [], "/resource/new_digest": testing.contract.resource.old_digest}

_canaries(outcomes) := {"/evidence/canaries": [{"id": id, "outcome": outcome} | some id, outcome in outcomes]}

# METADATA
# custom:
#   req: [C-16]
#   promise: ["BR-05", "row 115"]
test_how_a_contract_stands_has_a_word_and_says_whether_all_was_seen if {
	every case in [
		[_unchanged_facts, "unchanged", true, false],
		[{}, "drift", true, false],
		[{"/evidence/changes/0/kind": "tool_removed"}, "drift", true, true],
		[object.union(_unchanged_facts, {"/evidence/status": "unbaselined"}), "unbaselined", true, true],
		[object.union(_unchanged_facts, {"/evidence/status": "unreadable"}), "unreadable", true, true],
		[object.union(_unchanged_facts, {"/evidence/status": "foreign"}), "foreign", true, true],
		[object.union(_unchanged_facts, {"/evidence/status": "unconfigured"}), "unconfigured", true, true],
		[object.union(_unchanged_facts, {"/evidence/status": "unreachable"}), "indeterminate", false, false],
		[object.union(_unchanged_facts, {"/evidence/status": "error_response"}), "indeterminate", false, false],
		[object.union(_unchanged_facts, {"/evidence/status": "incomplete"}), "incomplete", false, false],
		[object.union(_unchanged_facts, {"/evidence/status": "unsteady"}), "unsteady", false, false],
		[object.union(_unchanged_facts, {"/evidence/status": null}), "indeterminate", false, false],
	] {
		[facts, word, settled, fails] := case
		report := contract.report with input as _checked(facts)
		[report.status, report.settled, report.fails] == [word, settled, fails]
	}
}

test_want_of_a_baseline_fails_nothing_but_a_check if {
	first := testing.with_facts(testing.contract, object.union(_unchanged_facts, {"/evidence/status": "unbaselined"}))
	not contract.fails with input as first
}

# METADATA
# custom:
#   promise: ["row 115"]
test_baseline_that_cannot_be_relied_on_is_refused if {
	every status in ["unreadable", "foreign"] {
		document := _checked(object.union(_unchanged_facts, {"/evidence/status": status}))
		_said(document) == _expected({"deny": {"contract.baseline_untrusted"}})
	}
	orphan := _checked(object.union(_unchanged_facts, {"/evidence/status": "unconfigured"}))
	_said(orphan) == _expected({"deny": {"contract.unconfigured"}})
	{reason.message | some reason in contract.deny} == {"a snapshot is committed of a server that the configuration does not name: weather"} with input as orphan
}

# METADATA
# custom:
#   req: [C-16]
#   promise: ["row 110"]
test_server_that_is_unsteady_or_refuses_is_escalated if {
	every status in ["unsteady", "error_response", "unreachable"] {
		document := _checked(object.union(_unchanged_facts, {"/evidence/status": status}))
		_said(document) == _expected({"escalate": {"contract.indeterminate"}})
	}
}

# METADATA
# custom:
#   req: [C-16]
test_canary_that_was_not_run_is_not_no_drift if {
	every outcome in ["refused", "forbidden", "not_run", "other", "Same"] {
		document := _checked(object.union(_unchanged_facts, _canaries({"c1": "same", "c2": outcome})))
		_said(document).escalate == {"contract.canary_indeterminate"}
		{reason.message | some reason in contract.escalate} == {"the canary c2 was not run, so the behaviour is not known"} with input as document
		report := contract.report with input as document
		[report.status, report.settled] == ["indeterminate", false]
	}
	all_same := _checked(object.union(_unchanged_facts, _canaries({"c1": "same"})))
	_said(all_same) == _expected({"grant": {"contract.unchanged"}})
}

# METADATA
# custom:
#   req: [C-13, C-19]
test_addition_is_low_risk_only_with_behaviour_that_is_proved if {
	same := _checked(_canaries({"c1": "same"}))
	_said(same) == _expected({"grant": {"contract.low_risk"}})
	redefined := _checked(_canaries({"c1": "same", "c2": "redefined"}))
	_said(redefined) == _expected({"require_approval": {"contract.canary_redefined"}})
	report := contract.report with input as redefined
	[report.status, report.settled, report.low_risk] == ["drift", true, false]
	every outcome in ["changed", "unstable", "not_run"] {
		not contract.low_risk with input as _checked(_canaries({"c1": outcome}))
	}
}

# METADATA
# custom:
#   req: [C-13, C-15]
test_behaviour_that_changed_is_drift_and_one_that_never_settles_is_unstable if {
	changed := _checked(object.union(
		{"/evidence/changes": [_change("behaviour_changed", {})]},
		_canaries({"c1": "changed"}),
	))
	_said(changed) == _expected({"require_approval": {"contract.warning"}})
	report := contract.report with input as changed
	[report.status, report.drift, report.severity, report.low_risk] == ["drift", true, "warning", false]
	unstable := _checked(object.union(
		{"/evidence/changes": [_change("canary_unstable", {}), _change("equivalent_rewrite", {})]},
		_canaries({"c1": "unstable"}),
	))
	_said(unstable) == _expected({"require_approval": {"contract.warning"}})
	contract.status == "unstable" with input as unstable
	both := testing.with_facts(unstable, {"/evidence/changes/-": _change("tool_added", {})})
	contract.status == "drift" with input as both
}

test_act_that_nobody_knows_is_refused if {
	every act in ["Check", "update", "", null, true] {
		_said(_checked({"/action/type": act})).deny == {"contract.act_unknown"}
	}
	every act in ["diff", "check", "propose", "accept", "canary", "call"] {
		_said(_checked({"/action/type": act})).deny == set()
	}
}

test_recorded_calls_are_graded_by_what_changed_in_them if {
	every case in [
		["server_changed", {"about": "canaries", "verb": "added"}, ["info", "none"]],
		["server_changed", {"about": "canaries", "verb": "added", "now": true}, ["warning", "widens"]],
		["server_changed", {"about": "canaries", "verb": "changed", "now": true}, ["warning", "widens"]],
		["server_changed", {"about": "canaries", "verb": "added", "now": false}, ["info", "none"]],
		["server_changed", {"about": "canaries", "verb": "removed"}, ["warning", "none"]],
		["server_changed", {"about": "canaries", "verb": "changed"}, ["warning", "none"]],
	] {
		[kind, facts, grade] := case
		_graded(kind, facts) == grade
	}
}
