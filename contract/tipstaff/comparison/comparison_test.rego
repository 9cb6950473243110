package tipstaff.comparison_test

import data.tipstaff.comparison

_allow := {"effect": "allow", "codes": ["a"], "confirmations": 0, "obligations": [{"id": "one"}], "matched_rules": ["x#a"]}

_ask := {"effect": "require_approval", "codes": ["b"], "confirmations": 1, "obligations": [], "matched_rules": ["x#b"]}

_case(base, head) := {"name": "the case", "sha256": "ab", "base": base, "head": head}

_report(cases, acknowledged) := report if {
	report := comparison.report with input as {"cases": cases, "acknowledged": acknowledged}
}

_class_of(base, head) := _report([_case(base, head)], []).flips[0].class

test_equal_verdicts_are_no_flip if {
	report := _report([_case(_allow, _allow), _case(_ask, object.union(_ask, {"advice": ["x"]}))], [])
	object.remove(report, ["unused"]) == {
		"outcome": "clean", "cases": 2, "loosened": 0, "tightened": 0, "changed": 0, "unchanged": 2,
		"unacknowledged": 0, "flips": [],
	}
}

# METADATA
# custom:
#   req: [CI-06]
test_loosened_verdict_stops_the_edit_until_its_id_is_acknowledged if {
	report := _report([_case(_ask, _allow), _case(_ask, _ask)], [])
	report.outcome == "unacknowledged"
	[report.loosened, report.unchanged, report.unacknowledged] == [1, 1, 1]
	[flip] := report.flips
	object.remove(flip, ["id"]) == {
		"case": "the case", "class": "loosened", "acknowledged": false,
		"base": {"effect": "require_approval", "codes": ["b"]},
		"head": {"effect": "allow", "codes": ["a"]},
		"rules": {"went": ["x#b"], "came": ["x#a"]},
	}
	known := _report([_case(_ask, _allow)], [flip.id, "other"])
	known.outcome == "clean"
	[known.loosened, known.unacknowledged, known.unused, known.flips[0].acknowledged] == [1, 0, ["other"], true]
}

test_each_step_of_the_order_is_judged if {
	effects := ["allow", "require_approval", "escalate", "deny"]
	classes := {[i, j, class] |
		some i, base in effects
		some j, head in effects
		i != j
		class := _class_of(object.union(_ask, {"effect": base}), object.union(_ask, {"effect": head}))
	}
	count(classes) == 12
	every item in classes {
		[i, j, class] := item
		class == {true: "tightened", false: "loosened"}[j > i]
	}
}

test_tightened_verdict_stops_nothing if {
	report := _report([_case(_allow, _ask)], [])
	[report.outcome, report.tightened, report.loosened] == ["clean", 1, 0]
}

test_other_codes_are_a_change_that_stops_nothing if {
	report := _report([_case(_ask, object.union(_ask, {"codes": ["c"]}))], [])
	[report.outcome, report.changed, report.flips[0].class] == ["clean", 1, "changed"]
}

test_fewer_confirmations_or_duties_are_looser if {
	twice := object.union(_ask, {"confirmations": 2})
	_class_of(twice, _ask) == "loosened"
	_class_of(_ask, twice) == "tightened"
	_class_of(_allow, object.union(_allow, {"obligations": []})) == "loosened"
	_class_of(object.union(twice, {"confirmations": 1, "obligations": [{"id": "one"}]}), twice) == "loosened"
	_class_of(_allow, object.union(_allow, {"obligations": [{"id": "one"}, {"id": "two"}]})) == "changed"
	_class_of(_ask, object.union(_allow, {"confirmations": 2})) == "loosened"
}

test_rules_that_speak_on_both_sides_neither_went_nor_came if {
	[flip] := _report(
		[_case(
			object.union(_ask, {"matched_rules": ["x#b", "x#both"]}),
			object.union(_allow, {"matched_rules": ["x#both", "x#a"]}),
		)],
		[],
	).flips
	flip.rules == {"went": ["x#b"], "came": ["x#a"]}
}

test_effect_that_nobody_ranked_is_looser if {
	_class_of(_allow, object.union(_allow, {"effect": "perhaps"})) == "loosened"
	_class_of(object.union(_allow, {"effect": "perhaps"}), _allow) == "loosened"
}

test_no_cases_are_no_agreement if {
	_report([], []).outcome == "nothing_compared"
}

test_id_depends_on_the_case_and_both_effects if {
	ids := {_report([case], []).flips[0].id |
		some case in [
			_case(_ask, _allow),
			_case(_allow, _ask),
			object.union(_case(_ask, _allow), {"sha256": "cd"}),
			object.union(_case(_ask, _allow), {"name": "the same under another name"}),
			_case(object.union(_ask, {"codes": ["c"]}), _allow),
		]
	}
	count(ids) == 3
	"6dbf97142291aec0" in ids
}
