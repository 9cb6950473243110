# METADATA
# title: Evidence for a modification
# description: |
#   The scores of its tasks before and after: whose they are, whether a task got worse, and whether all of them together
#   got better. Scores are billionths; nothing is divided.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification.evidence

import data.tipstaff.approval
import data.tipstaff.modification.gate
import data.tipstaff.modification.settings
import data.tipstaff.reasons

_scores := input.evidence.scores

# METADATA
# title: Contaminated
# description: The evidence leaked into what it judges, so it proves nothing.
# custom:
#   code: evidence.contaminated
#   message: the evidence is contaminated
#   solution: measure with tasks that the proposer has not seen
deny contains reasons.of(rego.metadata.chain()) if not input.evidence.contaminated == false

# METADATA
# title: Of another source
# description: The scores say that they were measured on another source than this one.
# custom:
#   code: evidence.stale
#   message: the scores are of another source
#   solution: measure this source
deny contains reasons.of(rego.metadata.chain()) if {
	some attestation in _attestations
	attestation.source_sha256 != input.resource.source_sha256
}

# METADATA
# title: Measured by the proposer
# description: Who proposes may not be who measures.
# custom:
#   code: evidence.self_produced
#   message: the scores are the proposer's own
#   solution: have the tasks run by somebody else
#   controls: [OWASP-ASI09]
deny contains reasons.of(rego.metadata.chain()) if {
	some attestation in _attestations
	approval.person(attestation.producer) == approval.person(input.subject.id)
}

_attestations := [attestation |
	some name in ["before_attestation", "after_attestation"]
	attestation := _scores[name]
	is_object(attestation)
]

_is_attested if count(_attestations) == 2

# METADATA
# title: Not attested
# description: The scores are just asserted, where somebody has to stand for them.
# custom:
#   code: evidence.unattested
#   message: nobody stands for the scores
#   solution: wrap them in an object with scores, producer and source_sha256
require_approval contains reasons.of(rego.metadata.chain()) if {
	_asks_for_attestation
	not _is_attested
}

_asks_for_attestation if input.evidence.caller in data.tipstaff.modification.evidence.attested_callers

_asks_for_attestation if input.evidence.team.require_attestation == true

# METADATA
# title: No canary
# description: The risk, or a rule, asks for the scores of a canary that somebody measured on this source.
# custom:
#   code: evidence.canary_missing
#   message: scores of a canary are asked for
#   solution: run the canary, and wrap its scores in an object with scores, producer and source_sha256
require_approval contains reasons.of(rego.metadata.chain()) if {
	gate.needs_canary
	not _is_attested
}

# METADATA
# title: Task got worse
# description: A task's score fell by more than the tolerance.
# custom:
#   code: canary.regression
#   message: "the task {it} got worse"
#   solution: correct the source, or roll it back where it is in use
rollback contains reasons.about(rego.metadata.chain(), task) if {
	some task, before in _scores.before
	before - _scores.after[task] > settings.numbers.tolerance
}

# METADATA
# title: Task dropped
# description: A task has no score any more, which counts as the worst one.
# custom:
#   code: evidence.task_dropped
#   message: "the task {it} has no score afterwards"
#   solution: run every task that was run before
rollback contains reasons.about(rego.metadata.chain(), task) if {
	some task, _ in _scores.before
	not is_number(object.get(_scores.after, task, null))
}

# METADATA
# title: The effect
# description: The sum of all differences over the tasks that were there before, and how many tasks these are.
effect := {"sum": sum(differences), "tasks": count(_scores.before), "per_task": per_task} if {
	per_task := {task: difference |
		some task, before in _scores.before
		is_number(_scores.after[task])
		difference := _scores.after[task] - before
	}
	differences := [difference | some difference in per_task]
}
