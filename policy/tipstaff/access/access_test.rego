package tipstaff.access_test

import data.tipstaff.access
import data.tipstaff.testing

_issued := {"scope": "read", "lifetime_s": 3600}

_presented := {
	"id": "0123456789ab",
	"name": "desk",
	"scope": "read",
	"issued_at": "2026-07-01T11:00:00.000000Z",
	"expires_at": "2026-07-01T13:00:00.000000Z",
	"revoked_at": null,
	"served": "propose",
}

_asked(act, facts, more) := testing.with_facts(testing.control, object.union(
	{"/action/type": act, "/evidence": {"access": facts}},
	more,
))

_said(document) := codes if {
	codes := testing.codes(access.deny) with input as document
}

_issue(facts) := _said(_asked("mcp token issue", object.union(_issued, facts), {}))

_call(facts) := _said(_asked("mcp call", object.union(_presented, facts), {}))

_lifetime(facts) := seconds if {
	seconds := access.report.lifetime_s with input as _asked("mcp token issue", object.union(_issued, facts), {})
}

test_token_within_its_bounds_may_be_issued if {
	every scope in ["read", "propose"] {
		_issue({"scope": scope}) == set()
	}
	every seconds in [60, 3600, 2592000, 7776000] {
		_issue({"lifetime_s": seconds}) == set()
		_lifetime({"lifetime_s": seconds}) == seconds
	}
}

test_token_without_a_lifetime_gets_the_usual_one if {
	_issue({"lifetime_s": null}) == set()
	_lifetime({"lifetime_s": null}) == 2592000
	_lifetime({"lifetime_s": null}) == 60 with data.tipstaff.access.lifetime_s.usual as 60
	bare := _asked("mcp token issue", {"scope": "read"}, {})
	_said(bare) == set()
}

test_lifetime_out_of_bounds_is_refused if {
	every seconds in [0, -1, 59, 7776001, 1e300, 3600.5, "3600", true, [], {}] {
		_issue({"lifetime_s": seconds}) == {"access.lifetime"}
	}
	access.report == {} with input as _asked("mcp call", _presented, {})
	access.report == {} with input as _asked("mcp token issue", object.union(_issued, {"lifetime_s": 0}), {})
}

test_unknown_scope_is_not_issued if {
	every scope in ["approve", "Read", "read ", "", "*", null, 1, true, ["read"], {}] {
		_issue({"scope": scope}) == {"access.scope_unknown"}
	}
	_said(_asked("mcp token issue", null, {})) == {"access.scope_unknown"}
	_said(_asked("mcp token issue", "read", {})) == {"access.scope_unknown"}
}

# METADATA
# custom:
#   req: [M-07]
test_token_of_either_scope_counts_while_it_is_served if {
	_call({}) == set()
	_call({"scope": "propose"}) == set()
	_call({"served": "read"}) == set()
	_call({"scope": "propose", "served": "read"}) == {"access.scope"}
	every value in ["approve", "Read", "", null, 1, ["read"]] {
		_call({"scope": value}) == {"access.scope"}
		_call({"served": value}) == {"access.scope"}
	}
}

test_unknown_token_does_not_count if {
	every value in [null, "token", true, 1, []] {
		_said(_asked("mcp call", value, {})) == {"access.unknown"}
	}
	_said(testing.without(_asked("mcp call", null, {}), ["/evidence"])) == {"access.unknown"}
}

# METADATA
# custom:
#   req: [M-07]
test_revoked_token_does_not_count if {
	every value in ["2026-07-01T11:30:00.000000Z", "", false, 0, "unknown"] {
		_call({"revoked_at": value}) == {"access.revoked"}
	}
	gone := object.remove(_presented, ["revoked_at"])
	_said(_asked("mcp call", gone, {})) == {"access.revoked"}
}

# METADATA
# custom:
#   req: [M-07]
test_token_counts_until_it_expires if {
	every case in [
		["2026-07-01T12:59:59.999999Z", set()],
		["2026-07-01T13:00:00.000000Z", {"access.expired"}],
		["2026-07-01T13:00:00.000001Z", {"access.expired"}],
		["2027-01-01T00:00:00.000000Z", {"access.expired"}],
		["tomorrow", {"access.expired"}],
		[null, {"access.expired"}],
	] {
		[now, codes] := case
		_said(_asked("mcp call", _presented, {"/context/now": now})) == codes
	}
}

test_clock_that_is_set_back_brings_no_token_back if {
	every latest in ["2026-07-01T13:00:00.000000Z", "2026-08-01T00:00:00.000000Z", "damaged", 1] {
		_said(_asked("mcp call", _presented, {"/context/latest": latest})) == {"access.expired"}
	}
	_said(_asked("mcp call", _presented, {"/context/latest": "2026-07-01T12:00:00.000000Z"})) == set()
	_said(_asked("mcp call", _presented, {"/context/latest": null})) == set()
}

test_token_without_times_has_expired if {
	every name in ["issued_at", "expires_at"] {
		_said(_asked("mcp call", object.remove(_presented, [name]), {})) == {"access.expired"}
		every value in [null, "", "2026-07-01", 1, "2026-07-01T13:00:00+00:00"] {
			_call({name: value}) == {"access.expired"}
		}
	}
	_said(testing.without(_asked("mcp call", _presented, {}), ["/context/now"])) == {"access.expired"}
}

test_other_acts_are_nothing_to_it if {
	every act in ["approve", "mcp token revoke", "", null] {
		_said(_asked(act, {"lifetime_s": 0}, {})) == set()
	}
}

test_refusals_name_what_they_are_about if {
	asked := _asked("mcp token issue", {"scope": "approve", "lifetime_s": 5}, {})
	{reason.message | some reason in access.deny} == {
		"approve is no scope of a token",
		"a token may not live for 5 seconds",
	} with input as asked
	presented := _asked("mcp call", object.union(_presented, {"scope": "approve"}), {})
	{reason.message | some reason in access.deny} == {"the server does not serve tokens of the scope approve"} with input as presented
}
