package tipstaff.sidecar_test

import data.tipstaff.sidecar
import data.tipstaff.testing

_masked(event) := {mask.path: mask.value |
	some mask in sidecar.mask with input as event
	mask.op == "upsert"
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

_question := {
	"schema_version": 1, "kind": "change", "action": {"class": "augment"},
	"resource": {"base": "b", "diff_sha256": "d"},
	"evidence": {
		"tests": {"passed": 1, "failed": 2, "skipped": 3, "diff_sha256": "d"},
		"sandbox": {"backend": "bubblewrap", "profile": "strict", "isolated": true},
	},
	"context": {
		"decision_id": "id", "now": "2026-07-01T12:00:00Z", "actor": {"type": "human"}, "bundles": {"tipstaff": "r"},
		"config": {"team_sha256": "t", "local_sha256": "l"}, "judged_sha256": "j",
	},
}

_verdict_kept := {
	"schema_version": 1, "kind": "change", "effect": "allow", "confirmations": 0, "codes": ["a"],
	"matched_rules": ["x#a"], "policy": {"tipstaff": "r"}, "decision_id": "id",
}

test_each_fact_that_is_listed_is_kept if {
	_masked({
		"input": object.union(_question, {"subject": {"id": "alice"}, "action": {"command": "ls"}}),
		"result": object.union(_verdict_kept, {"reasons": [{"message": "m"}]}),
	}) == {"/input": _question, "/result": _verdict_kept}
}
