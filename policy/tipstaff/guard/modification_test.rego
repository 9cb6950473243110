package tipstaff.guard_test

import data.tipstaff.guard
import data.tipstaff.testing

_no_counts := [-1, 1.5, 12.0, "12", true, [], {}]

_no_shares := array.concat(_no_counts, [1000000001])

_no_texts := ["", 5, true, [], {}, "a\u202e"]

_no_digests := ["", "d", 5, true, [], {}, upper(testing.digest("d"))]

_no_objects := ["", 5, true, []]

# METADATA
# custom:
#   req: [E-11, HS-06]
test_fact_of_a_modification_of_another_shape_is_invalid if {
	every case in [
		["/action/requested_capabilities", "requested_capabilities", ["net", {}, [1], ["Net"]]],
		["/action/risk", "risk", _no_shares],
		["/action/deployment_risk", "deployment_risk", _no_shares],
		["/resource/artifact_id", "artifact", _no_texts],
		["/resource/modification_id", "modification", _no_texts],
		["/resource/target", "target", _no_texts],
		["/resource/source_sha256", "source_sha256", _no_digests],
		["/resource/content_sha256", "content_sha256", _no_digests],
		["/evidence/caller", "caller", ["", "CLI", 5, true, []]],
		["/evidence/contaminated", "contaminated", ["", "false", 0, [], {}]],
		["/evidence/conformal", "conformal", ["", "Accept", 5, true]],
		["/evidence/sequential", "sequential", ["", "maybe", 5, true]],
		["/evidence/supplied/pinned_store", "supplied", ["true", 1, [], {}]],
		["/evidence/supplied/references", "supplied", ["m:a", 1, {}, [1], [null], [""]]],
		["/evidence/supplied", "supplied", array.concat(_no_objects, [{}, {"prover": true}, {"prover": 1, "approval_store": false, "rollback": false}])],
		["/evidence/static", "static", array.concat(_no_objects, [{}])],
		["/evidence/static/language", "static", ["", 5, true]],
		["/evidence/static/syntax", "static", [5, null]],
		["/evidence/static/error", "static", [5, true]],
		["/evidence/static/imports", "static", ["", null, [""], [5]]],
		["/evidence/static/calls", "static", ["", null, [""], [5]]],
		["/evidence/static/unresolved", "static", ["", null, [""], [5]]],
		["/evidence/static/capabilities", "static", ["", null, [""], ["Net"]]],
		["/evidence/scores", "scores", array.concat(_no_objects, [{}])],
		["/evidence/scores/before", "scores", array.concat(_no_objects, [{}, null, {"a": "1"}, {"a": 0.5}, {"a": 1.0}, {"a": true}, {"a": 1000000000000000}])],
		["/evidence/scores/after", "scores", [{}, null, {"a": null}]],
		["/evidence/scores/before_sha256", "scores", _no_digests],
		["/evidence/scores/after_sha256", "scores", _no_digests],
		["/evidence/scores/before_attestation", "scores", array.concat(_no_objects, [{}, {"producer": "", "source_sha256": testing.digest("5")}, {"producer": "a", "source_sha256": "b"}])],
		["/evidence/proof", "proof", array.concat(_no_objects, [{}, {"status": "", "detail": ""}, {"status": "proved"}, {"status": "proved", "detail": 5}])],
		["/evidence/approval", "stored_approval", array.concat(_no_objects, [{}, {"status": ""}])],
		["/evidence/rehearsal", "rehearsal", array.concat(_no_objects, [{}, {"restored": "yes", "detail": ""}, {"restored": true}])],
		["/evidence/asked", "asked", _no_objects],
		["/evidence/asked/gate", "asked", _no_objects],
		["/evidence/asked/gate/max_risk", "asked", _no_shares],
		["/evidence/asked/gate/tolerance", "asked", _no_counts],
		["/evidence/asked/gate/granted_capabilities", "asked", ["net", [5]]],
		["/evidence/asked/gate/denied_calls", "asked", ["eval", [5]]],
		["/evidence/asked/gate/unheard_of", "asked", [1, true]],
		["/evidence/asked/rules/require_proof", "asked", [0, "no", []]],
		["/evidence/team/rules/min_tasks", "team", _no_counts],
		["/evidence/team/allowed_suffixes", "team", ["", [5]]],
		["/evidence/team/require_attestation", "team", ["", 0]],
	] {
		[path, name, values] := case
		every value in values {
			print(path, value)
			name in _invalid(testing.modification, path, value)
		}
	}
}

test_fact_of_a_modification_that_is_absent_is_not_invalid if {
	guard.invalid == set() with input as testing.modification
	full := testing.modification_with({
		"/evidence/proof": {"status": "proved", "detail": ""},
		"/evidence/approval": testing.stored_approval,
		"/evidence/rehearsal": {"restored": true, "detail": ""},
		"/evidence/conformal": "accept",
		"/evidence/sequential": "undecided",
		"/evidence/team/allowed_suffixes": [".lua"],
		"/evidence/team/require_attestation": true,
		"/evidence/asked/gate/denied_imports": ["x"],
		"/evidence/asked/gate/granted_capabilities": ["net"],
		"/evidence/asked/rules/require_proof": true,
		"/evidence/asked/gate/max_risk": null,
		"/evidence/scores/before/plan": -700000000,
		"/evidence/scores/before_attestation": testing.attestation,
	})
	guard.invalid == set() with input as full
}
