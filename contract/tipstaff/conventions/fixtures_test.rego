package tipstaff.conventions_test

import data.tipstaff.conventions

# Terms, rules and files as `tipstaff policy check` gathers them, each on a line of its own choosing.

_var(name) := {"type": "var", "value": name, "row": 9}

_text(value) := {"type": "string", "value": value, "row": 9}

_number(value) := {"type": "number", "value": value, "row": 9}

_ref(path) := {"type": "ref", "row": 9, "value": array.concat(
	[_var(parts[0])],
	[_text(part) | some part in array.slice(parts, 1, count(parts))],
)} if {
	parts := split(path, ".")
}

_call(name, operands) := {"type": "call", "row": 9, "value": array.concat([_ref(name)], operands)}

_says(name, operands) := {"row": 7, "terms": array.concat([_ref(name)], operands)}

_is(term) := {"row": 7, "terms": term}

_not(expression) := object.union(expression, {"negated": true})

_some(names, term) := {"row": 7, "terms": {"symbols": [_call(operator, array.concat(names, [term]))]}} if {
	operator := {1: "internal.member_2", 2: "internal.member_3"}[count(names)]
}

_every(name, term, body) := {"row": 7, "terms": {"domain": term, "key": null, "value": _var(name), "body": body}}

_rule(name, body) := {
	"row": 6,
	"body": body,
	"head": {"ref": [_var(name)], "value": {"type": "boolean", "value": true}},
}

_valued(name, term) := {"row": 6, "body": [], "head": {"ref": [_var(name)], "value": term}}

_giving(name, key, body) := {"row": 6, "body": body, "head": {"ref": [_var(name)], "key": key}}

_module(path, rules) := {
	"package": {"row": 3, "path": array.concat([_var("data")], [_text(part) | some part in split(path, ".")])},
	"rules": rules,
}

_file(name, folders, path, rules) := {
	"file": name,
	"folders": folders,
	"lines": 20,
	"unformatted": null,
	"tree": _module(path, rules),
}

_metadata := {
	"title": "Big",
	"description": "It is big.",
	"scope": "rule",
	"custom": {"code": "org.size", "message": "big", "solution": "split it"},
}

_key := _ref("custom")

_deny := _giving("deny", _key, [])

_tests := _file("org/size/size_test.rego", ["org", "size"], "org.size_test", [_rule("test_big_is_denied", [_is(_ref("size.deny"))])])

_notes := [
	{"file": "org/size/size.rego", "row": 3, "path": ["org", "size"], "annotations": {
		"title": "Size",
		"description": "Of changes.",
		"scope": "package",
		"schemas": [{"path": ["input"]}],
	}},
	{"file": "org/size/size.rego", "row": 6, "path": ["org", "size", "deny"], "annotations": _metadata},
]

# An overlay with one reason and its test, and more rules beside it.
_overlay(rules) := {
	"root": "org",
	"files": [_file("org/size/size.rego", ["org", "size"], "org.size", array.concat([_deny], rules)), _tests],
	"annotations": _notes,
	"complaints": [],
	"taken": ["engine.timeout"],
}

# One of our own packages instead.
_ours := {
	"root": "tipstaff",
	"files": [_file("tipstaff/size/size.rego", ["tipstaff", "size"], "tipstaff.size", [])],
	"annotations": [{"file": "tipstaff/size/size.rego", "row": 3, "path": ["tipstaff", "size"], "annotations": {
		"title": "Size",
		"description": "Of changes.",
		"scope": "package",
		"schemas": [],
	}}],
	"complaints": [],
	"taken": ["engine.timeout"],
}

_with(given, facts) := json.patch(given, [{"op": "add", "path": path, "value": value} | some path, value in facts])

_found(given) := {sprintf("%s %s:%d %s", [found.code, found.file, found.line, found.rule]) |
	report := conventions.report with input as given
	some found in report.findings
}

_codes(given) := {found.code |
	report := conventions.report with input as given
	some found in report.findings
}

# What is said of rules in an overlay, other than that they are not annotated.
_codes_of(rules) := _codes(_overlay(rules)) - {"convention.metadata", "convention.schema"}
