package tipstaff.conventions

# METADATA
# title: Package not directly below org
# description: A verdict reads packages `org.<name>` and no others.
# custom:
#   code: convention.depth
#   severity: warning
#   message: "a verdict does not read the package {it}"
#   solution: call the package org.<name>, or move its rules into the one that uses them
findings contains _finding(rego.metadata.chain(), source, source.path) if {
	_is_overlay
	some source in _live
	count(source.package) != 2
}

# METADATA
# title: Rule that nobody reads
# description: |
#   A verdict reads the sets deny, escalate, require_approval and obligations of a package `org.<name>`. A rule of
#   such a name elsewhere, one with arguments, or one whose name only resembles them, refuses nothing.
# custom:
#   code: convention.unread
#   message: "nobody reads {it}, so it refuses nothing"
#   solution: |-
#     give sets deny, escalate, require_approval or obligations in a package org.<name>; let the name of a set that
#     only the package itself reads begin with an underscore
findings contains _finding(rego.metadata.chain(), place, place.path) if {
	_is_overlay
	some place in _rules
	_is_unread(place)
}

_is_unread(place) if {
	spoken := [depth | some depth, part in split(place.path, "."); part in data.tipstaff.conventions.read]
	spoken[0] != 2
}

_is_unread(place) if {
	place.name in data.tipstaff.conventions.read
	place.rule.head.args
}

_is_unread(place) if place.name in data.tipstaff.conventions.resembling

# A set for the package's own use has a name that begins with an underscore; this one may be a misspelt `deny`.
_is_unread(place) if {
	name := place.name
	place.rule.head.key
	not place.rule.head.value
	not startswith(name, "_")
	not name in data.tipstaff.conventions.read
}
