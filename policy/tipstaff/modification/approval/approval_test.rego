package tipstaff.modification.approval_test

import data.tipstaff.modification.approval
import data.tipstaff.testing

_with(approval) := {"/evidence/supplied/approval_store": true, "/evidence/approval": approval}

_said(facts) := {"deny": testing.codes(denied), "wait": testing.codes(waiting), "asks": asks} if {
	document := testing.modification_with(facts)
	denied := approval.deny with input as document
	waiting := approval.require_approval with input as document
	asks := approval.asks with input as document
}

_nothing := {"deny": set(), "wait": set(), "asks": false}

_stored(facts) := _with(object.union(testing.stored_approval, facts))

# METADATA
# custom:
#   req: [HP-06, HP-07]
test_status_of_the_store_decides if {
	_said(_stored({})) == _nothing
	every status in ["none", "expired", "consumed"] {
		_said(_with({"key": "k", "status": status})) == object.union(_nothing, {"wait": {"approval.pending"}, "asks": true})
	}
	_said(_with({"key": "k", "status": "pending"})) == object.union(_nothing, {"wait": {"approval.pending"}})
	_said(_with({"key": "k", "status": "denied"})) == object.union(_nothing, {"wait": {"approval.pending"}})
	_said(_stored({"status": "rejected"})) == object.union(_nothing, {"deny": {"approval.rejected"}})
	_said(_with(null)) == object.union(_nothing, {"wait": {"approval.pending"}})
}

test_nothing_is_said_where_nobody_has_to_agree if {
	_said({}) == _nothing
	_said({"/evidence/approval": {"key": "k", "status": "rejected"}}) == _nothing
}

test_operators_store_serves_and_asks_for_nothing_by_itself if {
	pinned := {"/evidence/supplied/pinned_store": true}
	_said(pinned) == _nothing
	asked := object.union(pinned, {"/evidence/asked/rules/require_approval": true})
	_said(asked) == object.union(_nothing, {"wait": {"approval.pending"}})
	_is_open(asked) == true
	_is_open(pinned) == false
	_said(object.union(asked, {"/evidence/approval": testing.stored_approval})) == _nothing
}

test_approval_that_is_asked_for_takes_a_store if {
	_said({"/evidence/asked/rules/require_approval": true}) == object.union(_nothing, {"wait": {"approval.no_store"}})
	unset := {"/evidence/asked/rules/require_approval": true, "/evidence/supplied/pinned_store": false}
	_said(unset) == object.union(_nothing, {"wait": {"approval.no_store"}})
}

# METADATA
# custom:
#   req: [AP-05, AP-08, HP-15]
test_doubtful_approval_is_none if {
	every case in [
		[{"digest": testing.digest("0")}, "approval.stale"],
		[{"digest": null}, "approval.stale"],
		[{"expires_at": "2026-07-01T12:00:00Z"}, "approval.expired"],
		[{"decided_by": {"id": "bot", "type": "agent"}}, "approval.human_only"],
		[{"decided_by": null}, "approval.human_only"],
	] {
		[facts, code] := case
		said := _said(_stored(facts))
		print(facts, said)
		code in said.wait
		said.asks == true
	}
}

# METADATA
# custom:
#   req: [AP-05]
test_own_approval_is_none_with_four_eyes if {
	four := {"/context/config/team": {"schema_version": 1, "approvals": {"four_eyes": true}}}
	own := _stored({"decided_by": {"id": "alice@elsewhere", "type": "human"}})
	_said(own) == _nothing
	_said(object.union(own, four)).wait == {"approval.four_eyes"}
}

_is_open(facts) := open if {
	open := approval.is_open with input as testing.modification_with(facts)
}

test_store_is_asked_once if {
	_is_open(_with(null)) == true
	_is_open(_with({"key": "k", "status": "none"})) == false
	_is_open({}) == false
	_is_open({"/evidence/asked/rules/require_approval": true}) == false
}

# METADATA
# custom:
#   req: [AP-05]
#   promise: [A5, "ahead 13"]
test_who_measured_does_not_approve_under_four_eyes if {
	measured := {"producer": "Bob@lab", "source_sha256": testing.digest("0")}
	given := {"/evidence/approval/decided_by": {"id": "BOB@home", "type": "human"}}
	strict := {"/context/config/team": {"schema_version": 1, "approvals": {"four_eyes": true}}}
	every side in ["before_attestation", "after_attestation"] {
		facts := object.union_n([_stored({}), given, strict, {concat("/", ["/evidence/scores", side]): measured}])
		print(_said(facts))
		_said(facts).wait == {"approval.measurer"}
		_said(object.remove(facts, ["/context/config/team"])).wait == set()
		other := {concat("/", ["/evidence/scores", side]): object.union(measured, {"producer": "carol"})}
		_said(object.union(facts, other)).wait == set()
	}
	_said(object.union_n([_stored({}), given, strict])).wait == set()
	unasked := {"/evidence/scores/after_attestation": measured, "/evidence/approval": testing.stored_approval}
	_said(object.union_n([unasked, strict])).wait == set()
}
