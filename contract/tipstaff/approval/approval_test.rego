package tipstaff.approval_test

import data.tipstaff.approval
import data.tipstaff.testing

# The change with a person's approval of which some facts are changed.
_presented(facts) := testing.with_facts(
	testing.change_with({"/context/approval": testing.approved}),
	{concat("/", ["/context/approval", name]): value | some name, value in facts},
)

_doubts(document) := codes if {
	codes := testing.codes(approval.require_approval) with input as document
}

test_approval_of_exactly_this_is_valid if {
	document := _presented({})
	approval.presented with input as document
	approval.valid with input as document
	testing.assert_codes(approval.grant, {"approval.granted"}) with input as document
	_doubts(document) == set()
}

test_no_approval_is_not_valid if {
	every value in [null, false, true, "approved", "", [], 1] {
		document := testing.change_with({"/context/approval": value})
		approval.presented == false with input as document
		approval.valid == false with input as document
		testing.assert_codes(approval.grant, set()) with input as document
		_doubts(document) == set()
	}
	approval.valid == false with input as testing.without(testing.change, ["/context/approval"])
	approval.valid == false with input as {}
	_doubts(testing.change_with({"/context/config/team/approvals": {"four_eyes": true}})) == set()
}

# METADATA
# custom:
#   req: [AP-10]
test_approval_of_something_else_is_stale if {
	every digest in [testing.digest("c"), "", null, 5, [], upper(testing.digest("b"))] {
		_doubts(_presented({"digest": digest})) == {"approval.stale"}
	}
	document := testing.with_facts(_presented({}), {"/context/judged_sha256": testing.digest("c")})
	_doubts(document) == {"approval.stale"}
	not approval.valid with input as document
	testing.assert_codes(approval.grant, set()) with input as document
}

# METADATA
# custom:
#   req: [AP-10]
test_approval_in_another_status_is_consumed if {
	every status in ["consumed", "pending", "rejected", "expired", "Approved", "approved ", "", null, true] {
		_doubts(_presented({"status": status})) == {"approval.consumed"}
	}
}

# METADATA
# custom:
#   req: [AP-08]
test_approval_is_used_before_it_expires if {
	every case in [
		["2026-07-01T12:59:59.999999Z", set()],
		["2026-07-01T13:00:00Z", {"approval.expired"}],
		["2026-07-01T13:00:01Z", {"approval.expired"}],
		["2027-07-01T12:00:00Z", {"approval.expired"}],
	] {
		[now, codes] := case
		_doubts(testing.with_facts(_presented({}), {"/context/now": now})) == codes
	}
}

# METADATA
# custom:
#   req: [AP-08]
test_approval_after_expiry_is_expired if {
	every case in [
		["2026-07-01T12:15:00Z", "2026-07-01T12:14:59Z", set()],
		["2026-07-01T12:15:00Z", "2026-07-01T12:15:00Z", {"approval.expired"}],
		["2026-07-01T12:15:00Z", "2026-07-01T12:20:00Z", {"approval.expired"}],
	] {
		[expires, decided, codes] := case
		_doubts(_presented({"expires_at": expires, "decided_at": decided})) == codes
	}
}

test_approval_without_times_is_expired if {
	every name in ["expires_at", "decided_at"] {
		document := testing.without(_presented({}), [concat("", ["/context/approval/", name])])
		_doubts(document) == {"approval.expired"}
	}
}

# METADATA
# custom:
#   req: [AP-04]
test_approval_by_no_person_is_not_valid if {
	every type in ["agent", "ci", "Human", "human ", "", null, true, ["human"]] {
		_doubts(_presented({"decided_by": {"id": "bob@desk", "type": type}})) == {"approval.human_only"}
	}
	_doubts(_presented({"decided_by": {"id": "bob@desk"}})) == {"approval.human_only"}
	_doubts(_presented({"decided_by": null})) == {"approval.human_only"}
}

# METADATA
# custom:
#   req: [AP-05]
test_asker_who_approves_is_refused_by_four_eyes if {
	every case in [
		["bob@desk", set()],
		["alicia@laptop", set()],
		["alice@laptop", {"approval.four_eyes"}],
		["alice@desk", {"approval.four_eyes"}],
		["Alice@laptop", {"approval.four_eyes"}],
		[" alice @laptop", {"approval.four_eyes"}],
		["alice", {"approval.four_eyes"}],
	] {
		[id, codes] := case
		every where in ["team", "local"] {
			document := testing.with_facts(_presented({"decided_by": {"id": id, "type": "human"}}), {
				concat("/", ["/context/config", where]): {"approvals": {"four_eyes": true}},
			})
			_doubts(document) == codes
		}
	}
}

# METADATA
# custom:
#   req: [AP-05]
test_unnamed_persons_are_refused_by_four_eyes if {
	settings := {"/context/config/team": {"approvals": {"four_eyes": true}}}
	every facts in [
		{"requested_by": {"type": "human"}},
		{"decided_by": {"type": "human"}},
		{"requested_by": null},
		{"requested_by": {"type": "human"}, "decided_by": {"type": "human"}},
	] {
		_doubts(testing.with_facts(_presented(facts), settings)) == {"approval.four_eyes"}
	}
}

test_asker_who_approves_is_valid_otherwise if {
	document := _presented({"decided_by": {"id": "alice@laptop", "type": "human"}})
	_doubts(document) == set()
	_doubts(testing.with_facts(document, {"/context/config/team": {"approvals": {"four_eyes": false}}})) == set()
}

test_every_doubt_is_reported if {
	document := testing.with_facts(
		_presented({
			"digest": testing.digest("c"),
			"status": "consumed",
			"expires_at": "2026-07-01T11:30:00Z",
			"decided_by": {"id": "alice@laptop", "type": "agent"},
		}),
		{"/context/config/team": {"approvals": {"four_eyes": true}}},
	)
	_doubts(document) == {
		"approval.stale",
		"approval.consumed",
		"approval.expired",
		"approval.human_only",
		"approval.four_eyes",
	}
}

test_approval_with_a_time_in_another_form_is_out_of_time if {
	every name in ["expires_at", "decided_at"] {
		later := replace(testing.approved[name], "Z", "+00:00")
		"approval.expired" in _doubts(_presented({name: later}))
	}
	now := testing.with_facts(_presented({}), {"/context/now": "2026-07-01T12:00:00+00:00"})
	"approval.expired" in _doubts(now)
}
