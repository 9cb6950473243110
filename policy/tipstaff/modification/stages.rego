package tipstaff.modification

# METADATA
# title: The stages
# description: Each with its status and the codes of what it says; those after the one that stops are skipped.
stages := [stage |
	some name in data.tipstaff.modification.order
	stage := {"name": name, "status": _status(name), "codes": _codes(name)}
]

_place(name) := [place | some place, other in data.tipstaff.modification.order; other == name][0]

_is_reached(_) if stop == null

_is_reached(name) if _place(name) <= _place(stop)

_status(name) := "skipped" if {
	not _is_reached(name)
} else := "passed" if {
	name != stop
	_said[name].applies
} else := "not_required" if {
	name != stop
} else := _unproven if {
	stop == "proof"
	_unproven
} else := "failed" if {
	count(_said[stop].refuses) > 0
} else := "pending"

# The prover's own word for why there is no proof.
_unproven := input.evidence.proof.status if input.evidence.proof.status in {"error", "timeout"}

_codes(name) := sort({reason.code | some reason in (_said[name].refuses | _said[name].waits)}) if {
	_is_reached(name)
} else := []
