package tipstaff.guard_test

import data.tipstaff.guard
import data.tipstaff.testing

_expired(now, ours, org) := messages if {
	messages := {reason.message |
		some reason in guard.escalate
		reason.code == "bundle.expired"
	} with input.context as {"now": now}
		with data.tipstaff.bundle as object.union(testing.bundle, ours)
		with data.org as {"bundle": org}
}

_end := "2026-07-01T12:00:00.000000Z"

_says(name) := sprintf("the bundle %s has expired, so what it allows may be out of date", [name])

test_bundle_without_an_end_never_expires if {
	every end in [{}, {"expires_at": null}] {
		_expired("2999-01-01T00:00:00Z", end, end) == set()
	}
}

test_bundle_decides_until_its_end_and_from_then_on_escalates if {
	every now in ["2026-07-01T11:59:59.999999Z", "2026-06-30T12:00:00Z", "1999-01-01T00:00:00Z"] {
		_expired(now, {"expires_at": _end}, {"expires_at": _end}) == set()
	}
	every now in [_end, "2026-07-01T12:00:00.000001Z", "2026-07-02T12:00:00Z", "2999-01-01T00:00:00Z"] {
		_expired(now, {"expires_at": _end}, {}) == {_says("tipstaff")}
		_expired(now, {}, {"expires_at": _end}) == {_says("org")}
		_expired(now, {"expires_at": _end}, {"expires_at": _end}) == {_says("tipstaff"), _says("org")}
	}
}

test_end_or_clock_that_is_none_has_passed if {
	every end in ["", "soon", 5, true, [], "2026-07-01", "2026-07-01T12:00:00+02:00"] {
		_expired("2020-01-01T00:00:00Z", {}, {"expires_at": end}) == {_says("org")}
	}
	every now in [null, "", 5, "now", []] {
		_expired(now, {"expires_at": _end}, {}) == {_says("tipstaff")}
	}
}

test_expired_bundle_escalates_what_it_would_allow if {
	every document in [testing.change, testing.control] {
		verdict := data.tipstaff.decision.verdict with input as document
			with data.tipstaff.bundle as object.union(testing.bundle, {"expires_at": _end})
		testing.assert_verdict(verdict, "escalate", "bundle.expired")
	}
}

# METADATA
# custom:
#   promise: [row 48]
test_clock_that_is_set_back_does_not_bring_an_expired_bundle_back if {
	every latest in [_end, "2026-07-01T12:00:00.000001Z", "2999-01-01T00:00:00Z", "", 5, "soon"] {
		messages := {reason.message |
			some reason in guard.escalate
			reason.code == "bundle.expired"
		} with input.context as {"now": "2026-07-01T11:59:00Z", "latest": latest}
			with data.tipstaff.bundle as object.union(testing.bundle, {"expires_at": _end})
		messages == {_says("tipstaff")}
	}
}

_back(now, latest) := codes if {
	codes := {reason.code |
		some reason in guard.escalate
		startswith(reason.code, "clock.")
	} with input.context as {"now": now, "latest": latest}
}

# METADATA
# custom:
#   promise: [row 48]
test_clock_that_is_set_back_by_more_than_the_step_escalates if {
	every now in ["2026-07-01T11:55:00Z", "2026-07-01T12:00:00Z", "2026-07-02T12:00:00Z"] {
		_back(now, _end) == set()
		_back(now, null) == set()
	}
	every now in ["2026-07-01T11:54:59.999999Z", "2026-06-30T12:00:00Z", "1999-01-01T00:00:00Z"] {
		_back(now, _end) == {"clock.back"}
		_back(now, null) == set()
	}
	every step in [null, "300", []] {
		_back("2026-07-01T12:00:00Z", _end) == {"clock.back"} with data.tipstaff.guard.clock_back_minutes as step
	}
	guard.invalid == set() with input as object.union(
		testing.change,
		{"context": object.union(testing.change.context, {"latest": _end})},
	)
	every latest in ["", 5, "soon"] {
		_back("2026-07-01T11:00:00Z", latest) == set()
		verdict := data.tipstaff.decision.verdict with input as object.union(
			testing.change,
			{"context": object.union(testing.change.context, {"latest": latest})},
		)
			with data.tipstaff.bundle as testing.bundle
		testing.assert_verdict(verdict, "escalate", "input.invalid:latest")
	}
}
