package tipstaff.conventions_test

import data.tipstaff.conventions

_five := _number(5)

_unguarded := {"convention.comparison"}

_compares(body) := _codes_of([_rule("_big", body)])

test_comparison_with_the_input_without_a_guard_is_found if {
	every name in ["lt", "lte", "gt", "gte"] {
		_found(_overlay([_rule("_big", [_says(name, [_ref("input.n"), _five])])])) == {"convention.comparison org/size/size.rego:9 org.size._big"}
		_compares([_says(name, [_five, _ref("input.n")])]) == _unguarded
		_compares([_not(_says(name, [_ref("input.n"), _five]))]) == _unguarded | {"convention.negation"}
		_compares([_says("assign", [_var("x"), _call(name, [_ref("input.n"), _five])])]) == _unguarded
	}
	_compares([_says("equal", [_ref("input.n"), _five])]) == set()
}

test_comparison_of_what_is_no_input_is_not_found if {
	_compares([_says("lt", [_call("count", [_ref("input.files")]), _five])]) == set()
	_compares([_says("lt", [_ref("data.limits.n"), _five])]) == set()
	_compares([_says("lt", [_var("n"), _five])]) == set()
}

test_guard_of_the_very_term_is_enough if {
	every guard in ["is_number", "is_string"] {
		_compares([_says(guard, [_ref("input.n")]), _says("lt", [_ref("input.n"), _five])]) == set()
	}
	_compares([_says("is_number", [_ref("input.m")]), _says("lt", [_ref("input.n"), _five])]) == _unguarded
	_compares([_says("is_array", [_ref("input.n")]), _says("lt", [_ref("input.n"), _five])]) == _unguarded
	_compares([_not(_says("is_number", [_ref("input.n")])), _says("lt", [_ref("input.n"), _five])]) == _unguarded | {"convention.negation"}
	_compares([_says("is_number", [_call("count", [])]), _says("lt", [_call("object.get", [_ref("input.n")]), _five])]) == _unguarded
}

test_each_operand_from_the_input_needs_a_guard if {
	both := _says("lt", [_ref("input.n"), _ref("input.m")])
	_compares([both, _says("is_number", [_ref("input.n")])]) == _unguarded
	_compares([both, _says("is_number", [_ref("input.n")]), _says("is_number", [_ref("input.m")])]) == set()
}

test_name_of_a_part_of_the_input_is_followed if {
	every body in [
		[_says("assign", [_var("n"), _ref("input.n")]), _says("lt", [_var("n"), _five])],
		[_says("eq", [_var("n"), _ref("input.n")]), _says("lt", [_var("n"), _five])],
		[_says("assign", [_var("m"), _ref("input.n")]), _says("assign", [_var("n"), _var("m")]), _says("lt", [_var("n"), _five])],
		[_some([_var("file")], _ref("input.files")), _says("lt", [_ref("file.n"), _five])],
		[_some([_var("i"), _var("file")], _ref("input.files")), _says("lt", [_ref("file.n"), _five])],
		[_every("file", _ref("input.files"), [_says("lt", [_ref("file.n"), _five])])],
		[_says("assign", [_var("n"), _call("object.get", [_ref("input.n"), _five])]), _says("lt", [_var("n"), _five])],
		[_says("assign", [_var("n"), _call("object.get", [_var("input"), _five])]), _says("lt", [_var("n"), _five])],
		[_says("lt", [_call("object.get", [_ref("input.n")]), _five])],
	] {
		_compares(body) == _unguarded
	}
	_compares([_says("assign", [_var("n"), _call("count", [_ref("input.n")])]), _says("lt", [_var("n"), _five])]) == set()
	_compares([_says("assign", [_var("n"), _ref("other.n")]), _says("lt", [_var("n"), _five])]) == set()
	_compares([_some([_five], _ref("input.files")), _says("lt", [_var("n"), _five])]) == set()
}

test_guard_of_a_name_guards_what_it_stands_for if {
	bound := _says("assign", [_var("n"), _ref("input.n")])
	_compares([bound, _says("is_number", [_var("n")]), _says("lt", [_ref("input.n"), _five])]) == set()
	_compares([bound, _says("is_number", [_ref("input.n")]), _says("lt", [_var("n"), _five])]) == set()
	_compares([bound, _says("is_number", [_ref("input.m")]), _says("lt", [_var("n"), _five])]) == _unguarded
}

test_guard_of_one_branch_does_not_guard_another if {
	guarded := [_says("is_number", [_ref("input.n")]), _says("lt", [_ref("input.n"), _five])]
	bare := [_says("lt", [_ref("input.n"), _five])]
	rule := _rule("_big", guarded)
	_codes_of([object.union(rule, {"else": _rule("_big", guarded)})]) == set()
	_codes_of([object.union(rule, {"else": _rule("_big", bare)})]) == _unguarded
	_codes_of([object.union(rule, {"else": object.union(_rule("_big", guarded), {"else": _rule("_big", bare)})})]) == _unguarded
}

test_rule_that_stands_for_a_part_of_the_input_is_followed if {
	alias := _valued("_tests", _ref("input.tests"))
	_codes_of([alias, _rule("_big", [_says("lt", [_ref("_tests.n"), _five])])]) == _unguarded
	_codes_of([_valued("_tests", _ref("data.tests")), _rule("_big", [_says("lt", [_ref("_tests.n"), _five])])]) == set()
}

test_value_of_a_rule_without_a_default_is_found if {
	asks := _rule("_ok", [_says("equal", [_var("_big"), {"type": "boolean", "value": false}])])
	default_big := object.union(_rule("_big", []), {"default": true})
	_codes_of([_rule("_big", []), asks]) == {"convention.default"}
	_codes_of([_rule("_big", []), default_big, asks]) == set()
	_codes_of([_rule("_big", []), _rule("_ok", [_is(_var("_big"))])]) == set()
	_codes_of([_rule("_big", []), _rule("_ok", [_not(_is(_var("_big")))])]) == set()
	_codes_of([object.union(_rule("_big", []), {"head": {"args": [_var("x")]}}), asks]) == set()
	_codes_of([_valued("_big", _five), asks]) == set()
	_codes_of([_rule("_big", []), _valued("_ok", _var("_big"))]) == {"convention.default"}
	_codes_of([_rule("_big", []), _giving("_ok", _var("_big"), [])]) == {"convention.default"}
}

# METADATA
# custom:
#   req: [CI-02]
test_entrypoint_without_a_default_is_found if {
	rule := object.union(_rule("verdict", []), {"head": {"value": _five}})
	note := {"file": "org/size/size.rego", "row": 6, "path": ["org", "size", "verdict"], "annotations": {
		"title": "V",
		"entrypoint": true,
	}}
	given := _with(_overlay([rule]), {"/annotations/-": note})
	_found(given) == {"convention.default org/size/size.rego:6 org.size.verdict"}
	_found(_with(given, {"/files/0/tree/rules/-": object.union(rule, {"default": true})})) == set()
	_found(_with(given, {"/annotations/2/annotations/entrypoint": false})) == set()
}

test_negated_call_of_what_may_be_undefined_is_found if {
	_compares([_not(_says("startswith", [_ref("input.a"), _text("x")]))]) == {"convention.negation"}
	_compares([_not(_says("startswith", [_call("lower", [_var("x")]), _text("x")]))]) == {"convention.negation"}
	_compares([_says("startswith", [_ref("input.a"), _text("x")])]) == set()
	_compares([_not(_says("equal", [_ref("input.a"), _text("x")]))]) == set()
	_compares([_not(_says("startswith", [_var("x"), _ref("data.prefix")]))]) == set()
	_compares([_not(_says("startswith", [_call("object.get", []), _call("concat", [])]))]) == set()
}

test_print_that_is_left_over_is_found if {
	_found(_overlay([_rule("_big", [_says("print", [_text("x")])])])) == {"convention.print org/size/size.rego:9 org.size._big"}
	_found(_with(_overlay([]), {"/files/1/tree/rules/-": _rule("helper", [_says("print", [_text("x")])])})) == set()
}

test_guard_in_an_else_does_not_guard_the_rule if {
	guarded := [_says("is_number", [_ref("input.n")]), _says("lt", [_ref("input.n"), _five])]
	rule := _rule("_big", [_says("lt", [_ref("input.n"), _five])])
	_codes_of([object.union(rule, {"else": _rule("_big", guarded)})]) == _unguarded
}

test_comparison_is_found_in_the_row_of_its_operator if {
	operand := object.union(_ref("input.n"), {"row": 11})
	_found(_overlay([_rule("_big", [_says("lt", [operand, _five])])])) == {"convention.comparison org/size/size.rego:9 org.size._big"}
}

_messages(body) := {found.message |
	report := conventions.report with input as _overlay([_rule("_big", body)])
	some found in report.findings
}

test_compared_operand_is_named if {
	_messages([_says("lt", [_ref("input.resource.n"), _five])]) == {"input.resource.n is compared and its type is not asked, so null or a text would be compared as well"}
	_messages([_says("lt", [_call("object.get", [_ref("input.n")]), _five])]) == {"object.get(…) is compared and its type is not asked, so null or a text would be compared as well"}
}

test_what_only_looks_like_a_name_or_a_call_is_followed_nowhere if {
	compared := _says("lt", [_var("n"), _five])
	_compares([_says("startswith", [_var("n"), _ref("input.n")]), compared]) == set()
	_compares([_says("eq", [_text("n"), _ref("input.n")]), compared]) == set()
	_compares([_some([_text("n")], _ref("input.files")), compared]) == set()
	_compares([_is({"type": "array", "value": [_ref("lt"), _ref("input.n"), _five]})]) == set()
	alias := _valued("_m", _var("n"))
	_codes_of([alias, _rule("_big", [_says("assign", [_var("n"), _ref("input.n")]), _says("lt", [_var("_m"), _five])])]) == set()
}

test_text_that_is_the_name_of_a_rule_is_not_its_value if {
	_codes_of([_rule("_big", []), _rule("_ok", [_says("equal", [_text("_big"), _five])])]) == set()
	_codes_of([_rule("_big", []), _valued("_ok", _text("_big"))]) == set()
}

test_negated_call_of_what_is_never_undefined_is_not_found if {
	_compares([_not(_says("startswith", [_call("object.get", [_ref("input.a")]), _text("x")]))]) == set()
}
