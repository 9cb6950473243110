package tipstaff.sidecar_test

import data.tipstaff.sidecar
import data.tipstaff.testing

_masked(event) := {mask.path: mask.value |
	some mask in sidecar.mask with input as event
	is_object(mask)
}

_document := object.union(testing.change_with({"/evidence/drift": {"source": "canary"}, "/context/pause/switches": {"X": "canary"}}), {"subject": {"id": "canary"}})

_answer := {"effect": "deny", "codes": ["forbid:x"], "decision_id": "id", "reasons": [{"message": "canary"}], "facts": {"x": "canary"}}

# METADATA
# custom:
#   req: [AU-06]
test_log_keeps_what_is_listed_and_nothing_else if {
	masked := _masked({"input": _document, "result": _answer, "path": "tipstaff/decision/verdict"})
	not contains(json.marshal(masked), "canary")
	not contains(json.marshal(masked), "SKILL")
	masked["/result"] == {"effect": "deny", "codes": ["forbid:x"], "decision_id": "id"}
	masked["/input"].context.decision_id == testing.change.context.decision_id
	masked["/input"].evidence.tests.passed == 12
	"/nd_builtin_cache" in sidecar.mask with input as {}
}

# METADATA
# custom:
#   req: [AU-06]
test_log_of_many_documents_keeps_the_id_of_each if {
	masked := _masked({"input": {"documents": [_document, _document]}, "result": [_answer, _answer]})
	not contains(json.marshal(masked), "canary")
	[verdict.decision_id | some verdict in masked["/result"]] == ["id", "id"]
	[count(masked["/input"].documents), masked["/input"].documents[1].kind] == [2, "change"]
}

test_log_of_what_is_no_document_is_empty if {
	every event in [{}, {"input": "canary", "result": "canary"}, {"input": ["canary"]}, {"input": null, "result": null}] {
		_masked(event) == {"/input": {}, "/result": {}}
	}
	_masked({"input": {"documents": ["canary"]}, "result": ["canary"]}) == {"/input": {"documents": [{}]}, "/result": [{}]}
}
