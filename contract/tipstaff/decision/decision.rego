# METADATA
# title: Decision
# description: |
#   Combines what every rule package says into one verdict. The strictest reason wins whatever the order, and all
#   reasons are reported. Allow needs a grant and nothing stricter. The effects are ordered allow, require_approval,
#   escalate, deny.
package tipstaff.decision

# METADATA
# title: The verdict
# description: The one answer to the input document. Where the rules come to none, this code stands for it.
# entrypoint: true
# custom:
#   code: decision.undefined
#   message: the rules came to no answer
#   solution: run `tipstaff policy test`; a rule that the verdict is made of is undefined
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
# description: One verdict for each document of the input's list, in its order; none for what is no list.
# scope: document
# entrypoint: true
default verdicts := []

verdicts := [answer |
	some document in input.documents
	answer := verdict with input as document
] if {
	is_array(input.documents)
}

default _bundle := {"revision": "", "data_digest": ""}

_bundle := data.tipstaff.bundle

_kind := sprintf("%v", [object.get(input, "kind", "none")])
