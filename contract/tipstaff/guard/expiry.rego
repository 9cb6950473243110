package tipstaff.guard

import data.tipstaff.reasons
import data.tipstaff.shapes

# METADATA
# title: Bundle expired
# description: A bundle that answers was issued until a point in time, and that is not ahead any more.
# custom:
#   code: bundle.expired
#   message: "the bundle {it} has expired, so what it allows may be out of date"
#   solution: "issue it anew: `tipstaff policy sign --expires 30d`, or install a newer release of Tipstaff"
escalate contains reasons.on(rego.metadata.chain(), name) if {
	some name in ["tipstaff", "org"]
	_ends(name) != null
	not _in_time(name)
}

_ends("tipstaff") := object.get(data.tipstaff.bundle, "expires_at", null)

_ends("org") := object.get(data.org.bundle, "expires_at", null)

# Setting the clock back does not bring an expired bundle back.
_in_time(name) if {
	every moment in _moments | {_ends(name)} {
		shapes.is_timestamp(moment)
	}
	every moment in _moments {
		time.parse_rfc3339_ns(moment) < time.parse_rfc3339_ns(_ends(name))
	}
}

_moments := {object.get(input, ["context", "now"], null)} | _latest

# METADATA
# title: Clock set back
# description: The project decided at a later time before, so either that time was wrong or this one is.
# custom:
#   code: clock.back
#   message: "the clock says {it}, well before the latest time that the project decided at"
#   solution: "set the clock right; where it was ahead before, a person runs `tipstaff policy accept`"
escalate contains reasons.on(rego.metadata.chain(), input.context.now) if {
	every moment in _moments {
		shapes.is_timestamp(moment)
	}
	not _goes_on
}

_latest := {latest |
	latest := object.get(input, ["context", "latest"], null)
	latest != null
}

_goes_on if {
	step := data.tipstaff.guard.clock_back_minutes
	is_number(step)
	every latest in _latest {
		time.parse_rfc3339_ns(input.context.now) + (((step * 60) * 1000) * 1000000) >= time.parse_rfc3339_ns(latest)
	}
}
