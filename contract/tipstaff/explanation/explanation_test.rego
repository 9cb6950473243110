package tipstaff.explanation_test

import data.tipstaff.explanation
import data.tipstaff.testing

_report(document) := report if {
	report := explanation.report with input as {"document": document} with data.tipstaff.bundle as testing.bundle
}

# METADATA
# custom:
#   req: [EX-04]
test_one_fact_that_alters_the_verdict_is_found if {
	report := _report(testing.change_with({"/evidence/tests/failed": 3}))
	report == {
		"effect": "require_approval",
		"codes": ["tests.failed"],
		"facts": [{"code": "tests.failed", "fact": "evidence.tests.failed", "has": 3, "wanted": 0, "rank": 0}],
		"alternatives": [{"fact": "evidence.tests.failed", "has": 3, "wanted": 0, "rank": 0, "effect": "allow"}],
		"together": "allow",
	}
}

# METADATA
# custom:
#   req: [EX-04]
test_two_reasons_are_lifted_only_together if {
	report := _report(testing.change_with({
		"/evidence/tests/failed": 1,
		"/evidence/tests/diff_sha256": testing.digest("e"),
	}))
	report.alternatives == []
	{[fact.code, fact.has, fact.wanted] | some fact in report.facts} == {
		["tests.failed", 1, 0],
		["tests.stale", testing.digest("e"), testing.digest("d")],
	}
	report.together == "allow"
}

test_tier_of_the_class_is_a_fact_with_several_values if {
	report := _report(testing.change_under({"autonomy": {"heal_additive": "off"}, "schema_version": 1}, null))
	report.effect == "deny"
	[fact.fact | some fact in report.facts] == ["context.config.team.autonomy.heal_additive"]
	[[one.wanted, one.effect] | some one in report.alternatives] == [
		["propose", "require_approval"],
		["auto-if-tests-pass", "allow"],
	]
	report.together == "require_approval"
}

test_whole_evidence_is_given_only_where_it_is_absent if {
	absent := _report(testing.change_with({"/evidence/tests": null, "/evidence/sandbox": null}))
	[fact.fact | some fact in absent.facts] == ["evidence.tests", "evidence.sandbox"]
	absent.facts[0].wanted.diff_sha256 == testing.digest("d")
	absent.facts[0].wanted.failed == 0
	absent.together == "allow"
	empty := _report(testing.change_with({"/evidence/tests/passed": 0}))
	[[fact.fact, fact.has] | some fact in empty.facts] == [["evidence.tests.passed", 0]]
}

test_code_with_a_parameter_has_the_facts_of_its_code if {
	report := _report(testing.change_with({"/action/found_capabilities": ["raw_shell_execution"]}))
	report.codes == ["forbid:raw_shell_execution"]
	[[one.fact, one.effect] | some one in report.alternatives] == [["action.found_capabilities", "allow"]]
}

test_allowed_change_shows_what_would_stop_it if {
	report := _report(testing.change)
	[[one.wanted, one.effect] | some one in report.alternatives] == [["propose", "require_approval"]]
}

test_code_without_known_facts_has_no_alternatives if {
	report := _report({})
	report.effect == "deny"
	[report.facts, report.alternatives, report.together] == [[], [], "deny"]
}

# METADATA
# custom:
#   req: [EX-04]
test_every_named_fact_is_one_of_the_documents if {
	every entries in data.tipstaff.explanation.facts {
		count(entries) > 0
		every entry in entries {
			count(entry.values) > 0
			split(entry.fact, ".")[0] in {"action", "resource", "evidence", "context"}
		}
	}
}
