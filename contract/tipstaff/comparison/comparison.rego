# METADATA
# title: Comparison
# description: |
#   What an edit of the policy does to verdicts: each case has the verdict of the base and that of the head, on the very
#   same facts. A verdict is loosened when it comes out less strict, asks for fewer confirmations, or demands a duty
#   less; a loosening nobody acknowledged by its id stops the edit.
package tipstaff.comparison

_strictness := {effect: rank | some rank, effect in data.tipstaff.comparison.strictness}

# METADATA
# title: The report
# description: |
#   `outcome` is `clean`, `unacknowledged`, or `nothing_compared`: agreement of no cases at all is no agreement.
report := {
	"outcome": outcome,
	"cases": count(input.cases),
	"loosened": count(_of_class("loosened")),
	"tightened": count(_of_class("tightened")),
	"changed": count(_of_class("changed")),
	"unchanged": count(input.cases) - count(flips),
	"unacknowledged": count(_open),
	"unused": [id | some id in input.acknowledged; not id in _ids],
	"flips": flips,
}

# METADATA
# title: Whether the edit may go on
default outcome := "unacknowledged"

outcome := "nothing_compared" if {
	count(input.cases) == 0
} else := "clean" if {
	count(_open) == 0
}

_of_class(class) := [flip | some flip in flips; flip.class == class]

_ids := {flip.id | some flip in flips}

_open := [flip |
	some flip in flips
	flip.class in data.tipstaff.comparison.acknowledged_by_id
	not flip.acknowledged
]

# METADATA
# title: Verdicts that differ
# description: In the order of the cases. An id stays the same as long as the case and both effects do.
flips := [flip |
	some case in input.cases
	not _same(case)
	id := _id(case)
	flip := {
		"id": id,
		"case": case.name,
		"class": _class(case.base, case.head),
		"base": object.filter(case.base, ["effect", "codes"]),
		"head": object.filter(case.head, ["effect", "codes"]),
		"rules": {
			"went": _without(case.base.matched_rules, case.head.matched_rules),
			"came": _without(case.head.matched_rules, case.base.matched_rules),
		},
		"acknowledged": id in input.acknowledged,
	}
]

_compared := ["effect", "codes", "confirmations", "obligations"]

_same(case) if object.filter(case.base, _compared) == object.filter(case.head, _compared)

_id(case) := substring(crypto.sha256(concat("\n", [case.sha256, case.base.effect, case.head.effect])), 0, 16)

# What is not known to be as strict counts as loosened, so that an effect nobody ranked is looked at.
_class(base, head) := "tightened" if {
	_strictness[head.effect] > _strictness[base.effect]
} else := "tightened" if {
	_strictness[head.effect] == _strictness[base.effect]
	head.confirmations > base.confirmations
	count(_duties(base) - _duties(head)) == 0
} else := "changed" if {
	_strictness[head.effect] == _strictness[base.effect]
	head.confirmations == base.confirmations
	count(_duties(base) - _duties(head)) == 0
} else := "loosened"

_duties(verdict) := {duty.id | some duty in verdict.obligations}

_without(these, those) := [one | some one in these; not one in those]
