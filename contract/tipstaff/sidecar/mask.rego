package tipstaff.sidecar

# METADATA
# title: What a decision log keeps
# description: |
#   For an OPA whose own decision log is on (`decision_logs.mask_decision` set to `/tipstaff/sidecar/mask`): of question
#   and answer only what is listed in `logged` is kept, so no source text, path, command or message leaves that way.
#   What stays bears the decision's id, under which the audit trail has everything.
# scope: document
mask contains {"op": "upsert", "path": "/input", "value": _question}

mask contains {"op": "upsert", "path": "/result", "value": _answer}

mask contains "/nd_builtin_cache"

_question := {"documents": [_listed("input", document) | some document in input.input.documents]} if {
	input.input.documents
} else := _listed("input", object.get(input, "input", {}))

_answer := [_listed("result", verdict) | some verdict in input.result] if {
	is_array(input.result)
} else := _listed("result", object.get(input, "result", {}))

_listed(part, value) := json.filter(value, data.tipstaff.sidecar.logged[part]) if {
	is_object(value)
} else := {}
