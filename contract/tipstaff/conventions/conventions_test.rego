package tipstaff.conventions_test

import data.tipstaff.conventions

test_overlay_that_keeps_all_conventions_has_no_finding if {
	_found(_overlay([])) == set()
	_found(_ours) == set()
}

test_what_was_looked_at_is_counted if {
	report := conventions.report with input as _overlay([_rule("_big", [])])
	report.checked == {"files": 2, "rules": 2}
	nothing := conventions.report with input as {"files": [], "annotations": [], "complaints": []}
	nothing == {"findings": [], "checked": {"files": 0, "rules": 0}}
}

test_finding_is_whole if {
	report := conventions.report with input as _with(_overlay([]), {"/files/0/unformatted": 4})
	report.findings == [{
		"code": "convention.format",
		"severity": "error",
		"file": "org/size/size.rego",
		"line": 4,
		"message": "the file is not formatted",
		"solution": "run `opa fmt --write org/size/size.rego`",
		"rule": "org.size",
	}]
}

test_findings_are_in_the_order_of_file_and_line if {
	report := conventions.report with input as _with(_overlay([]), {
		"/files/0/lines": 151,
		"/files/0/unformatted": 4,
		"/files/1/unformatted": 2,
	})
	[[found.file, found.line, found.severity] | some found in report.findings] == [
		["org/size/size.rego", 4, "error"],
		["org/size/size.rego", 151, "warning"],
		["org/size/size_test.rego", 2, "error"],
	]
}

test_complaint_of_the_compiler_is_a_finding if {
	said := {"code": "rego_type_error", "message": "undefined ref: input.kid", "file": "org/size/size.rego", "row": 8}
	_found(_with(_overlay([]), {"/complaints/-": said})) == {"convention.type org/size/size.rego:8 org.size"}
	other := object.union(said, {"code": "rego_compile_error"})
	_found(_with(_overlay([]), {"/complaints/-": other})) == {"convention.compile org/size/size.rego:8 org.size"}
	report := conventions.report with input as _with(_overlay([]), {"/complaints/-": said})
	report.findings[0].message == "undefined ref: input.kid"
}

test_package_of_another_folder_is_found if {
	_found(_with(_overlay([]), {"/files/0/folders": ["org", "sizes"]})) == {"convention.package org/size/size.rego:3 org.size"}
	"convention.package" in _codes(_with(_overlay([]), {"/files/1/folders": ["org"]}))
	_found(_with(_overlay([]), {"/files/1/tree/package/path/2/value": "size"})) == set()
	"convention.package" in _codes(_with(_overlay([]), {"/files/0/tree/package/path/2/value": "size_test"}))
}

test_package_that_is_not_directly_below_org_is_found if {
	deep := _file("org/a/b/b.rego", ["org", "a", "b"], "org.a.b", [_rule("_helper", [])])
	note := {"file": "org/a/b/b.rego", "row": 3, "path": ["org", "a", "b"], "annotations": {"title": "B", "description": "b"}}
	given := _with(_overlay([]), {"/files/-": deep, "/annotations/-": note})
	_found(given) == {"convention.depth org/a/b/b.rego:3 org.a.b"}
	_found(object.union(given, {"root": "tipstaff"})) & {"convention.depth org/a/b/b.rego:3 org.a.b"} == set()
}

test_rule_that_nobody_reads_is_found if {
	every rule in [
		_rule("allow", []),
		_rule("violation", []),
		_rule("denied", []),
		object.union(_rule("deny", []), {"head": {"args": [_var("x")]}}),
	] {
		"convention.unread" in _codes_of([rule])
	}
	"convention.unread" in _codes_of([_giving("denny", _key, [])])
	not "convention.unread" in _codes_of([_rule("_allow", []), _rule("is_denied", []), _giving("_wanted", _key, [])])
	not "convention.unread" in _codes(object.union(_overlay([_rule("allow", [])]), {"root": "tipstaff"}))
}

test_rule_in_a_package_that_is_not_read_is_found if {
	every path in ["org", "org.a.b"] {
		unread := _file("org/x.rego", split(path, "."), path, [_rule("deny", [])])
		"convention.unread" in _codes(_with(_overlay([]), {"/files/-": unread}))
	}
}

test_long_file_is_found if {
	_found(_with(_overlay([]), {"/files/0/lines": 151})) == {"convention.length org/size/size.rego:151 org.size"}
	_found(_with(_overlay([]), {"/files/1/lines": 301})) == {"convention.length org/size/size_test.rego:301 org.size_test"}
	_found(_with(_overlay([]), {"/files/0/lines": 150, "/files/1/lines": 300})) == set()
}

test_input_without_a_schema_is_found if {
	reading := _overlay([_rule("_big", [_is(_ref("input.kind"))])])
	_found(reading) == set()
	bare := {"op": "remove", "path": "/annotations/0/annotations/schemas"}
	_found(json.patch(reading, [bare])) == {"convention.schema org/size/size.rego:3 org.size"}
	_found(json.patch(_overlay([]), [bare])) == set()
}

test_package_that_is_excused_from_a_schema_is_not_found if {
	file := _file("tipstaff/guard/guard.rego", ["tipstaff", "guard"], "tipstaff.guard", [_rule("_a", [_is(_ref("input.kind"))])])
	note := {"file": "tipstaff/guard/guard.rego", "row": 3, "path": ["tipstaff", "guard"], "annotations": {"title": "G", "description": "g"}}
	given := _with(_ours, {"/files/-": file, "/annotations/-": note})
	_found(given) == set()
	_found(given) == {"convention.schema tipstaff/guard/guard.rego:3 tipstaff.guard"} with data.tipstaff.conventions.without_schema as []
}

test_reason_that_no_test_names_is_found if {
	untested := {"convention.untested org/size/size.rego:6 org.size.deny"}
	_found(_with(_overlay([]), {"/files/1/tree/rules": []})) == untested
	_found(_with(_overlay([]), {"/files/1/tree/rules": [_rule("helper", [_is(_ref("size.deny"))])]})) == untested
	_found(_with(_overlay([]), {"/files/1/tree/rules": [_rule("test_big_is_denied", [_is(_ref("size.grant"))])]})) == untested
	_found(_with(_overlay([]), {
		"/files/1/tree/package/path/2/value": "sizes_test",
		"/files/1/folders": ["org", "sizes"],
	})) == untested
}

_named_test(name) := _file("tipstaff/size/size_test.rego", ["tipstaff", "size"], "tipstaff.size_test", [_rule(name, [])])

test_name_of_a_test_that_is_no_sentence_is_found if {
	_found(_with(_ours, {"/files/-": _named_test("test_big_one")})) == {"convention.test_name tipstaff/size/size_test.rego:6 tipstaff.size_test.test_big_one"}
	_found(_with(_ours, {"/files/-": _named_test("test_big_is_denied")})) == set()
	_found(_with(_ours, {"/files/-": _named_test("helper")})) == set()
	_found(_with(_overlay([]), {"/files/1/tree/rules/-": _rule("test_big", [])})) == set()
}

test_each_set_that_a_verdict_reads_is_read_only_in_its_place if {
	every name in ["deny", "escalate", "obligations", "require_approval"] {
		deep := _file("org/a/b/b.rego", ["org", "a", "b"], "org.a.b", [_rule(name, [])])
		"convention.unread" in _codes(_with(_overlay([]), {"/files/-": deep}))
		not "convention.unread" in _codes_of([_giving(name, _key, [])])
	}
}

test_each_name_that_resembles_one_that_is_read_is_found if {
	every name in [
		"allow", "approve", "approvals", "block", "denied", "denies", "escalates", "escalation", "escalations", "obligation",
		"permit", "require_approvals", "requires_approval", "violation", "violations", "warn",
	] {
		"convention.unread" in _codes_of([_rule(name, [])])
	}
}

test_each_set_of_reasons_needs_a_test if {
	every name in ["advice", "deny", "escalate", "findings", "grant", "hold", "require_approval", "shortfalls"] {
		"convention.untested" in _codes(_with(_ours, {"/files/0/tree/rules/-": _giving(name, _key, [])}))
	}
}

test_set_that_gives_no_reason_needs_neither_metadata_nor_test if {
	_found(_overlay([_giving("_words", _key, [])])) == set()
	_found(_overlay([_giving("_words", _call("object.union", []), [])])) == set()
}

test_rule_below_a_name_has_both_in_its_path if {
	rule := {"row": 6, "body": [], "head": {"ref": [_var("sizes"), _text("big"), _var("x")], "value": _number(5)}}
	_found(_overlay([rule])) == {"convention.metadata org/size/size.rego:6 org.size.sizes.big"}
}

test_length_that_is_no_number_is_not_compared if {
	_found(_with(_overlay([]), {"/files/0/lines": "many"})) == set()
}

test_text_that_says_input_reads_nothing if {
	bare := json.patch(_overlay([_rule("_big", [_is(_text("input"))])]), [{"op": "remove", "path": "/annotations/0/annotations/schemas"}])
	_found(bare) == set()
}

test_package_without_a_note_lacks_title_description_and_schema if {
	given := json.patch(_overlay([_rule("_big", [_is(_ref("input.kind"))])]), [{"op": "remove", "path": "/annotations/0"}])
	_found(given) == {
		"convention.metadata org/size/size.rego:3 org.size",
		"convention.schema org/size/size.rego:3 org.size",
	}
}

test_each_package_whose_input_is_no_document_is_excused if {
	every name in ["comparison", "conventions", "decision", "explanation", "guard", "sidecar", "waivers"] {
		path := concat(".", ["tipstaff", name])
		file := _file("tipstaff/x.rego", ["tipstaff", name], path, [_rule("_a", [_is(_ref("input.kind"))])])
		not "convention.schema" in _codes(_with(_ours, {"/files/-": file}))
	}
	other := _file("tipstaff/x.rego", ["tipstaff", "x"], "tipstaff.x", [_rule("_a", [_is(_ref("input.kind"))])])
	"convention.schema" in _codes(_with(_ours, {"/files/-": other}))
}

test_reason_that_a_test_does_not_refer_to_is_untested if {
	every term in [_call("f", [_text("deny")]), {"type": "ref", "row": 9, "value": [_var("size"), _var("deny")]}] {
		tests := [_rule("test_big_is_denied", [_is(term)])]
		_found(_with(_overlay([]), {"/files/1/tree/rules": tests})) == {"convention.untested org/size/size.rego:6 org.size.deny"}
	}
	beside := _rule("test_big_is_denied", [_is(_ref("size.deny"))])
	"convention.untested" in _codes(_with(_overlay([beside]), {"/files/1/tree/rules": []}))
}

test_rule_that_is_named_like_a_test_is_none if {
	not "convention.test_name" in _codes(_with(_ours, {"/files/0/tree/rules/-": _rule("test_big", [])}))
}
