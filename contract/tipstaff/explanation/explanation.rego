# METADATA
# title: Explanation
# description: |
#   What would alter a verdict: for each of its codes the facts that it rests on, and what the verdict would be with
#   one of these facts changed, which is asked of the rules themselves. Nothing follows from such an answer.
package tipstaff.explanation

import data.tipstaff.decision

# METADATA
# title: The report
# description: |
#   Of `input.document`, which must expect the revisions that answer: the verdict as it would come out now, the facts
#   behind each code with what they are and what they would have to be, and each single change that alters the effect.
#   Where none does, `together` is what comes of all of them at once.
report := {
	"effect": _now.effect,
	"codes": _now.codes,
	"facts": _facts,
	"alternatives": [object.union(change, {"effect": effect}) |
		some change in _changes
		effect := _effect_after([change])
		effect != _now.effect
	],
	"together": _effect_after(_first_changes),
}

_now := verdict if {
	verdict := decision.verdict with input as input.document
}

# What the rules say of a document with changes made to it.
_effect_after(changes) := verdict.effect if {
	parts := [_nested(split(change.fact, "."), change.wanted) | some change in changes]
	document := object.union_n(array.concat([input.document], parts))
	verdict := decision.verdict with input as document
}

_facts := [object.union(change, {"code": code}) |
	some code in _now.codes
	some change in _changes_of(code)
	change.rank == 0
]

_first_changes := [change |
	some change in _changes
	change.rank == 0
]

_changes := [change |
	some code in _now.codes
	some change in _changes_of(code)
]

_changes_of(code) := [change |
	some entry in data.tipstaff.explanation.facts[split(code, ":")[0]]
	fact := replace(entry.fact, "{class}", _class)
	_belongs(fact, object.get(entry, "if_absent", false))
	some rank, value in entry.values
	change := {"fact": fact, "has": _at(fact), "wanted": _resolved(value), "rank": rank}
	change.has != change.wanted
]

_class := sprintf("%v", [object.get(input.document, ["action", "class"], null)])

# A fact within something that is absent is not one to change, and a whole is given only where it is absent.
_belongs(fact, if_absent) if {
	path := split(fact, ".")
	is_object(object.get(input.document, array.slice(path, 0, count(path) - 1), null))
	_is_wanted(fact, if_absent)
}

_is_wanted(_, false)

_is_wanted(fact, true) if is_null(_at(fact))

_at(fact) := object.get(input.document, split(fact, "."), null)

# A value that begins with @ is the value of another fact.
_resolved(value) := _at(substring(value, 1, -1)) if {
	is_string(value)
	startswith(value, "@")
} else := {name: _resolved_part(part) | some name, part in value} if {
	is_object(value)
} else := value

_resolved_part(part) := _at(substring(part, 1, -1)) if {
	is_string(part)
	startswith(part, "@")
} else := part

_nested(path, value) := json.unmarshal(concat("", [
	concat("", [sprintf("{%s:", [json.marshal(key)]) | some key in path]),
	json.marshal(value),
	concat("", ["}" | some _ in path]),
]))
