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

_in_time(name) if {
	every moment in [input.context.now, _ends(name)] {
		shapes.is_timestamp(moment)
	}
	time.parse_rfc3339_ns(input.context.now) < time.parse_rfc3339_ns(_ends(name))
}
