# METADATA
# title: Sidecar
# description: |
#   What the engine's own API lets through. OPA asks this before it does anything with a request; a request
#   that no rule below names is refused, so nobody can read or write policies, data or configuration.
#   OPA splits the path before it decodes each part: an encoded slash stays inside its part and never matches.
#   A sidecar on a port is started with a document `tipstaff-access` beside the bundles, which holds the SHA-256 of the
#   one identity (a bearer token) that is let in. No bundle can own that name: it is not a name that bundles may have.
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
# description: |
#   POST of exactly the two decision paths as JSON, and GET of the health path; nothing else, and where an identity is
#   configured, only by it.
allow if {
	_is_let_in
	input.method == "POST"
	input.path in _entrypoints
	every name, _ in input.params { name in _parameters }
	not _is_yaml
}

allow if {
	_is_let_in
	input.method == "GET"
	input.path == ["health"]
}

# A YAML body has anchors and types that JSON lacks; the engine reads it wherever the type says so.
_is_yaml if {
	some value in input.headers["Content-Type"]
	contains(value, "yaml")
}

# A socket of one user needs no token: its folder is closed to all others.
_is_let_in if not _has_access_list

_is_let_in if crypto.sha256(input.identity) == data["tipstaff-access"].identity_sha256

_has_access_list if _ = data["tipstaff-access"]
