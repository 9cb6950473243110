# METADATA
# title: Decision
# description: |
#   Combines what every rule package says into one verdict. The strictest reason wins whatever the order, and all
#   reasons are reported. Allow needs a grant and nothing stricter. The effects are ordered allow, require_approval,
#   escalate, deny.
package tipstaff.decision

import data.tipstaff.approval
import data.tipstaff.autonomy
import data.tipstaff.control
import data.tipstaff.evidence
import data.tipstaff.gates
import data.tipstaff.guard
import data.tipstaff.overlay
import data.tipstaff.paths
import data.tipstaff.pause
import data.tipstaff.reasons

# METADATA
# title: The verdict
# description: The one answer to the input document.
# entrypoint: true
default verdict := {
	"schema_version": 1,
	"kind": "none",
	"effect": "deny",
	"confirmations": 0,
	"codes": ["decision.undefined"],
	"reasons": [{
		"code": "decision.undefined",
		"message": "the rules came to no answer",
		"rule": "tipstaff.decision.verdict#decision.undefined",
		"solution": "run `tipstaff policy test`; a rule that the verdict is made of is undefined",
	}],
	"matched_rules": ["tipstaff.decision.verdict#decision.undefined"],
	"obligations": [],
	"advice": [],
	"facts": {},
	"policy": {"bundle": "tipstaff", "revision": "", "data_digest": ""},
	"decision_id": "none",
}

verdict := {
	"schema_version": 1,
	"kind": _kind,
	"effect": effect,
	"confirmations": _confirmations,
	"codes": _codes,
	"reasons": [object.filter(reason, ["code", "message", "rule", "solution"]) | some reason in _reported],
	"matched_rules": [rule | some rule in {reason.rule | some reason in _all}],
	"obligations": [obligation | some obligation in _obligations],
	"advice": [object.filter(reason, ["code", "message", "rule", "solution"]) | some reason in _advice],
	"facts": _facts,
	"policy": {
		"bundle": "tipstaff",
		"revision": _bundle.revision,
		"data_digest": _bundle.data_digest,
	},
	"decision_id": sprintf("%v", [object.get(input, ["context", "decision_id"], "none")]),
}

# METADATA
# title: Verdicts on many documents
# description: One verdict for each document of the input's list, in its order.
# entrypoint: true
verdicts := [answer |
	some document in input.documents
	answer := verdict with input as document
]

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

default _bundle := {"revision": "", "data_digest": ""}

_bundle := data.tipstaff.bundle

_kind := sprintf("%v", [object.get(input, "kind", "none")])

# ── What the layers say ──────────────────────────────────────────────────────────────────────────────────────

_judges_change if input.kind == "change"

_judges_control if input.kind == "control"

_said.deny contains reason if some reason in guard.deny

_said.deny contains reason if some reason in overlay.deny

_said.deny contains reason if {
	_judges_change
	some reason in ((autonomy.deny | gates.deny) | paths.deny)
}

_said.deny contains reason if {
	_judges_control
	some reason in control.deny
}

_said.escalate contains reason if some reason in guard.escalate

_said.escalate contains reason if some reason in overlay.escalate

_said.require_approval contains reason if some reason in overlay.require_approval

_said.require_approval contains reason if {
	_judges_change
	some reason in ((autonomy.require_approval | gates.require_approval) | pause.require_approval)
}

# What no approval lifts: doubts about the approval itself, and a hard pause.
_said.hold contains reason if {
	_judges_change
	some reason in (approval.require_approval | pause.hold)
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

# ── What stands of it ────────────────────────────────────────────────────────────────────────────────────────

_standing.deny := _said.deny | _ungranted

_standing.escalate := _said.escalate

_standing.require_approval := _said.hold if {
	_lifted
} else := _said.require_approval | _said.hold

_lifted if {
	approval.valid
	count(_unconfirmed) == 0
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
	every strictness in ["deny", "escalate", "require_approval", "hold"] {
		count(_said[strictness]) == 0
	}
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
	not input.context.approval.confirmations >= _needed_confirmations
}

_needed_confirmations := max({reason.confirmations | some reason in _said.require_approval} | {1})

_confirmations := _needed_confirmations if {
	effect == "require_approval"
} else := 0

# ── What is reported ─────────────────────────────────────────────────────────────────────────────────────────

_stricter := [reason |
	some strictness in ["deny", "escalate", "require_approval"]
	some [_, _, reason] in sort([[reason.order, reason.code, reason] | some reason in _standing[strictness]])
]

_granted := [reason | some [_, reason] in sort([[reason.code, reason] | some reason in _said.grant])]

_reported := _stricter if {
	effect != "allow"
} else := _granted

# A code that several reasons share is listed once, where it first stands.
_codes := [reason.code |
	some place, reason in _reported
	not _earlier(reason.code, place)
]

_earlier(code, place) if {
	some before, reason in _reported
	before < place
	reason.code == code
}

_all := [reason | some reason in _reported] if {
	effect != "allow"
} else := array.concat(_granted, [reason | some reason in _said.require_approval])

_advice := sort(autonomy.advice) if {
	_judges_change
} else := []

default _tier := null

_tier := autonomy.tier

_facts := {
	"tier": _tier,
	"purely_additive": evidence.purely_additive,
	"low_risk": evidence.low_risk,
	"lifted": [reason.code | some reason in _said.require_approval; _lifted],
} if {
	_judges_change
} else := {}

# ── What the enforcer must do ────────────────────────────────────────────────────────────────────────────────

_obligations contains obligation if some obligation in overlay.obligations

_obligations contains obligation if {
	_judges_change
	some obligation in autonomy.obligations
}

_obligations contains {"id": "open_pull_request", "draft": effect != "allow"} if {
	_judges_change
	effect in {"allow", "require_approval"}
	count(input.resource.files) > 0
}

_obligations contains {
	"id": "request_approval",
	"urgency": urgency,
	"ttl_s": object.get(data.tipstaff.approval.ttl_s, urgency, data.tipstaff.approval.usual_ttl_s),
	"confirmations": _confirmations,
	"confirm_within_s": data.tipstaff.approval.confirm_within_s,
} if {
	effect == "require_approval"
	urgency := object.get(
		data.tipstaff.approval.urgency,
		object.get(input, ["action", "class"], ""),
		data.tipstaff.approval.usual_urgency,
	)
}
