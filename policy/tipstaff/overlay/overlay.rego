# METADATA
# title: Overlay
# description: |
#   Reads what a team's own bundle says: any package `org.<name>` may add to `deny`, `escalate`, `require_approval`
#   and `obligations`. An entry is an object with `code`, `message` and `solution` (as `tipstaff.reasons` builds), or
#   a plain string. The strictest reason wins, so an overlay tightens and cannot loosen.
package tipstaff.overlay

import data.tipstaff.reasons

# METADATA
# title: The overlay's denies
deny contains _reason(name, "deny", entry) if {
	some name
	some entry in data.org[name].deny
}

# METADATA
# title: The overlay's escalations
escalate contains _reason(name, "escalate", entry) if {
	some name
	some entry in data.org[name].escalate
}

# METADATA
# title: The overlay's approvals
require_approval contains _reason(name, "require_approval", entry) if {
	some name
	some entry in data.org[name].require_approval
}

# METADATA
# title: The overlay's obligations
obligations contains entry if {
	some name
	some entry in data.org[name].obligations
}

# METADATA
# title: Malformed overlay
# description: An overlay rule says something that is no reason, so it cannot be known what it refuses.
# custom:
#   code: overlay.malformed
#   message: "the overlay package org.{it} gives something that is not a reason"
#   solution: give objects with code, message and solution, or strings, in a set
deny contains reasons.about(rego.metadata.chain(), name) if some name in _malformed

_malformed contains name if {
	some name
	some rule in ["deny", "escalate", "require_approval"]
	entries := data.org[name][rule]
	not _well_formed(entries)
}

_malformed contains name if {
	some name
	entries := data.org[name].obligations
	not _objects(entries)
}

_well_formed(entries) if {
	_collection(entries)
	every entry in entries {
		_is_reason(entry)
	}
}

_objects(entries) if {
	_collection(entries)
	every entry in entries {
		is_string(entry.id)
	}
}

_collection(entries) if is_set(entries)

_collection(entries) if is_array(entries)

_is_reason(entry) if {
	is_string(entry)
	entry != ""
}

_is_reason(entry) if {
	every key in ["code", "message", "solution"] {
		is_string(entry[key])
		entry[key] != ""
	}
	not startswith(entry.code, "engine.")
	object.get(entry, "confirmations", 1) in {1, 2}
}

_reason(name, rule, entry) := {
	"code": concat(".", ["org", name]),
	"message": entry,
	"rule": concat(".", ["org", name, rule]),
	"solution": concat(" ", ["ask the owners of the overlay package", concat(".", ["org", name])]),
	"confirmations": 1,
	"order": 50,
} if {
	is_string(entry)
} else := {
	"code": entry.code,
	"message": entry.message,
	"rule": object.get(entry, "rule", concat(".", ["org", name, rule])),
	"solution": entry.solution,
	"confirmations": object.get(entry, "confirmations", 1),
	"order": 50,
} if {
	_is_reason(entry)
}
