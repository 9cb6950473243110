# METADATA
# title: Overlay
# description: |
#   Reads what a team's own bundle says: any package `org.<name>` may add to `deny`, `escalate`, `require_approval`
#   and `obligations`. An entry is an object with `code`, `message` and `solution` (as `tipstaff.reasons` builds), or
#   a plain string. The strictest reason wins, so an overlay tightens and cannot loosen.
package tipstaff.overlay

import data.tipstaff.shapes

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

_is_reason(entry) if {
	is_string(entry)
	entry != ""
}

_is_reason(entry) if {
	every key in ["code", "message", "solution"] {
		_words(entry[key])
	}
	_words(object.get(entry, "rule", "none"))
	code := entry.code
	shapes.is_text(code)
	count(code) <= data.tipstaff.overlay.longest_code
	every reserved in data.tipstaff.overlay.reserved_codes {
		not startswith(code, reserved)
	}
	object.get(entry, "confirmations", 1) in {1, 2}
}

_words(text) if {
	is_string(text)
	text != ""
}
