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
	not _as_expected(name)
}

_as_expected("tipstaff") if _same_revision(input.context.bundles.tipstaff, data.tipstaff.bundle.revision)

_as_expected("org") if _same_revision(input.context.bundles.org, data.org.bundle.revision)

_as_expected("org") if {
	object.get(input, ["context", "bundles", "org"], null) == null
	not data.org.bundle
}

# Two revisions that are both missing, or both empty, are not the same one.
_same_revision(expected, active) if {
	is_string(expected)
	expected != ""
	expected == active
}

# METADATA
# title: Overlay missing
# description: |
#   The team has an overlay, and it is not loaded. Without this rule its denies would just be absent.
# custom:
#   code: bundle.missing
#   message: "the team's bundle {it} is expected and not loaded"
#   solution: run `tipstaff policy sign` and commit the bundle that it writes
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
	some group in ["every", input.kind]
	some name, path in data.tipstaff.guard.needed[group]
	object.get(input, path, null) == null
}

# METADATA
# title: Invalid safety fact
# description: A fact is there and is not what it must be.
# custom:
#   code: input.invalid
#   message: "{it} is not what it must be"
#   solution: "give {it} as contracts/ describes it"
escalate contains reasons.about(rego.metadata.chain(), name) if some name in invalid
