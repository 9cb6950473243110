# METADATA
# title: Freeze window
# description: |
#   No change is carried out between two points in time. The time of the decision is a fact of the input, so a test can
#   choose it, and an old decision can be asked again.
# schemas:
#   - input: schema["change.schema"]
package org.window

# METADATA
# title: The windows
# description: Each from a point in time up to, and without, another.
windows := [{"from": "2026-12-23T17:00:00Z", "to": "2027-01-04T08:00:00Z"}]

# METADATA
# title: Change in a freeze window
# description: The decision falls into a window.
# custom:
#   code: org.window
#   message: nothing changes during the freeze
#   solution: propose the change after the freeze, or move the window in policy/org/window/window.rego
deny contains rego.metadata.rule().custom if {
	input.kind == "change"
	now := time.parse_rfc3339_ns(input.context.now)
	some window in windows
	time.parse_rfc3339_ns(window.from) <= now
	now < time.parse_rfc3339_ns(window.to)
}
