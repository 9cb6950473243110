package tipstaff.autonomy

import data.tipstaff.config
import data.tipstaff.reasons

# METADATA
# title: Local tier above the ceiling
# description: The local file asks for more than the team gives; it gets the team's tier, and the trail says so.
# custom:
#   code: tier.blocked_by_ceiling
#   message: "the local file asks for a higher tier for {it} than the team gives"
#   solution: lower it in tipstaff.local.yaml, or raise the team's in tipstaff.yaml
advice contains reasons.on(rego.metadata.chain(), input.action.class) if count(_clamped) > 0

# METADATA
# title: Automatic without reading only
# description: The tier auto is set for a class that changes files.
# custom:
#   code: tier.auto_not_readonly
#   message: "{it} changes files and cannot be `auto`"
#   solution: "set {it} to auto-if-tests-pass or propose in tipstaff.yaml"
advice contains reasons.on(rego.metadata.chain(), input.action.class) if {
	config.team.autonomy[input.action.class] == "auto"
	_class.where_auto != "auto"
}

# METADATA
# title: Local file is tracked
# description: The local file holds one person's choices and is committed.
# custom:
#   code: config.local_tracked
#   message: tipstaff.local.yaml is tracked by git
#   solution: run `git rm --cached tipstaff.local.yaml` and ignore it
advice contains reasons.of(rego.metadata.chain()) if input.context.config.local_tracked == true

# METADATA
# title: The record of a clamp
# description: Asks the enforcer to append what was asked for and what was given.
obligations contains {
	"id": "record_clamp",
	"action_class": input.action.class,
	"requested": asked,
	"ceiling": tier.ceiling,
} if {
	some asked in _clamped
}

_clamped contains asked if {
	some settings in ["autonomy", "remembered_choices"]
	asked := config.local[settings][input.action.class]
	_ranks[asked] > _ranks[tier.ceiling]
}
