package tipstaff.modification

# METADATA
# title: The stages
# description: Each with its status and the codes of what it says; those after the one that stops are skipped.
stages := [stage |
	some place, name in data.tipstaff.modification.order
	stage := {"name": name, "status": _status(name, place), "codes": _codes(name, place)}
]

_place(name) := [place | some place, other in data.tipstaff.modification.order; other == name][0]

_is_reached(_) if stop == null

_is_reached(place) if place <= _place(stop)

_status(_, place) := "skipped" if {
	not _is_reached(place)
} else := "not_required" if {
	_name(place) != stop
	not _said[_name(place)].applies
} else := "passed" if {
	_name(place) != stop
} else := _unproven if {
	stop == "proof"
	_unproven
} else := "failed" if {
	count(_said[stop].refuses) > 0
} else := "pending"

_name(place) := data.tipstaff.modification.order[place]

# The prover's own word for why there is no proof.
_unproven := input.evidence.proof.status if input.evidence.proof.status in {"error", "timeout"}

_codes(_, place) := [] if {
	not _is_reached(place)
} else := sort({reason.code | some reason in (_said[_name(place)].refuses | _said[_name(place)].waits)})
