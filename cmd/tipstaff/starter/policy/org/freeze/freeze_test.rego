package org.freeze_test

import data.org.freeze

_change := {"kind": "change", "context": {"now": "2027-01-01T09:00:00Z"}}

test_change_on_a_freeze_day_is_denied if {
	count(freeze.deny) == 1 with input as _change with freeze.days as {"2027-01-01"}
}

test_change_on_another_day_is_not_denied if {
	count(freeze.deny) == 0 with input as _change with freeze.days as {"2027-01-02"}
}

test_control_act_on_a_freeze_day_is_not_denied if {
	act := object.union(_change, {"kind": "control"})
	count(freeze.deny) == 0 with input as act with freeze.days as {"2027-01-01"}
}

test_each_day_is_a_date if {
	every day in freeze.days {
		time.parse_ns("2006-01-02", day)
	}
}
