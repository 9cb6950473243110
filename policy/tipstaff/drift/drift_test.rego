package tipstaff.drift_test

import data.tipstaff.decision
import data.tipstaff.drift
import data.tipstaff.evidence
import data.tipstaff.testing

_verdict(document) := verdict if {
	verdict := decision.verdict with input as document with data.tipstaff.bundle as testing.bundle
}

_said(document) := [verdict.effect, {code | some code in verdict.codes}] if {
	verdict := _verdict(document)
}

_with(change) := testing.drift_with({"/changes": [change]})

_automatic(document) := testing.with_facts(document, {
	"/context/config/team/autonomy": {
		"heal_additive": "auto-if-tests-pass",
		"heal_warning": "auto-if-tests-pass",
		"heal_breaking": "auto-if-tests-pass",
	},
	"/context/config/team/approval_gates": {"require_human": []},
})

_of_class(document, class) := _automatic(testing.with_facts(document, {"/action/class": class}))

# METADATA
# custom:
#   req: [C-19, T-02]
test_observed_addition_to_a_contract_goes_through if {
	_said(testing.drift) == ["allow", {"tier.auto_if_tests_pass"}]
	evidence.low_risk with input as testing.drift
	not evidence.purely_additive with input as testing.drift
}

# METADATA
# custom:
#   req: [C-19]
test_addition_that_destroys_waits_for_a_person if {
	document := testing.drift_with({"/changes/0/words": ["delete", "station"]})
	_said(document) == ["require_approval", {"contract.added_destructive", "change.not_additive"}]
}

# METADATA
# custom:
#   req: [C-05, C-13, C-19, T-02]
test_anything_but_low_risk_waits_for_a_person_at_every_tier if {
	every kind, expected in {
		"description_changed": ["heal_warning", "contract.warning"],
		"behaviour_changed": ["heal_warning", "contract.warning"],
		"canary_unstable": ["heal_warning", "contract.warning"],
		"tool_removed": ["heal_breaking", "contract.breaking"],
		"param_renamed": ["heal_breaking", "contract.breaking"],
		"required_removed": ["heal_additive", "contract.not_additive"],
	} {
		[class, code] := expected
		change := {"kind": kind, "tool": "a", "path": "/description"}
		_said(_of_class(_with(change), class)) == ["require_approval", {code, "change.not_additive"}]
	}
}

# METADATA
# custom:
#   promise: [M3]
test_what_deceives_is_not_even_proposed if {
	every kind in ["name_confusable", "name_duplicate", "name_shadowed"] {
		document := _of_class(_with({"kind": kind, "tool": "a", "path": "/name"}), "heal_breaking")
		_said(document) == ["escalate", {"contract.deceptive", "contract.breaking", "change.not_additive"}]
	}
}

# METADATA
# custom:
#   req: [C-05]
test_class_that_claims_less_than_the_drift_is_refused if {
	warning := {"kind": "description_changed", "tool": "a", "path": "/description"}
	breaking := {"kind": "tool_removed", "tool": "a", "path": ""}
	every class in ["heal_additive", "augment"] {
		"contract.class" in _said(_of_class(_with(warning), class))[1]
	}
	every class in ["heal_additive", "heal_warning", "augment"] {
		_said(_of_class(_with(breaking), class))[0] == "deny"
		"contract.class" in _said(_of_class(_with(breaking), class))[1]
	}
	every class in ["heal_warning", "heal_breaking"] {
		not "contract.class" in _said(_of_class(_with(warning), class))[1]
	}
	not "contract.class" in _said(_of_class(_with(breaking), "heal_breaking"))[1]
	{reason.message | some reason in drift.deny} == {"heal_additive claims less than what changed in the contract"} with input as _with(warning)
}

test_contract_that_means_the_same_is_of_any_class if {
	same := testing.drift_with({"/changes": [], "/new_digest": testing.digest("d"), "/observed_digest": testing.digest("d")})
	every class in ["heal_additive", "augment", "heal_warning"] {
		drift.deny == set() with input as testing.with_facts(same, {"/action/class": class})
	}
}

# METADATA
# custom:
#   req: [C-17]
test_first_contract_waits_for_a_person_at_every_tier if {
	first := testing.with_facts(
		testing.drift_with({"/status": "unbaselined", "/old_digest": null, "/changes": []}),
		{"/resource/files": [testing.file("contracts/weather.mcpc.json")]},
	)
	_said(first) == ["require_approval", {"contract.unbaselined"}]
	not evidence.low_risk with input as first
}

test_contract_that_nobody_observed_waits_for_a_person if {
	every digest in [null, testing.digest("f")] {
		document := testing.drift_with({"/observed_digest": digest})
		_said(document) == ["require_approval", {"contract.unobserved", "change.not_additive"}]
	}
	both := testing.drift_with({"/observed_digest": null, "/new_digest": null})
	"contract.unobserved" in _said(both)[1]
}

# METADATA
# custom:
#   req: [C-21]
test_addition_under_a_version_that_lies_is_breaking if {
	lies := testing.drift_with({"/versions": [{"tool": null, "before": "1.0.0", "after": "1.0.0", "bump": "none"}]})
	_said(lies) == ["deny", {"contract.class", "contract.breaking", "change.not_additive"}]
	_said(_of_class(lies, "heal_breaking")) == ["require_approval", {"contract.breaking", "change.not_additive"}]
}

# METADATA
# custom:
#   req: [C-13, C-15, C-16, C-19]
test_addition_with_a_canary_that_is_not_proved_does_not_go_through if {
	every outcome, effect in {"same": "allow", "changed": "require_approval", "unstable": "require_approval", "not_run": "escalate"} {
		document := testing.drift_with({"/canaries": [{"id": "c1", "outcome": outcome}]})
		_said(document)[0] == effect
	}
}

test_contract_that_is_removed_waits_for_a_person_and_is_breaking if {
	gone := testing.with_facts(
		testing.drift_with({"/status": "removed", "/new_digest": null, "/observed_digest": null, "/changes": []}),
		{"/resource/files/0/status": "deleted"},
	)
	_said(_of_class(gone, "heal_breaking")) == ["require_approval", {"contract.removed", "change.not_additive"}]
	_said(_of_class(gone, "heal_warning")) == ["deny", {"contract.class", "contract.removed", "change.not_additive"}]
}

test_contract_that_was_not_compared_is_refused if {
	every status, code in {
		"unreadable": "contract.baseline_untrusted",
		"foreign": "contract.baseline_untrusted",
		"incomplete": "contract.not_compared",
	} {
		document := testing.drift_with({"/status": status, "/changes": []})
		_said(document)[0] == "deny"
		code in _said(document)[1]
	}
	unexplained := testing.drift_with({"/changes": []})
	_said(unexplained)[0] == "deny"
	"contract.unexplained" in _said(unexplained)[1]
}

test_pinned_contract_without_its_measurement_is_escalated if {
	every path in ["contracts/weather.mcpc.json", "Contracts/WEATHER.mcpc.JSON", "contracts/other.mcpc.json"] {
		every facts in [null, {"contracts": []}] {
			document := testing.with_facts(testing.drift, {"/evidence/drift": facts, "/resource/files/0/path": path})
			_said(document)[0] == "escalate"
			"contract.unmeasured" in _said(document)[1]
		}
	}
	renamed := testing.with_facts(testing.drift, {
		"/evidence/drift": {"contracts": []},
		"/resource/files": [object.union(testing.pinned_file, {"status": "renamed", "path": "a.json", "old_path": "contracts/weather.mcpc.json"})],
	})
	"contract.unmeasured" in _said(renamed)[1]
	every path in ["contracts/sub/weather.mcpc.json", "a/contracts/weather.mcpc.json", "contracts/weather.json", "contracts/notes.md"] {
		document := testing.with_facts(testing.change, {"/resource/files": [testing.file(path)]})
		_said(document) == ["allow", {"tier.auto_if_tests_pass"}]
	}
}

test_edit_beside_an_addition_is_no_addition if {
	edited := object.union(testing.pinned_file, {"path": "skills/weather/SKILL.md", "language": "markdown"})
	beside := testing.with_facts(testing.drift, {"/resource/files": [testing.pinned_file, edited]})
	_said(beside) == ["require_approval", {"change.not_additive"}]
	added := testing.with_facts(testing.drift, {"/resource/files": [testing.pinned_file, testing.file("skills/weather/notes.md")]})
	_said(added) == ["allow", {"tier.auto_if_tests_pass"}]
	every facts in [{"status": "renamed", "old_path": "a"}, {"status": "deleted"}, {"mode_changed": true}] {
		file := object.union(testing.pinned_file, facts)
		"change.not_additive" in _said(testing.with_facts(testing.drift, {"/resource/files": [file]}))[1]
	}
}

test_each_of_several_contracts_is_judged if {
	other := testing.with_facts(testing.pin, {
		"/server": "other", "/path": "contracts/other.mcpc.json",
		"/changes": [{"kind": "description_changed", "tool": "a", "path": "/description"}],
	})
	files := [testing.pinned_file, object.union(testing.pinned_file, {"path": "contracts/other.mcpc.json"})]
	both := testing.with_facts(testing.drift, {"/resource/files": files, "/evidence/drift": {"contracts": [testing.pin, other]}})
	_said(both) == ["deny", {"contract.class", "contract.warning", "change.not_additive"}]
}

test_paths_that_no_proposal_may_touch_are_told_beforehand if {
	files := [testing.pinned_file, testing.file("policy/x.rego"), testing.file("a/vendor/x.md"), testing.file("skills/x.md")]
	verdict := _verdict(testing.with_facts(testing.drift, {"/resource/files": files}))
	verdict.facts.drift == {"out_of_reach": ["a/vendor/x.md", "policy/x.rego"]}
	not _verdict(testing.change).facts.drift
}

test_addition_that_was_observed_needs_nobody if {
	drift.require_approval == set() with input as testing.drift
	drift.additions == {"contracts/weather.mcpc.json"} with input as testing.drift
	drift.escalate == set() with input as testing.drift
	messages := {reason.message | some reason in drift.require_approval} with input as testing.drift_with({"/observed_digest": null})
	messages == {"nobody saw weather advertise the proposed contract"}
}
