# METADATA
# title: Autonomy
# description: |
#   What each class of change may do by itself: `off` < `propose` < `auto-if-tests-pass` < `auto`. The team's tier is
#   the ceiling; the local tier and the remembered choice can only lower it.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.autonomy

import data.tipstaff.config
import data.tipstaff.evidence
import data.tipstaff.reasons

_ranks := data.tipstaff.autonomy.ranks

_class := data.tipstaff.autonomy.classes[input.action.class]

# METADATA
# title: The effective tier
# description: |
#   `effective` decides; `ceiling` is the team's; `set_by` names the file and key that `effective` came from.
tier := {"effective": "off", "ceiling": "off", "set_by": {"file": null, "key": "configuration is invalid"}} if {
	_class
	not config.valid
} else := {"effective": lowest.tier, "ceiling": _ceiling.tier, "set_by": lowest.set_by} if {
	ranked := sort([[_ranks[source.tier], place, source] | some place, source in _sources])
	lowest := ranked[0][2]
}

_sources := array.concat([_ceiling], [source |
	some [key, settings] in [
		["autonomy", object.get(config.local, "autonomy", {})],
		["remembered_choices", object.get(config.local, "remembered_choices", {})],
	]
	asked := settings[input.action.class]
	source := {"tier": _admissible(asked), "set_by": {
		"file": "tipstaff.local.yaml",
		"key": concat(".", [key, input.action.class]),
	}}
])

_ceiling := {"tier": _class.without_team_file, "set_by": {"file": null, "key": "built in"}} if {
	not config.has_team
} else := {"tier": _admissible(named), "set_by": {
	"file": "tipstaff.yaml",
	"key": concat(".", ["autonomy", input.action.class]),
}} if {
	named := config.team.autonomy[input.action.class]
} else := {"tier": data.tipstaff.autonomy.unnamed_class, "set_by": {
	"file": "tipstaff.yaml",
	"key": "autonomy (class not named)",
}} if {
	_class
}

# `auto` asks nobody and proves nothing; only a class that changes nothing may have it.
_admissible("auto") := _class.where_auto

_admissible(asked) := asked if asked != "auto"

# METADATA
# title: Unknown class
# description: The change names a class that the bundle does not know. One that names none lacks a fact.
# custom:
#   code: class.unknown
#   message: "{it} is not an action class"
#   solution: use audit, augment, heal_additive, heal_breaking or heal_warning
deny contains reasons.on(rego.metadata.chain(), input.action.class) if {
	input.action.class != null
	not _class
}

# METADATA
# title: Invalid configuration
# description: A key, a name or a value in a configuration file is unknown or of another shape, so every class is off.
# custom:
#   code: config.invalid
#   message: a configuration file says something that is not understood; every class is off
#   solution: run `tipstaff check` and correct what it names
deny contains reasons.of(rego.metadata.chain()) if not config.valid

# METADATA
# title: Class is off
# description: This class of change is never made, and not proposed either.
# custom:
#   code: tier.off
#   message: "{it} is off"
#   solution: "raise autonomy.{it} in tipstaff.yaml, if the team wants such changes"
#   controls: [OWASP-LLM06:2025, OWASP-ASI01]
deny contains reasons.on(rego.metadata.chain(), input.action.class) if tier.effective == "off"

# METADATA
# title: Read-only class with files
# description: A class that is read-only by definition carries a change.
# custom:
#   code: class.read_only
#   message: "{it} only reads, and this would change files"
#   solution: propose the change under the class that describes it
#   controls: [OWASP-LLM06:2025]
deny contains reasons.on(rego.metadata.chain(), input.action.class) if {
	_class.read_only == true
	input.resource.files != []
}

# METADATA
# title: Tier is propose
# description: A person looks at every change of this class.
# custom:
#   code: tier.propose
#   message: "changes of the class {it} are proposed, and a person approves"
#   solution: approve the request, or raise the tier of the class in tipstaff.yaml
#   controls: [OWASP-LLM06:2025]
require_approval contains reasons.on(rego.metadata.chain(), input.action.class) if tier.effective == "propose"

require_approval contains shortfall if {
	tier.effective == "auto-if-tests-pass"
	some shortfall in evidence.shortfalls
}

# METADATA
# title: Tests pass and nothing breaks
# description: Golden tests passed in isolation on this very diff, and it only adds.
# custom:
#   code: tier.auto_if_tests_pass
#   message: "the golden tests pass, the change only adds, and {it} may then be applied"
#   solution: to have a person look first, set the class to `propose`
grant contains reasons.on(rego.metadata.chain(), input.action.class) if {
	tier.effective == "auto-if-tests-pass"
	count(evidence.shortfalls) == 0
}

# METADATA
# title: Reading is free
# description: A read-only class at auto, with no file to change.
# custom:
#   code: tier.auto
#   message: "{it} reads and changes nothing"
#   solution: to have a person look first, set the class to `propose`
grant contains reasons.on(rego.metadata.chain(), input.action.class) if {
	tier.effective == "auto"
	_class.read_only == true
	input.resource.files == []
}
