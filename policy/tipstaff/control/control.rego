# METADATA
# title: Control
# description: Acts upon the engine itself, such as approving or resuming, and who may do them.
# schemas:
#   - input: schema["control.schema"]
package tipstaff.control

import data.tipstaff.approval
import data.tipstaff.config
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
# title: Asker approves
# description: |
#   The configuration demands four eyes, and the request's asker is who approves it. What is judged again when it is
#   approved says so itself; this tells it where a decision is kept for later.
# custom:
#   code: control.four_eyes
#   message: "who asked may not {it}"
#   solution: have another person approve
#   controls: [OWASP-ASI09]
deny contains reasons.on(rego.metadata.chain(), input.action.type) if {
	input.action.type == "approve"
	config.four_eyes
	asker := input.evidence.requested_by
	not _another_person(asker)
}

_another_person(asker) if approval.person(asker.id) != approval.person(input.context.actor.id)

# METADATA
# title: Act is granted
# description: The actor is of a kind that may do this.
# custom:
#   code: control.granted
#   message: "the actor may {it}"
#   solution: to withdraw this, change policy/tipstaff/control/data.json
grant contains reasons.on(rego.metadata.chain(), input.action.type) if _may

_may if input.context.actor.type in _acts[input.action.type]
