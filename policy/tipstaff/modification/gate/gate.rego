# METADATA
# title: Gate of a modification
# description: |
#   The first stage: what the source is seen to use, and how risky it is said to be, before anything of it runs.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification.gate

import data.tipstaff.modification.settings
import data.tipstaff.paths
import data.tipstaff.reasons

_static := input.evidence.static

# METADATA
# title: Source does not parse
# description: The source is not of the language that its target's name says.
# custom:
#   code: gate.syntax
#   message: "the source does not parse: {it}"
#   solution: correct the source
deny contains reasons.on(rego.metadata.chain(), object.get(_static, "error", "")) if {
	_is_read
	not _static.syntax == "ok"
}

# METADATA
# title: Language that nobody reads
# description: No reader of ours knows the target's suffix, so nothing is known of what the source uses.
# custom:
#   code: gate.language
#   message: what this source uses cannot be read
#   solution: "name a target in a language that is read, or permit its suffix by harness.allowed_suffixes in tipstaff.yaml"
deny contains reasons.of(rego.metadata.chain()) if {
	not _is_read
	not _is_permitted
}

_is_read if _static.language in data.tipstaff.modification.gate.languages

_is_permitted if {
	some suffix in input.evidence.team.allowed_suffixes
	suffix != ""
	endswith(input.resource.target, suffix)
}

# METADATA
# title: Capability not granted
# description: The modification asks for a capability, or its source was found to use one, that it is not granted.
# custom:
#   code: gate.capability
#   message: "the modification is not granted the capability {it}"
#   solution: "write it without {it}, or let the team grant it by harness.granted_capabilities in tipstaff.yaml"
#   controls: [OWASP-LLM06:2025]
deny contains reasons.about(rego.metadata.chain(), capability) if {
	some capability in _wanted
	not _is_granted(capability)
}

_wanted contains capability if some capability in input.action.requested_capabilities

# What is read as a call, or not at all, is refused as such.
_wanted contains capability if {
	some capability in _static.capabilities
	not _is_told_otherwise(capability)
}

_is_told_otherwise(capability) if capability in data.tipstaff.modification.gate.told_otherwise

_is_granted(capability) if capability in settings.granted

# METADATA
# title: Risk too high
# description: The risk is above the highest that is judged at all.
# custom:
#   code: gate.risk
#   message: the modification is riskier than is allowed
#   solution: propose something smaller
deny contains reasons.of(rego.metadata.chain()) if not _risk_is_in_bounds

_risk_is_in_bounds if {
	is_number(settings.risk)
	settings.risk <= settings.numbers.max_risk
}

# METADATA
# title: Target is out of reach
# description: The target judges changes, or can be read as another path than it shows.
# custom:
#   code: gate.target
#   message: "no modification may be made of {it}"
#   solution: name a file that is an artifact's own
#   controls: [OWASP-ASI03]
deny contains reasons.on(rego.metadata.chain(), input.resource.target) if {
	refused := paths.deny with input as {
		"resource": {"files": [{"path": input.resource.target}]},
		"context": input.context,
	}
	count(refused) > 0
}

# METADATA
# title: Whether evidence of a canary is asked for
# description: Above one risk, or by a rule.
default needs_canary := false

needs_canary if not _is_calm

needs_canary if "require_canary" in settings.required

_is_calm if {
	is_number(settings.risk)
	settings.risk <= settings.numbers.canary_risk
}
