package org.window_test

import data.org.window

_denied(now) if {
	count(window.deny) == 1 with input as {"kind": "change", "context": {"now": now}}
}

test_change_in_the_window_is_denied if {
	_denied("2026-12-23T17:00:00Z")
	_denied("2026-12-23T17:00:00.000001Z")
	_denied("2027-01-04T07:59:59.999999Z")
}

test_change_outside_the_window_is_not_denied if {
	not _denied("2026-12-23T16:59:59.999999Z")
	not _denied("2027-01-04T08:00:00Z")
}

test_control_act_in_the_window_is_not_denied if {
	count(window.deny) == 0 with input as {"kind": "control", "context": {"now": "2026-12-25T00:00:00Z"}}
}
