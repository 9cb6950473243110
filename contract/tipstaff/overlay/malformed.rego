package tipstaff.overlay

import data.tipstaff.reasons

# METADATA
# title: Malformed overlay
# description: An overlay rule says something that is no reason, so it cannot be known what it refuses.
# custom:
#   code: overlay.malformed
#   message: "the overlay package org.{it} gives something that is not a reason"
#   solution: |-
#     in a package org.<name>, give sets of strings or of objects with code, message and solution; the codes and
#     obligations that Tipstaff itself gives are not an overlay's to give
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
	not _dutiful(entries)
}

# What stands in `org` itself, or deeper than `org.<name>`, is read by nobody.
_malformed contains concat(".", path) if {
	walk(data.org, [path, value])
	count(path) != 2
	path[count(path) - 1] in {"deny", "escalate", "require_approval", "obligations"}
	is_set(value)
	every part in path {
		is_string(part)
	}
}

_well_formed(entries) if {
	_collection(entries)
	every entry in entries {
		_is_reason(entry)
	}
}

_dutiful(entries) if {
	_collection(entries)
	every entry in entries {
		id := entry.id
		is_string(id)
		not id in data.tipstaff.overlay.reserved_obligations
	}
}

_collection(entries) if is_set(entries)

_collection(entries) if is_array(entries)
