# METADATA
# title: Canary
# description: |
#   Which tool of a server may be called to see how it behaves, how often, and when its answers are worth keeping. A hint
#   of the server is needed and never enough: what reads like destruction takes a person's grant whatever is hinted.
# schemas:
#   - input: schema["contract.schema"]
package tipstaff.canary

import data.tipstaff.contract
import data.tipstaff.reasons

# METADATA
# title: What the rules say of a call
# description: How often it is made.
report := {"runs": object.get(data.tipstaff.canary.runs, _act, 0)}

_act := object.get(input, ["action", "type"], null)

_canary := input.evidence.canary

# METADATA
# title: Needs a grant
# description: The tool reads as one that destroys, or does not say that it only reads.
# custom:
#   code: canary.needs_grant
#   message: "{it} may change something, so nobody calls it without a grant"
#   solution: choose a tool that only reads, or let a person record the canary with --grant
#   controls: [OWASP-LLM06:2025, OWASP-ASI02]
deny contains reasons.on(rego.metadata.chain(), _canary.tool) if {
	not _is_harmless
	not _canary.granted == true
}

_is_harmless if {
	every hint, value in data.tipstaff.canary.harmless_hints {
		_canary.stated[hint] == value
	}
	words := _canary.words
	stated := _canary.stated
	not contract.is_destructive(words, stated)
}

# METADATA
# title: Grant of somebody else
# description: A grant is a person's. One that is recorded in the committed snapshot was accepted by a person with it.
# custom:
#   code: canary.grant_human_only
#   message: only a person may grant a call
#   solution: "a person runs `tipstaff contracts canary record` with --grant outside any agent or CI session"
#   controls: [OWASP-LLM06:2025, OWASP-ASI03]
deny contains reasons.of(rego.metadata.chain()) if {
	_act in data.tipstaff.canary.recorded
	_canary.granted == true
	not _is_granter
}

_is_granter if input.context.actor.type in data.tipstaff.canary.granters

# METADATA
# title: Too few runs
# description: Fewer answers were compared than it takes to call a canary stable.
# custom:
#   code: canary.too_few_runs
#   message: "{it} answers are too few to call a canary stable"
#   solution: let the canary run as often as policy/tipstaff/canary/data.json asks for
deny contains reasons.on(rego.metadata.chain(), _canary.runs) if {
	_act in data.tipstaff.canary.recorded
	is_number(_canary.runs)
	_canary.runs < data.tipstaff.canary.runs[_act]
}

# METADATA
# title: Unstable
# description: The same call gives different answers, so that a difference would say nothing.
# custom:
#   code: canary.unstable
#   message: "{it} answers the same call differently each time"
#   solution: mask what differs, or choose a call whose answer is settled
require_approval contains reasons.on(rego.metadata.chain(), _canary.tool) if {
	is_number(_canary.distinct)
	_canary.distinct > 1
}

# METADATA
# title: Call is granted
# description: The tool only reads, or a person granted the call.
# custom:
#   code: canary.granted
#   message: "{it} may be called"
#   solution: to withdraw this, change policy/tipstaff/canary/data.json
grant contains reasons.on(rego.metadata.chain(), _canary.tool) if is_string(_canary.tool)
