package tipstaff.decision

import data.tipstaff.access
import data.tipstaff.augment
import data.tipstaff.autonomy
import data.tipstaff.canary
import data.tipstaff.contract
import data.tipstaff.evidence
import data.tipstaff.modification
import data.tipstaff.paths

_stricter := [reason |
	some strictness in ["deny", "escalate", "require_approval"]
	some [_, _, reason] in sort([[reason.order, reason.code, reason] | some reason in _standing[strictness]])
]

_granted := [reason | some [_, reason] in sort([[reason.code, reason] | some reason in _said.grant])]

_reported := _stricter if {
	effect != "allow"
} else := _granted

# A code that several reasons share is listed once, where it first stands.
_codes := [code |
	some place, reason in _reported
	code := reason.code
	not _earlier(code, place)
]

_earlier(code, place) if {
	some before, reason in _reported
	before < place
	reason.code == code
}

_all := [reason | some reason in _reported] if {
	effect != "allow"
} else := array.concat(_granted, [reason | some reason in _said.require_approval])

_advice := sort(autonomy.advice) if {
	_judges_change
} else := []

default _tier := null

_tier := autonomy.tier

_facts := object.union_n([_facts_of_change, _facts_of_augment, _facts_of_drift]) if {
	_judges_change
} else := canary.report if {
	_calls_tool
} else := contract.report if {
	_judges_contract
} else := access.report if {
	_judges_control
} else := object.union(modification.report, {"outcome": _outcome}) if {
	_judges_modification
} else := {}

_outcome := "promote" if {
	effect == "allow"
} else := "defer" if {
	effect != "deny"
} else := "rollback" if {
	modification.rolls_back
} else := "reject"

_facts_of_change := {
	"tier": _tier,
	"purely_additive": evidence.purely_additive,
	"low_risk": evidence.low_risk,
	"lifted": [reason.code | some reason in _said.require_approval; _lifted],
}

# Worth measuring where all that stands against it is what measuring may settle.
_facts_of_augment := {"augment": {"runs": augment.terms.runs, "measure": measure}} if {
	augment.replaces_prose
	against := count(_standing.deny - augment.pending) + count(_standing.escalate)
	measure := [augment.terms.is_recorded, against] == [true, 0]
} else := {}

# What a proposal had better leave out is told before anything runs.
_facts_of_drift := {"drift": {"out_of_reach": sort(paths.refused)}} if {
	is_object(input.evidence.drift)
} else := {}
