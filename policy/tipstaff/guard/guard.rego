# METADATA
# title: Guard
# description: |
#   Holds the input against what every other rule takes for granted. Rego compares values of different types without
#   complaint and skips what is undefined, so a wrong type or a missing fact has to be refused here, by name.
package tipstaff.guard

import data.tipstaff.reasons

# METADATA
# title: Unknown kind
# description: No rule package judges this kind of input.
# custom:
#   code: input.kind_unknown
#   message: "no rules judge inputs of the kind {it}"
#   solution: use one of the kinds listed in policy/tipstaff/guard/data.json
deny contains reasons.about(rego.metadata.chain(), sprintf("%v", [object.get(input, "kind", null)])) if {
	not _kind_known
}

_kind_known if input.kind in data.tipstaff.guard.kinds

# METADATA
# title: Unknown schema version
# description: The document says another shape, or none.
# custom:
#   code: input.schema_version
#   message: the input document is not of a schema version that these rules read
#   solution: write schema_version 1
deny contains reasons.of(rego.metadata.chain()) if object.get(input, "schema_version", null) != data.tipstaff.guard.schema_version

# METADATA
# title: Other revision
# description: |
#   A bundle that answers is not in the revision that the enforcer expects, or answers though none is expected.
# custom:
#   code: bundle.mismatch
#   message: "the active revision of the bundle {it} is not the expected one"
#   solution: run `tipstaff sidecar stop` and ask again, so that the current bundle is loaded
deny contains reasons.about(rego.metadata.chain(), name) if {
	some name in ["tipstaff", "org"]
	_expected(name) != _active(name)
}

_expected(name) := object.get(input, ["context", "bundles", name], null)

# The shipped bundle without a revision must not equal an expectation that is missing too.
default _revision := ""

_revision := data.tipstaff.bundle.revision

default _overlay_revision := null

_overlay_revision := data.org.bundle.revision

_active("tipstaff") := _revision

_active("org") := _overlay_revision

# METADATA
# title: Overlay missing
# description: |
#   The team has an overlay, and it is not loaded. Without this rule its denies would just be absent.
# custom:
#   code: bundle.missing
#   message: "the team's bundle {it} is expected and not loaded"
#   solution: run `tipstaff policy sign` and commit policy/org.tar.gz
deny contains reasons.about(rego.metadata.chain(), "org") if {
	_overlay_expected
	not data.org.bundle.revision
}

_overlay_expected if is_string(input.context.bundles.org)

_overlay_expected if is_string(input.context.config.team.policy.public_key)

# METADATA
# title: Missing safety fact
# description: A fact that a rule needs is absent. No default is invented for it.
# custom:
#   code: input.missing
#   message: "the input lacks {it}"
#   solution: "give {it}; contracts/ has the schema and an example"
escalate contains reasons.about(rego.metadata.chain(), name) if {
	some name, path in _needed[input.kind]
	object.get(input, path, null) == null
}

_always := {
	"subject": ["subject", "id"],
	"actor": ["context", "actor", "type"],
	"actor_id": ["context", "actor", "id"],
	"now": ["context", "now"],
	"decision_id": ["context", "decision_id"],
	"judged_sha256": ["context", "judged_sha256"],
	"pause": ["context", "pause"],
}

_needed["change"] := object.union(_always, {
	"class": ["action", "class"],
	"requested_capabilities": ["action", "requested_capabilities"],
	"found_capabilities": ["action", "found_capabilities"],
	"base": ["resource", "base"],
	"diff_sha256": ["resource", "diff_sha256"],
	"files": ["resource", "files"],
})

_needed["control"] := object.union(_always, {"act": ["action", "type"], "resource": ["resource", "id"]})

# METADATA
# title: Invalid safety fact
# description: A fact is there and is not what it must be.
# custom:
#   code: input.invalid
#   message: "{it} is not what it must be"
#   solution: "give {it} as contracts/ describes it"
escalate contains reasons.about(rego.metadata.chain(), name) if some name in invalid

# METADATA
# title: Names of the facts that are not of their type
invalid contains "actor" if {
	actor := object.get(input, ["context", "actor", "type"], null)
	not is_null(actor)
	not actor in data.tipstaff.guard.actors
}

invalid contains "pause" if {
	pause := object.get(input, ["context", "pause"], null)
	not is_null(pause)
	not is_object(pause)
}

invalid contains name if {
	input.kind == "change"
	some name in ["requested_capabilities", "found_capabilities"]
	not _strings(object.get(input, ["action", name], []))
}

invalid contains "files" if {
	input.kind == "change"
	files := object.get(input, ["resource", "files"], [])
	not _files(files)
}

invalid contains "tests" if {
	input.kind == "change"
	tests := object.get(input, ["evidence", "tests"], null)
	not is_null(tests)
	not _counts(tests)
}

_strings(value) if {
	is_array(value)
	every item in value {
		is_string(item)
	}
}

_files(value) if {
	is_array(value)
	every file in value {
		is_string(file.path)
		file.status in data.tipstaff.guard.statuses
		is_boolean(file.additions_only)
		is_boolean(file.mode_changed)
	}
}

_counts(tests) if {
	every name in ["passed", "failed", "skipped"] {
		is_number(tests[name])
		tests[name] >= 0
		floor(tests[name]) == tests[name]
	}
}
