package tipstaff.decision

import data.tipstaff.autonomy
import data.tipstaff.modification
import data.tipstaff.overlay

_obligations contains obligation if some obligation in overlay.obligations

_obligations contains obligation if {
	_judges_change
	some obligation in autonomy.obligations
}

_obligations contains {"id": "open_pull_request", "draft": effect != "allow"} if {
	_judges_change
	effect in {"allow", "require_approval"}
	input.resource.files != []
}

_obligations contains {
	"id": "request_approval",
	"urgency": urgency,
	"ttl_s": object.get(data.tipstaff.approval.ttl_s, urgency, data.tipstaff.approval.usual_ttl_s),
	"confirmations": _confirmations,
	"confirm_within_s": data.tipstaff.approval.confirm_within_s,
} if {
	effect == "require_approval"
	_asks_a_person
	urgency := object.get(
		data.tipstaff.approval.urgency,
		object.get(input, ["action", "class"], null),
		data.tipstaff.approval.usual_urgency,
	)
}

_asks_a_person if not _judges_modification

_asks_a_person if modification.asks
