# METADATA
# title: Sidecar
# description: |
#   What the engine's own API lets through. OPA asks this before it does anything with a request; a request
#   that no rule below names is refused, so nobody can read or write policies, data or configuration.
#   OPA splits the path before it decodes each part: an encoded slash stays inside its part and never matches.
package tipstaff.sidecar

_entrypoints := {
	["v1", "data", "tipstaff", "decision", "verdict"],
	["v1", "data", "tipstaff", "decision", "verdicts"],
}

_parameters := {"provenance", "strict-builtin-errors"}

default allow := false

# METADATA
# title: Ask for a decision, or for health
# scope: document
# description: POST of exactly the two decision paths as JSON, and GET of the health path; nothing else.
allow if {
	input.method == "POST"
	input.path in _entrypoints
	every name, _ in input.params { name in _parameters }
	not _is_yaml
}

allow if {
	input.method == "GET"
	input.path == ["health"]
}

# A YAML body has anchors and types that JSON lacks; the engine reads it wherever the type says so.
_is_yaml if {
	some value in input.headers["Content-Type"]
	contains(value, "yaml")
}
