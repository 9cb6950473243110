package tipstaff.decision

import data.tipstaff.approval
import data.tipstaff.modification
import data.tipstaff.reasons

# METADATA
# title: The effect
# description: The strictest that has a reason.
effect := "deny" if {
	count(_standing.deny) > 0
} else := "escalate" if {
	count(_standing.escalate) > 0
} else := "require_approval" if {
	count(_standing.require_approval) > 0
} else := "allow"

_standing["deny"] := _said.deny | _ungranted

_standing["escalate"] := _said.escalate

_standing["require_approval"] := _said.hold if {
	_lifted
} else := _said.require_approval | _said.hold

_lifted if {
	approval.valid
	count(_unconfirmed) == 0
}

_lifted if {
	_judges_modification
	modification.is_approved
	is_number(input.evidence.approval.confirmations)
	input.evidence.approval.confirmations >= _needed_confirmations
}

# METADATA
# title: No grant
# description: Nothing refuses, and nothing grants either.
# custom:
#   code: decision.no_grant
#   message: no rule grants this
#   solution: ask for something that a rule package grants
_ungranted contains reasons.of(rego.metadata.chain()) if {
	count(_said.grant) == 0
	count(_said.deny) == 0
	count(_standing.escalate) == 0
	count(_standing.require_approval) == 0
}

# METADATA
# title: Confirmation missing
# description: One of the reasons needs two deliberate confirmations, and fewer were given.
# custom:
#   code: approval.confirmations
#   message: the approval has fewer confirmations than a rule asks for
#   solution: confirm once more with the token that the first confirmation printed
_unconfirmed contains reasons.of(rego.metadata.chain()) if {
	approval.presented
	not _confirmed
}

_confirmed if {
	is_number(input.context.approval.confirmations)
	input.context.approval.confirmations >= _needed_confirmations
}

_needed_confirmations := max({reason.confirmations | some reason in _said.require_approval} | {1})

_confirmations := _needed_confirmations if {
	effect == "require_approval"
} else := 0
