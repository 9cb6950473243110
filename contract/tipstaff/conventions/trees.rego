package tipstaff.conventions

# A rule and each of its `else`, as one body each: what guards the one does not guard the other. Everything that is
# called in it has a row, an operator's name and operands, whether it stands alone or inside another term.
_branches := [branch |
	some place in _rules
	walk(place.rule, [path, body])
	{step | some step in path} - {"else"} == set()
	nodes := [node | walk(object.remove(body, ["else"]), [_, node])]
	terms := array.concat([node.value | some node in nodes; node.type == "call"], [node.terms | some node in nodes])
	branch := {
		"file": place.file,
		"row": body.row,
		"path": place.path,
		"package": concat(".", place.package),
		"head": body.head,
		"nodes": nodes,
		"calls": [call |
			some term in terms
			call := {"row": term[0].row, "name": _called(term[0]), "operands": _rest(term)}
		],
	}
]

_rest(terms) := array.slice(terms, 1, count(terms))

# METADATA
# title: Boolean rule without a default
# description: |
#   A rule that is true or nothing. Whoever asks for its value, as in `is_frozen == false`, is never answered while
#   its body does not hold. The same goes for a rule that is asked from outside, an entrypoint.
# custom:
#   code: convention.default
#   message: "{it} has no default, and its value is asked for"
#   solution: "write `default {it} := false` (or the verdict that refuses), or ask `not {it}`"
findings contains _finding(rego.metadata.chain(), place, place.name) if some place in _undefinable

_undefinable contains _named_spot(branch, call.row, term.value) if {
	some branch in _branches
	some call in branch.calls
	some term in call.operands
	term.type == "var"
	[branch.package, term.value] in _truths
}

_undefinable contains _named_spot(branch, branch.row, term.value) if {
	some branch in _branches
	some term in branch.head
	term.type == "var"
	[branch.package, term.value] in _truths
}

_undefinable contains _named_spot(place, place.row, place.name) if {
	some place in _rules
	some note in object.get(_about, place.path, set())
	note.entrypoint
	count({place.path} & _defaulted) == 0
}

_named_spot(place, row, name) := {"file": place.file, "row": row, "path": place.path, "name": name}

_defaulted contains place.path if {
	some place in _rules
	place.rule["default"]
}

_truths contains [concat(".", place.package), place.name] if {
	some place in _rules
	count({place.path} & _defaulted) == 0
	not place.rule.head.args
	place.rule.head.value.type == "boolean"
}

# METADATA
# title: Negated call of something that may be undefined
# description: |
#   OPA takes the operands of a negated call out of it, so an undefined one undoes the rule instead of the call:
#   `not f(input.x)` says nothing where `input.x` is absent.
# custom:
#   code: convention.negation
#   message: "an operand of the negated {it} may be undefined, and then the rule says nothing"
#   solution: "assign the operand first, read it with object.get and a default, or put the call into a rule of its own"
findings contains _finding(rego.metadata.chain(), _named_spot(branch, node.row, name), name) if {
	some branch in _branches
	some node in branch.nodes
	node.negated
	name := _called(node.terms[0])
	name != "equal"
	some operand in _rest(node.terms)
	_may_be_undefined(operand)
}

_may_be_undefined(term) if {
	term.type == "ref"
	term.value[0].value != "data"
}

_may_be_undefined(term) if {
	term.type == "call"
	name := _called(term.value[0])
	not name in data.tipstaff.conventions.never_undefined
}

# METADATA
# title: Left-over print
# description: What is printed while a decision is made reaches nobody.
# custom:
#   code: convention.print
#   severity: warning
#   message: print is left over
#   solution: take it out, or move it into a test
findings contains _finding(rego.metadata.chain(), _named_spot(branch, call.row, call.name), call.name) if {
	some branch in _branches
	some call in branch.calls
	call.name == "print"
}
