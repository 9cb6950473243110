# METADATA
# title: Pause
# description: |
#   While a pause is on, what would run by itself waits for a person. A pause never loosens anything. What a person
#   has approved still runs, unless the pause is hard.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.pause

import data.tipstaff.config
import data.tipstaff.reasons

# METADATA
# title: Global pause
# description: The project is paused, by `tipstaff pause` or by an environment variable.
# custom:
#   code: pause.global
#   message: automatic work is paused for everyone
#   solution: a person runs `tipstaff resume`, or clears TIPSTAFF_AUTO_EXECUTE_DISABLED
#   order: 1
require_approval contains reasons.of(rego.metadata.chain()) if _global

# METADATA
# title: Pause of one user
# description: Automatic work for this subject is paused.
# custom:
#   code: pause.user
#   message: automatic work is paused for this user
#   solution: a person runs `tipstaff resume --user`
#   order: 2
require_approval contains reasons.of(rego.metadata.chain()) if input.context.pause.user == true

# METADATA
# title: Unknown pause state
# description: The pause state cannot be read, so it counts as on.
# custom:
#   code: pause.unknown
#   message: the pause state cannot be read, so automatic work waits
#   solution: repair or remove the pause file that `tipstaff doctor` names
#   order: 1
require_approval contains reasons.of(rego.metadata.chain()) if not _readable

_readable if {
	is_boolean(input.context.pause.global)
	is_boolean(input.context.pause.user)
	is_object(input.context.pause.switches)
}

_global if input.context.pause.global == true

_global if {
	some word in input.context.pause.switches
	not _is_off(word)
}

_is_off(word) if {
	is_string(word)
	lower(trim_space(word)) in data.tipstaff.pause.off_words
}

# METADATA
# title: Hard pause
# description: The pause also stops what a person has approved, so no approval lifts it.
hold contains reason if {
	config.hard_pause
	some reason in require_approval
}
