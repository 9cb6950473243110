package tipstaff.decision

import data.tipstaff.acceptance
import data.tipstaff.access
import data.tipstaff.approval
import data.tipstaff.augment
import data.tipstaff.autonomy
import data.tipstaff.canary
import data.tipstaff.contract
import data.tipstaff.control
import data.tipstaff.drift
import data.tipstaff.gates
import data.tipstaff.guard
import data.tipstaff.overlay
import data.tipstaff.paths
import data.tipstaff.pause

_judges_change if input.kind == "change"

_judges_control if input.kind == "control"

_judges_contract if input.kind == "contract"

_accepts_contract if {
	_judges_contract
	input.action.type in data.tipstaff.contract.acts.acceptance
}

_calls_tool if {
	_judges_contract
	input.action.type in data.tipstaff.contract.acts.canary
}

# Also an act that nobody knows.
_reviews_contract if {
	_judges_contract
	not _accepts_contract
	not _calls_tool
}

_said.deny contains reason if some reason in guard.deny

_said.deny contains reason if some reason in overlay.deny

_said.deny contains reason if {
	_judges_change
	some reason in ((((autonomy.deny | gates.deny) | paths.deny) | augment.deny) | drift.deny)
}

_said.deny contains reason if {
	_judges_control
	some reason in (control.deny | access.deny)
}

_said.deny contains reason if {
	_reviews_contract
	some reason in contract.deny
}

_said.deny contains reason if {
	_accepts_contract
	some reason in acceptance.deny
}

_said.deny contains reason if {
	_calls_tool
	some reason in canary.deny
}

_said.escalate contains reason if some reason in guard.escalate

_said.escalate contains reason if some reason in overlay.escalate

_said.escalate contains reason if {
	_judges_change
	some reason in drift.escalate
}

_said.escalate contains reason if {
	_reviews_contract
	some reason in contract.escalate
}

_said.require_approval contains reason if some reason in overlay.require_approval

_said.require_approval contains reason if {
	_reviews_contract
	some reason in contract.require_approval
}

_said.require_approval contains reason if {
	_calls_tool
	some reason in canary.require_approval
}

_said.require_approval contains reason if {
	_judges_change
	some reason in (((autonomy.require_approval | gates.require_approval) | pause.require_approval) | drift.require_approval)
}

# What no approval lifts: doubts about the approval itself, and a hard pause.
_said.hold contains reason if {
	_judges_change
	some reason in (approval.require_approval | pause.hold)
}

_said.hold contains reason if {
	_judges_contract
	some reason in approval.require_approval
}

_said.hold contains reason if some reason in _unconfirmed

_said.grant contains reason if {
	_judges_change
	some reason in (autonomy.grant | approval.grant)
}

_said.grant contains reason if {
	_judges_control
	some reason in control.grant
}

_said.grant contains reason if {
	_reviews_contract
	some reason in (contract.grant | approval.grant)
}

_said.grant contains reason if {
	_accepts_contract
	some reason in acceptance.grant
}

_said.grant contains reason if {
	_calls_tool
	some reason in canary.grant
}
