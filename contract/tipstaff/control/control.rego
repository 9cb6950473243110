# METADATA
# title: Control
# description: Acts upon the engine itself, such as approving or resuming, and who may do them.
# schemas:
#   - input: schema["control.schema"]
package tipstaff.control

import data.tipstaff.reasons

_acts := data.tipstaff.control.acts

# METADATA
# title: Unknown act
# description: The bundle knows no such act.
# custom:
#   code: control.unknown
#   message: "{it} is not an act that anybody may do"
#   solution: use one of the acts in policy/tipstaff/control/data.json
deny contains reasons.on(rego.metadata.chain(), input.action.type) if not _acts[input.action.type]

# METADATA
# title: Not for this kind of actor
# description: The act is reserved, usually to a person. An actor of no kind at all is a fact that the guard misses.
# custom:
#   code: control.human_only
#   message: "only a person may {it}"
#   solution: "a person runs the {it} command outside any agent or CI session"
#   controls: [OWASP-LLM06:2025, OWASP-ASI03]
deny contains reasons.on(rego.metadata.chain(), input.action.type) if {
	_acts[input.action.type]
	not is_null(object.get(input, ["context", "actor", "type"], null))
	not _may
}

# METADATA
# title: Act is granted
# description: The actor is of a kind that may do this.
# custom:
#   code: control.granted
#   message: "the actor may {it}"
#   solution: to withdraw this, change policy/tipstaff/control/data.json
grant contains reasons.on(rego.metadata.chain(), input.action.type) if _may

_may if input.context.actor.type in _acts[input.action.type]
