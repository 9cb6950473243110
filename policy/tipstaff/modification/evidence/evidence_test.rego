package tipstaff.modification.evidence_test

import data.tipstaff.modification.evidence
import data.tipstaff.testing

_said(facts) := {"deny": testing.codes(denied), "wait": testing.codes(waiting), "rollback": testing.codes(worse)} if {
	document := testing.modification_with(facts)
	denied := evidence.deny with input as document
	waiting := evidence.require_approval with input as document
	worse := evidence.rollback with input as document
}

_nothing := {"deny": set(), "wait": set(), "rollback": set()}

_attested := {
	"/evidence/scores/before_attestation": testing.attestation,
	"/evidence/scores/after_attestation": testing.attestation,
}

test_scores_that_are_better_are_nothing_to_speak_of if {
	_said({}) == _nothing
	_said(_attested) == _nothing
}

# METADATA
# custom:
#   req: [HS-14]
test_contaminated_evidence_proves_nothing if {
	_said({"/evidence/contaminated": true}).deny == {"evidence.contaminated"}
	_said({"/evidence/contaminated": null}).deny == {"evidence.contaminated"}
}

# METADATA
# custom:
#   req: [HP-13]
test_attestation_must_be_of_this_source_and_of_somebody_else if {
	every side in ["before", "after"] {
		place := sprintf("/evidence/scores/%s_attestation", [side])
		stale := object.union(_attested, {place: {"producer": "eval", "source_sha256": testing.digest("0")}})
		_said(stale).deny == {"evidence.stale"}
		own := object.union(_attested, {place: {"producer": "Alice@elsewhere", "source_sha256": testing.digest("5")}})
		_said(own).deny == {"evidence.self_produced"}
	}
	alone := testing.without(
		testing.modification_with({"/evidence/scores/after_attestation": {"producer": "eval", "source_sha256": testing.digest("0")}}),
		["/evidence/scores/before_attestation"],
	)
	denied := evidence.deny with input as alone
	testing.codes(denied) == {"evidence.stale"}
}

# METADATA
# custom:
#   req: [HP-13]
test_plain_scores_wait_where_somebody_has_to_stand_for_them if {
	_said({"/evidence/caller": "mcp"}).wait == {"evidence.unattested"}
	_said({"/evidence/team/require_attestation": true}).wait == {"evidence.unattested"}
	_said({"/evidence/team/require_attestation": false}).wait == set()
	_said(object.union(_attested, {"/evidence/caller": "mcp"})) == _nothing
	half := object.union(_attested, {"/evidence/scores/after_attestation": null, "/evidence/caller": "mcp"})
	_said(half).wait == {"evidence.unattested"}
}

test_canary_is_asked_for_by_risk_or_rule if {
	_said({"/action/risk": 200000001}).wait == {"evidence.canary_missing"}
	_said({"/evidence/asked/rules/require_canary": true}).wait == {"evidence.canary_missing"}
	_said(object.union(_attested, {"/action/risk": 200000001})) == _nothing
}

# METADATA
# custom:
#   req: [HP-08]
test_task_may_fall_by_the_tolerance_and_no_more if {
	every case in [
		[680000000, set()],
		[679999999, {"canary.regression:plan"}],
		[670000000, {"canary.regression:plan"}],
		[700000000, set()],
	] {
		[after, codes] := case
		facts := {"/evidence/asked/gate/tolerance": 20000000, "/evidence/scores/after/plan": after}
		_said(facts).rollback == codes
	}
	_said({"/evidence/scores/after/plan": 699999999}).rollback == {"canary.regression:plan"}
}

# METADATA
# custom:
#   req: [HP-11]
test_task_that_is_dropped_is_the_worst_and_one_that_is_new_is_none if {
	_said({"/evidence/scores/after": {"parse": 830000000}}).rollback == {"evidence.task_dropped:plan"}
	_said({"/evidence/scores/after/new": 0}) == _nothing
	effect := evidence.effect with input as testing.modification_with({"/evidence/scores/after/new": 0})
	effect == {"sum": 40000000, "tasks": 2, "per_task": {"parse": 30000000, "plan": 10000000}}
	dropped := evidence.effect with input as testing.modification_with({"/evidence/scores/after": {"parse": 830000000}})
	dropped == {"sum": 30000000, "tasks": 2, "per_task": {"parse": 30000000}}
}
