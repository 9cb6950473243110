package tipstaff.reasons_test

import data.tipstaff.reasons

_chain(custom) := [
	{"path": ["tipstaff", "gates", "deny"], "annotations": {"custom": custom}},
	{"path": ["tipstaff", "gates"], "annotations": {"title": "package"}},
]

_custom := {"code": "gate.x", "message": "{it} and {it}", "solution": "drop {it}"}

test_annotated_rule_is_a_whole_reason if {
	reasons.of(_chain(_custom)) == {
		"code": "gate.x",
		"message": "{it} and {it}",
		"rule": "tipstaff.gates.deny#gate.x",
		"solution": "drop {it}",
		"confirmations": 1,
		"order": 50,
	}
}

test_annotated_confirmations_are_in_the_reason if {
	reason := reasons.of(_chain(object.union(_custom, {"confirmations": 2, "order": 1})))
	[reason.confirmations, reason.order] == [2, 1]
}

test_rule_without_solution_is_no_reason if {
	not reasons.of(_chain(object.remove(_custom, ["solution"])))
	not reasons.of(_chain(object.remove(_custom, ["message"])))
	not reasons.of(_chain(object.remove(_custom, ["code"])))
}

test_thing_is_named_in_words_and_code if {
	on := reasons.on(_chain(_custom), "x")
	[on.code, on.message, on.solution] == ["gate.x", "x and x", "drop x"]
	about := reasons.about(_chain(_custom), "x")
	[about.code, about.message, about.solution] == ["gate.x:x", "x and x", "drop x"]
}

test_thing_of_any_type_is_named if {
	every case in [[5, "5"], [null, "null"], [false, "false"], [[], "[]"], [{}, "{}"], ["", ""], ["{it}", "{it}"]] {
		[thing, shown] := case
		reasons.on(_chain(_custom), thing).solution == concat(" ", ["drop", shown])
		reasons.about(_chain(_custom), thing).code == concat(":", ["gate.x", shown])
	}
}
