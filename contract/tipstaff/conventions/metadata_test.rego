package tipstaff.conventions_test

import data.tipstaff.conventions

test_package_without_title_or_description_is_found if {
	every key in ["title", "description"] {
		given := json.patch(_overlay([]), [{"op": "remove", "path": concat("/", ["/annotations/0/annotations", key])}])
		_found(given) == {"convention.metadata org/size/size.rego:3 org.size"}
		_found(_with(_overlay([]), {concat("/", ["/annotations/0/annotations", key]): ""})) == _found(given)
		_found(_with(_overlay([]), {concat("/", ["/annotations/0/annotations", key]): 5})) == _found(given)
	}
}

test_reason_without_a_key_of_its_metadata_is_found if {
	every key in ["title", "description", "custom/message", "custom/solution", "custom/code"] {
		given := json.patch(_overlay([]), [{"op": "remove", "path": concat("/", ["/annotations/1/annotations", key])}])
		_found(given) == {"convention.metadata org/size/size.rego:6 org.size.deny"}
	}
}

test_reason_without_metadata_lacks_each_key if {
	given := json.patch(_overlay([]), [{"op": "remove", "path": "/annotations/1"}])
	_found(given) == {"convention.metadata org/size/size.rego:6 org.size.deny"}
}

test_reason_is_annotated_by_a_note_on_its_document if {
	second := object.union(_deny, {"row": 12})
	"convention.metadata" in _codes(_overlay([second]))
	_found(_with(_overlay([second]), {"/annotations/1/annotations/scope": "document"})) == set()
}

test_rule_that_hands_a_reason_on_needs_no_code if {
	given := _overlay([_giving("escalate", _var("reason"), [])])
	_found(given) == {"convention.metadata org/size/size.rego:6 org.size.escalate"}
	note := {"file": "org/size/size.rego", "row": 6, "path": ["org", "size", "escalate"], "annotations": {"title": "E"}}
	_found(_with(given, {"/annotations/-": note})) == set()
}

test_rule_that_makes_a_reason_by_a_call_needs_a_code if {
	titled := {"file": "org/size/size.rego", "row": 8, "path": ["org", "size", "escalate"], "annotations": {"title": "E"}}
	_codes(_with(_overlay([_made("object.union")]), {"/annotations/-": titled})) == {"convention.metadata", "convention.untested"}
	ours := object.union(titled, {"file": "tipstaff/size/size.rego", "path": ["tipstaff", "size", "escalate"]})
	own := _with(_ours, {"/annotations/-": ours})
	_codes(_with(own, {"/files/0/tree/rules/-": _made("_reason")})) == set()
	_codes(_with(own, {"/files/0/tree/rules/-": _made("reasons.on")})) == {"convention.metadata", "convention.untested"}
}

_made(name) := object.union(_giving("escalate", _call(name, []), []), {"row": 8})

test_public_rule_without_a_title_is_found if {
	_found(_overlay([_rule("is_big", [])])) == {"convention.metadata org/size/size.rego:6 org.size.is_big"}
	_found(_overlay([_rule("_is_big", [])])) == set()
	note := {"file": "org/size/size.rego", "row": 1, "path": ["org", "size", "is_big"], "annotations": {"title": "Big"}}
	_found(_with(_overlay([_rule("is_big", [])]), {"/annotations/-": note})) == set()
}

test_rules_of_tests_need_no_metadata if {
	_found(_with(_overlay([]), {"/files/1/tree/rules/-": _rule("helper", [])})) == set()
}

test_key_that_nothing_reads_is_found if {
	_found(_with(_overlay([]), {"/annotations/1/annotations/custom/solutoin": "x"})) == {"convention.unknown_key org/size/size.rego:6 org.size.deny"}
	noted := {"file": "org/size/size_test.rego", "row": 6, "path": ["x"], "annotations": {"custom": {"req": ["A"]}}}
	_found(_with(_overlay([]), {"/annotations/-": noted})) == set()
}

test_code_that_is_used_twice_is_found_in_both_places if {
	second := object.union(_deny, {"row": 12})
	again := {"file": "org/size/size.rego", "row": 12, "path": ["org", "size", "deny"], "annotations": _metadata}
	_found(_with(_overlay([second]), {"/annotations/-": again})) == {
		"convention.code_twice org/size/size.rego:6 org.size.deny",
		"convention.code_twice org/size/size.rego:12 org.size.deny",
	}
	other := _with({"note": again}, {"/note/annotations/custom/code": "org.size.other"}).note
	_found(_with(_overlay([second]), {"/annotations/-": other})) == set()
}

test_code_in_the_reason_itself_counts if {
	pair := [_text("code"), _text("org.size")]
	written := _giving("escalate", {"type": "object", "value": [pair, [_text("message"), _text("org.other")]]}, [])
	"convention.code_twice" in _codes(_overlay([object.union(written, {"row": 12})]))
	computed := _giving("escalate", {"type": "object", "value": [[_text("code"), _var("x")]]}, [])
	not "convention.code_twice" in _codes(_overlay([object.union(computed, {"row": 12})]))
	not "convention.code_family" in _codes(_overlay([object.union(computed, {"row": 12})]))
}

test_code_of_the_engine_is_found if {
	_codes(_with(_overlay([]), {"/taken/-": "org.size"})) == {"convention.code_twice"}
}

test_code_outside_the_overlays_family_is_found if {
	every code in ["freeze", "org", "org.sizes", "org.other.size", "engine.timeout", "Org.size", "org.size.", "org.size.a b", "org.size:x"] {
		given := _with(_overlay([]), {"/annotations/1/annotations/custom/code": code})
		"convention.code_family org/size/size.rego:6 org.size.deny" in _found(given)
	}
	every code in ["org.size", "org.size.big", "org.size.big_1.x"] {
		_found(_with(_overlay([]), {"/annotations/1/annotations/custom/code": code})) == set()
	}
}

test_code_that_is_not_ours_to_give_is_found if {
	every code in ["engine.x", "explanation.x", "obligation.x", "org.size", "Size", ""] {
		"convention.code_family" in _codes(_giving_code(code))
	}
	every code in ["size", "size.big", "organic"] {
		_codes(_giving_code(code)) == {"convention.untested"}
	}
}

_giving_code(code) := _with(_ours, {
	"/files/0/tree/rules/-": object.union(_deny, {"row": 6}),
	"/annotations/-": {
		"file": "tipstaff/size/size.rego",
		"row": 6,
		"path": ["tipstaff", "size", "deny"],
		"annotations": object.union(_metadata, {"custom": {"code": code, "message": "m", "solution": "s"}}),
	},
})

_messages_of(given) := {found.message |
	report := conventions.report with input as given
	some found in report.findings
}

test_missing_key_is_named if {
	_messages_of(json.patch(_overlay([]), [{"op": "remove", "path": "/annotations/1/annotations/custom/code"}])) == {"the annotation lacks custom.code"}
	_messages_of(_overlay([_rule("is_big", [])])) == {"the annotation lacks title"}
}

test_each_of_two_reasons_needs_a_title_of_its_own if {
	second := {"file": "org/size/size.rego", "row": 12, "path": ["org", "size", "deny"], "annotations": object.union(
		object.remove(_metadata, ["title"]),
		{"custom": {"code": "org.size.other", "message": "m", "solution": "s"}},
	)}
	_found(_with(_overlay([object.union(_deny, {"row": 12})]), {"/annotations/-": second})) == {"convention.metadata org/size/size.rego:12 org.size.deny"}
}

test_each_key_that_is_read_may_stand_under_custom if {
	every key in ["code", "confirmations", "controls", "message", "order", "severity", "solution"] {
		note := {"file": "org/size/size.rego", "row": 9, "path": ["org", "size", "x"], "annotations": {"custom": {key: "org.size.x"}}}
		_found(_with(_overlay([]), {"/annotations/-": note})) == set()
	}
}

test_code_in_what_is_no_reason_counts_for_nothing if {
	words := _giving("_words", {"type": "object", "value": [[_text("code"), _text("org.size")]]}, [])
	_found(_overlay([words])) == set()
	other := _giving("escalate", {"type": "object", "value": [[_text("code"), _text("org.size.x")], [_text("message"), _text("other")]]}, [])
	not "convention.code_family" in _codes(_overlay([object.union(other, {"row": 12})]))
}
