# METADATA
# title: Contract
# description: |
#   Grades what changed in the contract of an MCP server, and says who may take it up. Python says what changed and in
#   which direction; what that is worth stands here and in the data beside.
# schemas:
#   - input: schema["contract.schema"]
package tipstaff.contract

import data.tipstaff.reasons

# METADATA
# title: What the rules found
# description: The facts of the verdict on a contract; `grades` and `lies` belong to the changes and versions of the input.
report := {
	"drift": drift,
	"severity": severity,
	"change_class": change_class,
	"low_risk": low_risk,
	"fails": fails,
	"status": status,
	"settled": settled,
	"grades": grades,
	"lies": lies,
}

# METADATA
# title: What stands against taking a contract up
# description: All of it at once, for a change that does; each question about another input grades anew.
judgement := {
	"deny": deny,
	"escalate": escalate,
	"require_approval": require_approval,
	"severity": severity,
	"low_risk": low_risk,
}

# METADATA
# title: Unknown act
# description: The bundle knows no such act upon a contract.
# custom:
#   code: contract.act_unknown
#   message: "{it} is not an act upon a contract"
#   solution: use one of the acts in policy/tipstaff/contract/data.json
deny contains reasons.on(rego.metadata.chain(), input.action.type) if not _is_known_act

_is_known_act if {
	some acts in data.tipstaff.contract.acts
	input.action.type in acts
}

# METADATA
# title: Not compared
# description: The contract was captured in part, or in a way that nobody knows, so nothing follows from it.
# custom:
#   code: contract.not_compared
#   message: "the contract was not compared: {it}"
#   solution: capture the server again, every page of every list
deny contains reasons.on(rego.metadata.chain(), input.evidence.status) if {
	not _is_known_status
}

_is_known_status if {
	some listed in data.tipstaff.contract.statuses
	input.evidence.status in listed
}

# METADATA
# title: Unexplained
# description: The digests differ, or one is missing, and no change is named that could be judged.
# custom:
#   code: contract.unexplained
#   message: the contract differs and nothing says in what
#   solution: compare both snapshots with this version of Tipstaff
deny contains reasons.of(rego.metadata.chain()) if {
	input.evidence.status in data.tipstaff.contract.statuses.judged
	input.evidence.changes == []
	not _same_digest
}

_same_digest if {
	is_string(input.resource.old_digest)
	input.resource.old_digest == input.resource.new_digest
}

# METADATA
# title: Not observed
# description: The server was not reached, or its behaviour not settled. That is not the same as no drift.
# custom:
#   code: contract.indeterminate
#   message: "whether the contract changed is not known: {it}"
#   solution: make the server reachable and check again
escalate contains reasons.on(rego.metadata.chain(), input.evidence.status) if {
	input.evidence.status in data.tipstaff.contract.statuses.unobserved
}

# METADATA
# title: Canary not settled
# description: A recorded call was not made again, so whether the server still behaves as it did is not known.
# custom:
#   code: contract.canary_indeterminate
#   message: "the canary {it} was not run, so the behaviour is not known"
#   solution: look at the canary's status, make its call possible again, or record it anew
escalate contains reasons.on(rego.metadata.chain(), id) if some id in _unsettled

# METADATA
# title: Deceptive
# description: Text that nobody sees, or a name that passes for another one.
# custom:
#   code: contract.deceptive
#   message: "{it} shows hidden text, or a name that passes for another"
#   solution: look at the escaped text, and accept the contract by its digest only if it is what it should be
#   controls: [OWASP-LLM01:2025, OWASP-ASI04]
escalate contains reasons.on(rego.metadata.chain(), _name(change)) if {
	some place, change in input.evidence.changes
	change.kind in data.tipstaff.contract.deceptive
	_rank(grades[place].severity) >= _rank(data.tipstaff.contract.deceptive_from)
}

# METADATA
# title: Unchanged
# description: The contract means what it meant.
# custom:
#   code: contract.unchanged
#   message: the contract means what it meant
#   solution: nothing is to be done
grant contains reasons.of(rego.metadata.chain()) if {
	input.evidence.status in data.tipstaff.contract.statuses.judged
	not drift
}

# METADATA
# title: Low risk
# description: Something was added and nothing else changed.
# custom:
#   code: contract.low_risk
#   message: the contract only gained something, and nothing destructive
#   solution: to have a person look first, let an overlay require approval
grant contains reasons.of(rego.metadata.chain()) if {
	input.evidence.status in data.tipstaff.contract.statuses.judged
	low_risk
}
