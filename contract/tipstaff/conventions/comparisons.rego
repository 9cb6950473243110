package tipstaff.conventions

# METADATA
# title: Unguarded comparison
# description: |
#   An ordering comparison with something from the input whose type is not asked. Rego orders values of different types
#   without complaint: null, false and every number are less than any text, and null <= 5 holds.
# custom:
#   code: convention.comparison
#   message: "{it} is compared and its type is not asked, so null or a text would be compared as well"
#   solution: "write `is_number({it})` (or `is_string({it})`) into the same body, before the comparison"
findings contains _finding(rego.metadata.chain(), _named_spot(branch, call.row, _shown(operand)), _shown(operand)) if {
	some branch in _branches
	orderings := [call | some call in branch.calls; call.name in data.tipstaff.conventions.orderings]
	orderings != []
	bound := _bound(branch)
	given := graph.reachable(_flow(branch, bound), {"input"})
	guarded := _guarded(branch, bound)
	some call in orderings
	some operand in call.operands
	_origin(operand) in given
	count({_spelled(operand)} & guarded) == 0
}

# Which name gets its value from which term: assignments, `some … in` and `every`.
_bound(branch) := array.concat(
	[[name.value, call.operands[1]] |
		some call in branch.calls
		call.name in {"assign", "eq"}
		name := call.operands[0]
		name.type == "var"
	],
	array.concat(
		[[name.value, call.operands[last]] |
			some call in branch.calls
			last := {"internal.member_2": 1, "internal.member_3": 2}[call.name]
			some name in array.slice(call.operands, 0, last)
			name.type == "var"
		],
		[[node.value.value, node.domain] | some node in branch.nodes],
	),
)

# From a name to the names that are made of it; a rule that stands for a part of the input counts as one.
_flow(branch, bound) := {from: {name | some [name, term] in pairs; _origin(term) == from} |
	pairs := {pair | some pair in bound} | object.get(_aliases, branch.package, set())
	some from in ({"input"} | {name | some [name, _] in pairs})
}

_aliases[concat(".", place.package)] contains [place.name, place.rule.head.value] if {
	some place in _rules
	place.rule.head.value.type == "ref"
}

# What a term begins with: the input, or a name.
_origin(term) := term.value if term.type == "var"

_origin(term) := term.value[0].value if term.type == "ref"

_origin(term) := _origin_of_default(term.value[1]) if {
	_called(term.value[0]) == "object.get"
}

_origin_of_default(term) := term.value if term.type == "var"

_origin_of_default(term) := term.value[0].value if term.type == "ref"

_spelled(term) := json.marshal([term.value]) if term.type == "var"

_spelled(term) := json.marshal([part.value | some part in term.value]) if term.type == "ref"

_spelled(term) := null if term.type == "call"

_shown(term) := concat(".", [sprintf("%v", [part]) | some part in json.unmarshal(_spelled(term))]) if term.type != "call"

_shown(term) := "object.get(…)" if term.type == "call"

_guarded(branch, bound) := asked | {also |
	some [name, term] in bound
	pair := {json.marshal([name]), _spelled(term)}
	count(pair & asked) > 0
	some also in pair
} if {
	asked := {_spelled(operand) |
		some node in branch.nodes
		not node.negated
		_called(node.terms[0]) in data.tipstaff.conventions.guards
		some operand in _rest(node.terms)
		operand.type != "call"
	}
}
