# METADATA
# title: Rollback of a modification
# description: Whether the way back was seen to work, where that is asked for.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification.rollback

import data.tipstaff.modification.settings
import data.tipstaff.reasons

# METADATA
# title: Whether the way back has to be tried
default required := false

required if "require_rehearsal" in settings.required

# METADATA
# title: Whether it still has to be
default is_open := false

is_open if {
	required
	input.evidence.supplied.rollback == true
	not _was_tried
}

_was_tried if is_object(input.evidence.rehearsal)

# METADATA
# title: No way back
# description: A rehearsal is asked for, and nothing says what is to be restored.
# custom:
#   code: rollback.missing
#   message: nothing says what a rollback would restore
#   solution: give rollback_current and rollback_previous
deny contains reasons.of(rego.metadata.chain()) if {
	required
	not input.evidence.supplied.rollback == true
}

# METADATA
# title: Rehearsal failed
# description: The rollback was tried and did not restore exactly what was there before.
# custom:
#   code: rollback.rehearsal
#   message: "the rollback did not restore everything: {it}"
#   solution: correct rollback_current and rollback_previous
deny contains reasons.on(rego.metadata.chain(), object.get(input.evidence.rehearsal, "detail", "")) if {
	required
	_was_tried
	not input.evidence.rehearsal.restored == true
}

# METADATA
# title: Not rehearsed
# description: The rollback has not been tried yet.
# custom:
#   code: rollback.pending
#   message: the rollback has not been rehearsed
#   solution: run `tipstaff governed-harness run`
require_approval contains reasons.of(rego.metadata.chain()) if is_open
