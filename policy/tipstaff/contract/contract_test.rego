package tipstaff.contract_test

import data.tipstaff.contract
import data.tipstaff.testing

_said(document) := {
	"deny": testing.codes(denied),
	"escalate": testing.codes(escalated),
	"require_approval": testing.codes(held),
	"grant": testing.codes(granted),
} if {
	denied := contract.deny with input as document
	escalated := contract.escalate with input as document
	held := contract.require_approval with input as document
	granted := contract.grant with input as document
}

_nothing := {"deny": set(), "escalate": set(), "require_approval": set(), "grant": set()}

_expected(said) := object.union(_nothing, said)

# METADATA
# custom:
#   req: [C-19]
test_addition_alone_is_low_risk if {
	_said(testing.contract) == _expected({"grant": {"contract.low_risk"}})
	contract.low_risk with input as testing.contract
	every change in [
		_change("param_added_optional", {}),
		_change("prompt_changed", {"about": "entry", "direction": "widens"}),
		_change("resource_changed", {"about": "entry", "direction": "widens"}),
	] {
		contract.low_risk with input as _with([change, _change("equivalent_rewrite", {})])
	}
}

# METADATA
# custom:
#   req: [C-19]
test_destructive_addition_is_not_low_risk if {
	every word in [
		"delete", "deletes", "destroy", "destructive", "drop", "erase", "exec", "execute", "kill", "overwrite", "purge",
		"reboot", "remove", "revoke", "shell", "shutdown", "sudo", "terminate", "truncate", "uninstall", "wipe", "wiping",
	] {
		document := testing.with_facts(testing.contract, {"/evidence/changes/0/words": ["station", word]})
		_said(document) == _expected({"require_approval": {"contract.added_destructive"}})
		contract.severity == "info" with input as document
		not contract.low_risk with input as document
	}
}

test_tool_that_calls_itself_destructive_is_not_low_risk if {
	document := testing.with_facts(testing.contract, {"/evidence/changes/0/stated": {"destructiveHint": true}})
	_said(document) == _expected({"require_approval": {"contract.added_destructive"}})
	every hints in [{"destructiveHint": true, "other": true}, {"other": true, "destructiveHint": true}] {
		_said(document) == _expected({"require_approval": {"contract.added_destructive"}}) with data.tipstaff.contract.destructive_hints as hints
	}
	mild := testing.with_facts(testing.contract, {"/evidence/changes/0/stated": {"destructiveHint": false}})
	_said(mild) == _expected({"grant": {"contract.low_risk"}})
}

test_reason_names_what_is_destructive if {
	document := testing.with_facts(testing.contract, {"/evidence/changes/0/words": ["delete"]})
	{reason.message | some reason in contract.require_approval} == {"list_radars gained something destructive"} with input as document
}

# METADATA
# custom:
#   req: [C-03]
test_contract_that_means_what_it_meant_is_granted if {
	_said(_unchanged({})) == _expected({"grant": {"contract.unchanged"}})
	_said(_with([_change("equivalent_rewrite", {})])) == _expected({"grant": {"contract.unchanged"}})
}

_unchanged(facts) := testing.with_facts(
	_with([]),
	object.union({"/resource/new_digest": testing.contract.resource.old_digest}, facts),
)

# METADATA
# custom:
#   promise: ["BR-02"]
test_difference_without_a_change_is_refused if {
	every facts in [
		{"/resource/new_digest": testing.digest("f")},
		{"/resource/old_digest": null},
		{"/resource/old_digest": null, "/resource/new_digest": null},
	] {
		_said(_unchanged(facts)).deny == {"contract.unexplained"}
	}
	_said(testing.without(_unchanged({}), ["/resource/old_digest"])).deny == {"contract.unexplained"}
	first := testing.with_facts(_with([]), {"/evidence/status": "unbaselined", "/resource/old_digest": null})
	_said(first) == _expected({"require_approval": {"contract.unbaselined"}})
}

# METADATA
# custom:
#   req: [C-12, C-13, C-15]
test_change_of_words_or_worse_waits_for_a_person if {
	every kind, code in {
		"description_changed": "contract.warning",
		"behaviour_changed": "contract.warning",
		"canary_unstable": "contract.warning",
		"tool_removed": "contract.breaking",
		"constraint_loosened": "contract.not_additive",
		"required_removed": "contract.not_additive",
	} {
		_said(_with([_change(kind, {})])) == _expected({"require_approval": {code}})
	}
	every kind in ["prompt_changed", "resource_changed"] {
		widened := _change(kind, {"about": "argument", "direction": "widens"})
		_said(_with([widened])) == _expected({"require_approval": {"contract.not_additive"}})
	}
	entry := _change("constraint_loosened", {"about": "entry", "direction": "widens"})
	_said(_with([entry])) == _expected({"require_approval": {"contract.not_additive"}})
}

# METADATA
# custom:
#   promise: [M3]
test_what_deceives_is_escalated if {
	every kind in ["name_confusable", "name_duplicate", "name_shadowed"] {
		_said(_with([_change(kind, {})])).escalate == {"contract.deceptive"}
	}
	_said(_with([_change("hidden_text", {"classes": ["tag"]})])).escalate == {"contract.deceptive"}
	_said(_with([_change("hidden_text", {"classes": ["comment"]})])).escalate == set()
	_said(_with([_change("tool_removed", {})])).escalate == set()
}

test_escalation_says_of_what if {
	document := _with([_change("name_shadowed", {}), {"kind": "hidden_text", "tool": null, "path": "/instructions", "classes": ["bidi"]}])
	{reason.message | some reason in contract.escalate} == {
		"a shows hidden text, or a name that passes for another",
		"the server shows hidden text, or a name that passes for another",
	} with input as document
}

# METADATA
# custom:
#   req: [C-17]
test_first_contract_waits_for_a_person if {
	document := testing.with_facts(_with([]), {"/evidence/status": "unbaselined"})
	_said(document) == _expected({"require_approval": {"contract.unbaselined"}})
}

# METADATA
# custom:
#   req: [C-16]
test_server_that_was_not_observed_is_no_agreement if {
	every status in ["indeterminate", "unreachable"] {
		document := testing.with_facts(_with([]), {"/evidence/status": status})
		_said(document) == _expected({"escalate": {"contract.indeterminate"}})
	}
}

test_part_of_a_contract_is_refused if {
	every status in ["incomplete", "Compared", "", null, true, 1] {
		document := testing.with_facts(testing.contract, {"/evidence/status": status})
		_said(document) == _expected({"deny": {"contract.not_compared"}})
	}
}

test_addition_under_a_version_that_lies_is_not_low_risk if {
	version := {"tool": null, "before": "1.0.0", "after": "1.0.0", "bump": "none"}
	document := testing.with_facts(testing.contract, {"/evidence/versions": [version]})
	report := contract.report with input as document
	[report.low_risk, report.severity] == [false, "error"]
}

test_report_has_all_that_was_found if {
	report := contract.report with input as testing.contract
	report == {
		"drift": true,
		"severity": "info",
		"change_class": "heal_additive",
		"low_risk": true,
		"fails": false,
		"status": "drift",
		"settled": true,
		"grades": [{"severity": "info", "authority": "widens"}],
		"lies": [],
	}
}

test_first_contract_is_of_a_class_by_which_it_can_be_proposed if {
	first := testing.with_facts(_with([]), {"/evidence/status": "unbaselined"})
	contract.change_class == "heal_additive" with input as first
	contract.change_class == null with input as _unchanged({})
	shadowed := testing.with_facts(_with([_change("name_shadowed", {})]), {"/evidence/status": "unbaselined"})
	contract.change_class == "heal_breaking" with input as shadowed
}

test_class_covers_its_own_severity_and_milder_ones if {
	covered := {class: graded |
		some class in ["audit", "augment", "heal_additive", "heal_warning", "heal_breaking", null]
		graded := {severity | some severity in ["none", "info", "warning", "error"]; contract.covers(class, severity)}
	}
	covered == {
		"audit": {"none"},
		"augment": {"none"},
		"heal_additive": {"none", "info"},
		"heal_warning": {"none", "info", "warning"},
		"heal_breaking": {"none", "info", "warning", "error"},
		null: {"none"},
	}
}
