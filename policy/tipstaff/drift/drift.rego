# METADATA
# title: Drift
# description: |
#   What a change does to the pinned contracts of MCP servers. It is graded as `tipstaff.contract` grades it, and
#   whatever stands there against taking a contract up stands here against the change.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.drift

import data.tipstaff.paths
import data.tipstaff.reasons

_pins contains pin if some pin in input.evidence.drift.contracts

_compared contains pin if {
	some pin in _pins
	not _is_removed(pin)
}

_is_removed(pin) if pin.status in data.tipstaff.drift.removed

_question(pin) := {
	"resource": {"old_digest": pin.old_digest, "new_digest": pin.new_digest},
	"evidence": {
		"status": pin.status,
		"changes": pin.changes,
		"versions": pin.versions,
		"canaries": object.get(pin, "canaries", []),
	},
}

_judged[pin] := judgement if {
	some pin in _compared
	judgement := data.tipstaff.contract.judgement with input as _question(pin)
}

deny contains reason if {
	some judgement in _judged
	some reason in judgement.deny
}

escalate contains reason if {
	some judgement in _judged
	some reason in judgement.escalate
}

require_approval contains reason if {
	some judgement in _judged
	some reason in judgement.require_approval
}

# METADATA
# title: Class claims less than the drift
# description: The change takes up a contract whose drift is graded higher than what its class stands for.
# custom:
#   code: contract.class
#   message: "{it} claims less than what changed in the contract"
#   solution: propose it with `tipstaff contracts propose`, or under the class that `tipstaff contracts diff` names
#   controls: [OWASP-LLM06:2025]
deny contains reasons.on(rego.metadata.chain(), input.action.class) if {
	some pin in _pins
	not _is_claimed(pin)
}

_is_claimed(pin) if {
	severity := _severity(pin)
	data.tipstaff.contract.covers(input.action.class, severity)
}

_severity(pin) := data.tipstaff.drift.removal_is if {
	_is_removed(pin)
} else := _judged[pin].severity

# METADATA
# title: Contract that nobody measured
# description: The change touches a pinned contract, and what it does to it was not measured.
# custom:
#   code: contract.unmeasured
#   message: "{it} is a pinned contract, and what changes in it was not measured"
#   solution: propose the change with this version of Tipstaff
escalate contains reasons.on(rego.metadata.chain(), path) if {
	some path in paths.touched
	_pins_contract(paths.folded(path))
	not path in {pin.path | some pin in _pins}
}

_pins_contract(path) if regex.match(data.tipstaff.drift.pinned, path)

# METADATA
# title: Contract is removed
# description: Without its pin, whatever the server advertises is seen for the first time.
# custom:
#   code: contract.removed
#   message: "{it} would have no pinned contract any more"
#   solution: keep the file, or have a person decide that the server is not used any more
require_approval contains reasons.on(rego.metadata.chain(), pin.server) if {
	some pin in _pins
	_is_removed(pin)
}

# METADATA
# title: Contract that nobody observed
# description: The proposed contract is not what the server was seen to advertise.
# custom:
#   code: contract.unobserved
#   message: "nobody saw {it} advertise the proposed contract"
#   solution: propose it with `tipstaff contracts propose`, which asks the server
#   controls: [OWASP-ASI04]
require_approval contains reasons.on(rego.metadata.chain(), pin.server) if {
	some pin in _compared
	not _is_observed(pin)
}

_is_observed(pin) if {
	is_string(pin.observed_digest)
	pin.observed_digest == pin.new_digest
}

# METADATA
# title: Contracts that only gained something
# description: Paths of pinned contracts whose change is of low risk, as it was observed.
additions contains pin.path if {
	some pin in _compared
	_is_observed(pin)
	_judged[pin].low_risk
}
