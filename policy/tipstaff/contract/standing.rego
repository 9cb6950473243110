package tipstaff.contract

import data.tipstaff.reasons

# METADATA
# title: Untrusted baseline
# description: |
#   The committed snapshot cannot be read, or is another server's. It is neither a contract to compare with nor the same
#   as none, and it is never replaced by what the server says now.
# custom:
#   code: contract.baseline_untrusted
#   message: "the committed snapshot cannot be relied on: {it}"
#   solution: restore the file from git, or let a person remove it and accept the contract anew
#   controls: [OWASP-ASI04]
deny contains reasons.on(rego.metadata.chain(), input.evidence.status) if {
	input.evidence.status in data.tipstaff.contract.statuses.untrusted
}

# METADATA
# title: Snapshot without a server
# description: A snapshot is committed, and the configuration names no server for it, so nothing holds it to anything.
# custom:
#   code: contract.unconfigured
#   message: "a snapshot is committed of a server that the configuration does not name: {it}"
#   solution: name the server below contracts.servers in tipstaff.yaml, or remove its snapshot
deny contains reasons.on(rego.metadata.chain(), input.resource.id) if {
	input.evidence.status in data.tipstaff.contract.statuses.unserved
}

# METADATA
# title: The word for how a contract stands
# description: What a check reports of one server.
default status := "indeterminate"

status := _standing if {
	input.evidence.status in data.tipstaff.contract.statuses.judged
} else := word if {
	word := data.tipstaff.contract.words[input.evidence.status]
} else := input.evidence.status if is_string(input.evidence.status)

_standing := "unstable" if {
	drift
	count(_steady) == 0
} else := "drift" if {
	drift
} else := "indeterminate" if {
	count(_unsettled) > 0
} else := "unchanged"

_steady contains place if {
	some place, change in input.evidence.changes
	not object.get(change, "kind", null) in data.tipstaff.contract.unsteady
}

# METADATA
# title: Whether all was looked at
# description: False where the server was not observed whole, or a canary was not run.
default settled := false

settled if {
	some group in data.tipstaff.contract.observed
	input.evidence.status in data.tipstaff.contract.statuses[group]
	count(_unsettled) == 0
}

_unsettled contains canary.id if {
	some canary in _canaries
	not object.get(canary, "outcome", null) in data.tipstaff.contract.outcomes.settled
}

_canaries := object.get(input.evidence, "canaries", [])

# METADATA
# title: Canary of another tool
# description: The tool that a canary calls is defined otherwise than when the call was recorded, so it was not called.
# custom:
#   code: contract.canary_redefined
#   message: "the tool of the canary {it} is defined otherwise now, so its answers were not compared"
#   solution: look at what changed in the tool, accept it, and check again
#   order: 44
require_approval contains reasons.on(rego.metadata.chain(), canary.id) if {
	some canary in _canaries
	canary.outcome in data.tipstaff.contract.outcomes.redefined
}
