# METADATA
# title: Modification
# description: |
#   Whether an artifact's change of itself may be promoted: gate, proof, approval, evidence, promotion, rollback, in this
#   order. A stage that stops it leaves the later ones untouched. Python gathers each stage's facts when it is told to.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification

import data.tipstaff.modification.approval
import data.tipstaff.modification.evidence
import data.tipstaff.modification.gate
import data.tipstaff.modification.promotion
import data.tipstaff.modification.proof
import data.tipstaff.modification.rollback
import data.tipstaff.modification.settings
import data.tipstaff.reasons

# METADATA
# title: What each stage says
# description: Whether it applies, what refuses, and what makes it wait.
_said := {
	"gate": {"applies": true, "refuses": gate.deny, "waits": set()},
	"proof": {"applies": proof.required, "refuses": proof.deny, "waits": proof.require_approval},
	"approval": {"applies": approval.required, "refuses": approval.deny, "waits": approval.require_approval},
	"evidence": {"applies": true, "refuses": (evidence.deny | evidence.rollback), "waits": evidence.require_approval},
	"promotion": {"applies": true, "refuses": promotion.deny, "waits": promotion.require_approval},
	"rollback": {"applies": rollback.required, "refuses": rollback.deny, "waits": rollback.require_approval},
}

# METADATA
# title: The stage that stops it
# description: The first in order that refuses or waits; none where all are passed.
default stop := null

stop := name if {
	stopping := [name |
		some name in data.tipstaff.modification.order
		count(_said[name].refuses | _said[name].waits) > 0
	]
	name := stopping[0]
}

# METADATA
# title: Refused
# description: What the stage that stops it refuses for, and, where that are the scores, all that is wrong with them.
deny contains reason if some reason in _said[stop].refuses

deny contains reason if {
	stop == "evidence"
	count(_said.evidence.refuses) > 0
	some reason in promotion.deny
}

# METADATA
# title: Waiting
require_approval contains reason if some reason in _said[stop].waits

# METADATA
# title: Promoted
# description: Every stage is passed.
# custom:
#   code: modification.promoted
#   message: the modification passed every stage
#   solution: apply it, and run the canary
grant contains reasons.of(rego.metadata.chain()) if stop == null

# METADATA
# title: Whether it is rolled back
# description: A task got worse; then that is the outcome, whatever else is wrong.
default rolls_back := false

rolls_back if {
	stop == "evidence"
	count(evidence.rollback) > 0
}

# METADATA
# title: Whether a person agreed
default is_approved := false

is_approved if {
	approval.required
	count(approval.deny | approval.require_approval) == 0
}

# METADATA
# title: What has to be found out next
# description: The stage whose facts are still to be gathered; null where all that is needed is known.
default needs := null

needs := stop if _is_open[stop]

_is_open := {"proof": proof.is_open, "approval": approval.is_open, "rollback": rollback.is_open}

# METADATA
# title: Whether a person is asked
default asks := false

asks if {
	stop == "approval"
	approval.asks
}

# METADATA
# title: What the rules found
report := {
	"stages": stages,
	"needs": needs,
	"needs_canary": gate.needs_canary,
	"effect": evidence.effect,
	"settings": settings.report,
}
