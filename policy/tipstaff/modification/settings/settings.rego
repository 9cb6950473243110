# METADATA
# title: Settings of a modification
# description: |
#   What a proposal asks to be judged by, held to what the bundle and the team allow. A proposal may be stricter than
#   they are and never looser. Numbers are billionths.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification.settings

import data.tipstaff.config
import data.tipstaff.overlay

# METADATA
# title: The numbers in force
# description: The strictest of what the proposal, the team and the bundle say; a proposal that says nothing gets the usual one.
numbers[name] := min(values) if {
	some name, most in data.tipstaff.modification.settings.most
	values := (_said("gate", name) | {most}) | {_asked("gate", name)}
}

numbers[name] := max(values) if {
	some name, least in data.tipstaff.modification.settings.least
	values := (_said("rules", name) | {least}) | {_asked("rules", name)}
}

# METADATA
# title: Numbers that the proposal did not get as it asked
# description: What it asked for, and what holds in its place.
clamped[name] := {"asked": asked, "holds": holds} if {
	some group in ["gate", "rules"]
	some name, asked in input.evidence.asked[group]
	is_number(asked)
	holds := numbers[name]
	holds != asked
}

_asked(group, name) := value if {
	value := input.evidence.asked[group][name]
	is_number(value)
} else := data.tipstaff.modification.settings.usual[name]

# METADATA
# title: The risk that is judged
# description: The higher of what is said of the modification and of its deployment.
risk := max({value |
	some name in ["risk", "deployment_risk"]
	value := input.action[name]
	is_number(value)
})

# METADATA
# title: Switches that are on
# description: |
#   What must be there: asked for by the proposal or by the team. A prover or a store that is supplied is never ignored.
required contains switch if {
	some switch in data.tipstaff.modification.settings.switches
	true in _said_or_asked("rules", switch)
}

required contains "require_proof" if input.evidence.supplied.prover == true

required contains "require_approval" if input.evidence.supplied.approval_store == true

required contains "require_approval" if count(overlay.require_approval) > 0

# METADATA
# title: Capabilities that the modification may use
# description: Those that the proposal names and the team grants; a forbidden one is never among them.
granted contains capability if {
	some capability in input.evidence.asked.gate.granted_capabilities
	capability in input.evidence.team.gate.granted_capabilities
	not _is_forbidden(capability)
}

_is_forbidden(capability) if capability in config.forbidden

# METADATA
# title: Names that may not be imported
denied_imports contains name if some name in _denied("imports", "denied_imports")

# METADATA
# title: Names that may not be called
denied_calls contains name if some name in _denied("calls", "denied_calls")

_denied(what, list) := {name | some name in data.tipstaff.modification.settings.denied[what]} | {name |
	some names in _said_or_asked("gate", list)
	some name in names
}

# METADATA
# title: Lists that each import must be on
# description: One for each of proposal and team that gives one.
allowed_imports contains names if {
	some names in _said_or_asked("gate", "allowed_imports")
	is_array(names)
}

_said(group, name) := {value |
	value := input.evidence.team[group][name]
	is_number(value)
}

_said_or_asked(group, name) := {value |
	some source in [input.evidence.team, input.evidence.asked]
	value := source[group][name]
}

# METADATA
# title: All that is in force
# description: For the receipt.
report := {
	"gate": object.union(object.filter(numbers, ["max_risk", "canary_risk", "tolerance"]), {
		"granted_capabilities": sort(granted),
		"allowed_imports": sort(allowed_imports),
		"denied_imports": sort(denied_imports),
		"denied_calls": sort(denied_calls),
	}),
	"rules": object.union(object.filter(numbers, ["min_effect", "min_tasks"]), {switch: is_on |
		some switch in data.tipstaff.modification.settings.switches
		is_on := switch in required
	}),
	"clamped": clamped,
	"risk": risk,
}
