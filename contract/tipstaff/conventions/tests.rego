package tipstaff.conventions

# METADATA
# title: Reason without a test
# description: |
#   Each reason is given in a test, and in another it is not. This finds the reasons that no test beside them so much
#   as names; coverage and mutants find the rest.
# custom:
#   code: convention.untested
#   message: "no test of the package names {it}"
#   solution: "write a test in a file _test.rego beside the rule that says when {it} is given, and when it is not"
findings contains _finding(rego.metadata.chain(), place, place.name) if {
	some place in _rules
	_gives_reason(place)
	count(_tested & {place.path}) == 0
}

# The rules that a test package names, by the rule's own path.
_tested contains path if {
	some source in _sources
	source.is_test
	count([rule | some rule in source.rules; startswith(rule.head.ref[0].value, "test_")]) > 0
	package_path := trim_suffix(source.path, "_test")
	some name in _named_in(source)
	path := concat(".", [package_path, name])
}

_named_in(source) := {part.value |
	walk(source.rules, [_, node])
	node.type == "ref"
	some part in node.value
	part.type == "string"
}

# METADATA
# title: Name of a test
# description: The name of a test is a sentence about behaviour.
# custom:
#   code: convention.test_name
#   severity: warning
#   message: "{it} does not say what is the case"
#   solution: "name it test_<situation>_is_<outcome>"
findings contains _finding(rego.metadata.chain(), place, place.name) if {
	not _is_overlay
	some source in _sources
	source.is_test
	some rule in source.rules
	place := _place(source, rule)
	startswith(place.name, "test_")
	count(split(place.name, "_")) < 4
}
