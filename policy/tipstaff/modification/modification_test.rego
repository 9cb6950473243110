package tipstaff.modification_test

import data.tipstaff.decision
import data.tipstaff.modification
import data.tipstaff.testing

_verdict(facts) := verdict if {
	verdict := decision.verdict with input as testing.modification_with(facts)
		with data.tipstaff.bundle as testing.bundle
}

_statuses(verdict) := [stage.status | some stage in verdict.facts.stages]

_proof := {"/evidence/supplied/prover": true}

_store := {"/evidence/supplied/approval_store": true}

_proved := object.union(_proof, {"/evidence/proof": {"status": "proved", "detail": ""}})

_rehearsed := {"/evidence/asked/rules/require_rehearsal": true, "/evidence/supplied/rollback": true}

_dropped := {"/evidence/scores/after/plan": 600000000}

# METADATA
# custom:
#   req: [HP-16]
test_modification_that_passes_every_stage_is_promoted if {
	verdict := _verdict({})
	testing.assert_verdict(verdict, "allow", "modification.promoted")
	verdict.codes == ["modification.promoted"]
	verdict.facts.outcome == "promote"
	_statuses(verdict) == ["passed", "not_required", "not_required", "passed", "passed", "not_required"]
	[stage.name | some stage in verdict.facts.stages] == ["gate", "proof", "approval", "evidence", "promotion", "rollback"]
	verdict.facts.needs == null
	verdict.obligations == []
}

# METADATA
# custom:
#   req: [HP-01, HP-02]
test_stage_that_stops_leaves_the_later_ones_untouched if {
	every case in [
		[{"/evidence/static/syntax": "error"}, "deny", "reject", "gate.syntax", ["failed", "skipped", "skipped", "skipped", "skipped", "skipped"]],
		[
			object.union_n([_proof, _store, {"/evidence/static/syntax": "error", "/evidence/contaminated": true}]),
			"deny", "reject", "gate.syntax",
			["failed", "skipped", "skipped", "skipped", "skipped", "skipped"],
		],
		[_proof, "require_approval", "defer", "proof.pending", ["passed", "pending", "skipped", "skipped", "skipped", "skipped"]],
		[
			object.union(_proof, {"/evidence/proof": {"status": "failed", "detail": "no"}}),
			"deny", "reject", "proof.failed",
			["passed", "failed", "skipped", "skipped", "skipped", "skipped"],
		],
		[
			object.union(_proof, {"/evidence/proof": {"status": "timeout", "detail": ""}}),
			"deny", "reject", "proof.error",
			["passed", "timeout", "skipped", "skipped", "skipped", "skipped"],
		],
		[
			object.union(_proof, {"/evidence/proof": {"status": "error", "detail": ""}}),
			"deny", "reject", "proof.error",
			["passed", "error", "skipped", "skipped", "skipped", "skipped"],
		],
		[
			object.union(_proof, {"/evidence/proof": {"status": "unknown", "detail": ""}}),
			"deny", "reject", "proof.error",
			["passed", "failed", "skipped", "skipped", "skipped", "skipped"],
		],
		[
			object.union(_store, _dropped),
			"require_approval", "defer", "approval.pending",
			["passed", "not_required", "pending", "skipped", "skipped", "skipped"],
		],
		[
			{"/evidence/contaminated": true},
			"deny", "reject", "evidence.contaminated",
			["passed", "not_required", "not_required", "failed", "skipped", "skipped"],
		],
		[
			_dropped,
			"deny", "rollback", "canary.regression:plan",
			["passed", "not_required", "not_required", "failed", "skipped", "skipped"],
		],
		[
			{"/action/risk": 300000000},
			"require_approval", "defer", "evidence.canary_missing",
			["passed", "not_required", "not_required", "pending", "skipped", "skipped"],
		],
		[
			{"/evidence/asked/rules/min_effect": 30000000},
			"deny", "reject", "promotion.effect",
			["passed", "not_required", "not_required", "passed", "failed", "skipped"],
		],
		[
			_rehearsed,
			"require_approval", "defer", "rollback.pending",
			["passed", "not_required", "not_required", "passed", "passed", "pending"],
		],
	] {
		[facts, effect, outcome, code, statuses] := case
		verdict := _verdict(facts)
		testing.assert_verdict(verdict, effect, code)
		print(code, verdict.facts.outcome, _statuses(verdict))
		verdict.facts.outcome == outcome
		_statuses(verdict) == statuses
	}
}

test_stage_lists_the_codes_of_what_it_says if {
	verdict := _verdict({"/evidence/static/syntax": "error", "/evidence/static/unresolved": ["line 1: eval"]})
	verdict.facts.stages[0].codes == ["gate.call", "gate.syntax"]
	{stage.codes | some stage in array.slice(verdict.facts.stages, 1, 6)} == {[]}
}

# METADATA
# custom:
#   req: [HP-09]
test_rollback_wins_over_an_effect_that_is_too_small if {
	verdict := _verdict(_dropped)
	verdict.facts.outcome == "rollback"
	verdict.codes == ["canary.regression:plan", "promotion.effect"]
	better := _verdict({"/evidence/scores/after/plan": 600000000, "/evidence/scores/after/parse": 990000000})
	better.codes == ["canary.regression:plan"]
	better.facts.outcome == "rollback"
}

test_what_waits_does_not_hide_behind_what_is_wrong_with_the_scores if {
	verdict := _verdict({"/action/risk": 300000000, "/evidence/scores/after": {"parse": 800000000, "plan": 700000000}})
	verdict.codes == ["evidence.canary_missing"]
	both := _verdict(object.union(_dropped, {"/action/risk": 300000000}))
	both.facts.outcome == "rollback"
}

test_facts_are_asked_for_stage_by_stage if {
	every case in [
		[{}, null],
		[_proof, "proof"],
		[object.union(_proof, _store), "proof"],
		[object.union(_proved, _store), "approval"],
		[object.union(_store, {"/evidence/static/syntax": "error"}), null],
		[object.union(_store, {"/evidence/approval": {"key": "k", "status": "none"}}), null],
		[object.union(_store, {"/evidence/approval": testing.stored_approval}), null],
		[_rehearsed, "rollback"],
		[object.union(_rehearsed, _dropped), null],
		[object.union(_rehearsed, {"/evidence/rehearsal": {"restored": true, "detail": ""}}), null],
	] {
		[facts, needs] := case
		print(facts, needs)
		_verdict(facts).facts.needs == needs
	}
}

# METADATA
# custom:
#   req: [HP-06]
test_person_is_asked_once_the_store_was_looked_at if {
	every case in [
		[_store, 0],
		[object.union(_store, {"/evidence/approval": {"key": "k", "status": "none"}}), 1],
		[object.union(_store, {"/evidence/approval": {"key": "k", "status": "expired"}}), 1],
		[object.union(_store, {"/evidence/approval": {"key": "k", "status": "pending"}}), 0],
		[object.union(_store, {"/evidence/approval": {"key": "k", "status": "rejected"}}), 0],
		[_proof, 0],
		[{"/action/risk": 300000000}, 0],
	] {
		[facts, asked] := case
		print(facts, asked)
		count([duty | some duty in _verdict(facts).obligations; duty.id == "request_approval"]) == asked
	}
}

# METADATA
# custom:
#   req: [HP-06, HP-07]
test_approval_of_exactly_this_lets_it_go_on if {
	approved := object.union(_store, {"/evidence/approval": testing.stored_approval})
	verdict := _verdict(approved)
	testing.assert_verdict(verdict, "allow", "modification.promoted")
	_statuses(verdict) == ["passed", "not_required", "passed", "passed", "passed", "not_required"]
	_verdict(object.union(approved, _dropped)).facts.outcome == "rollback"
}

_asking := {"freeze": {"require_approval": {{"code": "freeze.ask", "message": "m", "solution": "s", "confirmations": 1}}}}

test_overlay_that_asks_for_a_person_is_satisfied_by_the_stores_approval if {
	without := _verdict({}) with data.org as _asking
	testing.assert_verdict(without, "require_approval", "approval.no_store")
	testing.assert_verdict(without, "require_approval", "freeze.ask")
	without.facts.outcome == "defer"
	facts := object.union(_store, {"/evidence/approval": testing.stored_approval})
	approved := _verdict(facts) with data.org as _asking
	testing.assert_verdict(approved, "allow", "modification.promoted")
	other := {"/evidence/approval": object.union(testing.stored_approval, {"digest": testing.digest("0")})}
	stale := _verdict(object.union(facts, other)) with data.org as _asking
	testing.assert_verdict(stale, "require_approval", "approval.stale")
	testing.assert_verdict(stale, "require_approval", "freeze.ask")
}

# METADATA
# custom:
#   req: [PA-01, PA-04]
test_promotion_waits_while_work_is_paused_unless_a_person_approved_it if {
	paused := {"/context/pause/global": true}
	waiting := _verdict(paused)
	testing.assert_verdict(waiting, "require_approval", "pause.global")
	waiting.facts.outcome == "defer"
	approved := object.union_n([paused, _store, {"/evidence/approval": testing.stored_approval}])
	testing.assert_verdict(_verdict(approved), "allow", "modification.promoted")
	hard := _verdict(object.union(approved, {"/context/pause/hard": true}))
	testing.assert_verdict(hard, "require_approval", "pause.global")
	hard.facts.outcome == "defer"
}

test_stored_approval_must_have_as_many_confirmations_as_an_overlay_asks_for if {
	twice := {"freeze": {"require_approval": {{"code": "freeze.two", "message": "m", "solution": "s", "confirmations": 2}}}}
	facts := object.union(_store, {"/evidence/approval": testing.stored_approval})
	once := _verdict(facts) with data.org as twice
	testing.assert_verdict(once, "require_approval", "freeze.two")
	confirmed := object.union(facts, {"/evidence/approval": object.union(testing.stored_approval, {"confirmations": 2})})
	again := _verdict(confirmed) with data.org as twice
	testing.assert_verdict(again, "allow", "modification.promoted")
	every confirmations in [null, "2", {}] {
		other := {"/evidence/approval": object.union(testing.stored_approval, {"confirmations": confirmations})}
		verdict := _verdict(object.union(facts, other)) with data.org as twice
		verdict.effect != "allow"
	}
}

test_overlay_that_denies_is_a_rejection if {
	verdict := decision.verdict with input as testing.modification
		with data.tipstaff.bundle as testing.bundle
		with data.org as {"freeze": {"deny": {{"code": "freeze.no", "message": "m", "solution": "s"}}}}
	testing.assert_verdict(verdict, "deny", "freeze.no")
	verdict.facts.outcome == "reject"
}

test_facts_that_are_missing_are_escalated_and_defer if {
	every path in ["/action/risk", "/evidence/static", "/evidence/contaminated", "/evidence/supplied", "/evidence/caller"] {
		document := testing.without(testing.modification, [path])
		verdict := decision.verdict with input as document with data.tipstaff.bundle as testing.bundle
		verdict.effect in {"escalate", "deny"}
		print(path, verdict.effect, verdict.codes, verdict.facts.outcome)
		verdict.facts.outcome in {"defer", "reject"}
	}
}

test_grant_is_given_where_no_stage_stops_it if {
	granted := modification.grant with input as testing.modification
	testing.codes(granted) == {"modification.promoted"}
	stopped := modification.grant with input as testing.modification_with(_dropped)
	stopped == set()
}

test_modification_alone_is_judged_here if {
	other := testing.with_facts(testing.control, {"/evidence/static": {"syntax": "error"}})
	verdict := decision.verdict with input as other with data.tipstaff.bundle as testing.bundle
	verdict.codes == ["control.granted"]
}
