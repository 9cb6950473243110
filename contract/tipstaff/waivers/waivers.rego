# METADATA
# title: Waivers
# description: |
#   Which findings a team has set aside, by whom, why and until when. The input is findings, the waivers of
#   `waivers.yaml`, the time `now`, and the scope that was checked. A waived finding stays visible. A waiver holds
#   through the day that it names, in UTC.
package tipstaff.waivers

import data.tipstaff.reasons

# METADATA
# title: What counts and what is waived
# description: Both in the order of the findings; what is wrong with waivers themselves comes last.
report := {
	"findings": array.concat(
		[finding | some finding in _found; count(_holding(finding)) == 0],
		[entry[1] | some entry in sort([[found.message, found] | some found in findings])],
	),
	"waived": [waived |
		some finding in _found
		suppression := [object.filter(waiver, ["owner", "reason", "expires"]) | some waiver in _holding(finding)][0]
		waived := object.union(finding, {"waiver": suppression})
	],
}

_found := [object.union({"severity": data.tipstaff.waivers.severity, "file": null, "line": null}, finding) |
	some finding in input.findings
]

# The waivers of this scope; the others are about what another command finds.
_own := [waiver | some waiver in input.waivers; _scope(waiver.code) == input.scope]

_scope(code) := object.get(data.tipstaff.waivers.scopes, split(code, ".")[0], data.tipstaff.waivers.other_scope)

_holding(finding) := [waiver |
	some waiver in _own
	_holds(waiver)
	_covers(waiver, finding)
]

_covers(waiver, finding) if {
	waiver.code == finding.code
	not waiver.path
}

_covers(waiver, finding) if {
	waiver.code == finding.code
	glob.match(waiver.path, ["/"], finding.file)
}

# One whose time cannot be compared does not hold; null is before every text.
_holds(waiver) if {
	is_string(waiver.expires)
	is_string(input.now)
	waiver.expires >= substring(input.now, 0, 10)
}

# METADATA
# title: Waiver expired
# description: The day that a waiver names is over. What it set aside counts again.
# custom:
#   code: waiver.expired
#   message: "the waiver of {it} is over"
#   solution: correct what it set aside and remove it from waivers.yaml, or have its owner answer for it anew
findings contains _finding(rego.metadata.chain(), "error", waiver) if {
	some waiver in _own
	not _holds(waiver)
}

# METADATA
# title: Waiver unused
# description: A waiver sets nothing aside, because what it was about is corrected or its code or path is misspelt.
# custom:
#   code: waiver.unused
#   message: "the waiver of {it} sets nothing aside"
#   solution: remove it from waivers.yaml, or correct its code or path
findings contains _finding(rego.metadata.chain(), "note", waiver) if {
	some waiver in _own
	_holds(waiver)
	every finding in _found { not _covers(waiver, finding) }
}

_finding(chain, severity, waiver) := object.union(
	object.filter(reasons.on(chain, _named(waiver)), ["code", "message", "solution", "rule"]),
	{"severity": severity, "file": input.file, "line": null},
)

_named(waiver) := sprintf("%s in %s by %s, which expires on %s", [
	waiver.code,
	object.get(waiver, "path", "every file"),
	waiver.owner,
	waiver.expires,
])
