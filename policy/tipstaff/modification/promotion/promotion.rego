# METADATA
# title: Promotion of a modification
# description: What all the evidence together must come to.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification.promotion

import data.tipstaff.modification.evidence
import data.tipstaff.modification.settings
import data.tipstaff.reasons

# METADATA
# title: Effect too small
# description: The mean effect over all tasks is not above zero, or below the smallest that is asked for.
# custom:
#   code: promotion.effect
#   message: the tasks together did not get better by as much as is asked for
#   solution: propose something that helps more
deny contains reasons.of(rego.metadata.chain()) if not _helps_enough

# Multiplied by the number of tasks, so that no fraction decides.
_helps_enough if {
	evidence.effect.sum > 0
	evidence.effect.sum >= settings.numbers.min_effect * evidence.effect.tasks
}

# METADATA
# title: Too few tasks
# description: There are fewer tasks than are asked for.
# custom:
#   code: promotion.tasks
#   message: the scores are of too few tasks
#   solution: measure more tasks
deny contains reasons.of(rego.metadata.chain()) if not _are_enough

_are_enough if {
	evidence.effect.tasks > 0
	evidence.effect.tasks >= settings.numbers.min_tasks
}

# METADATA
# title: A trial rejects
# description: A conformal or sequential test says no, asked for or not.
# custom:
#   code: promotion.trial_rejected
#   message: "the {it} test rejects the modification"
#   solution: propose something else
deny contains reasons.about(rego.metadata.chain(), trial) if {
	some trial, _ in data.tipstaff.modification.promotion.trials
	_result(trial) == data.tipstaff.modification.promotion.rejects
}

# METADATA
# title: A trial is undecided
# description: A conformal or sequential test that a rule asks for came to no decision.
# custom:
#   code: promotion.trial_undecided
#   message: "the {it} test has not accepted the modification"
#   solution: let the test go on until it decides
require_approval contains reasons.about(rego.metadata.chain(), trial) if {
	some trial, switch in data.tipstaff.modification.promotion.trials
	switch in settings.required
	not _result(trial) == data.tipstaff.modification.promotion.accepts
	not _result(trial) == data.tipstaff.modification.promotion.rejects
}

_result(trial) := object.get(input.evidence, trial, null)
