package tipstaff.waivers_test

import data.tipstaff.waivers

_finding := {"code": "convention.format", "severity": "error", "file": "policy/org/a/a.rego", "line": 3, "message": "m"}

_waiver := {"code": "convention.format", "owner": "alice", "reason": "it goes", "expires": "2027-01-31"}

_report(findings, given, now) := report if {
	report := waivers.report with input as {
		"now": now,
		"scope": "policy",
		"file": "waivers.yaml",
		"findings": findings,
		"waivers": given,
	}
}

_codes(report) := {"findings": [one.code | some one in report.findings], "waived": [one.code | some one in report.waived]}

_asked(given, now) := _codes(_report([_finding], given, now))

_counts(more) := {"findings": array.concat(["convention.format"], more), "waived": []}

_waived := {"findings": [], "waived": ["convention.format"]}

test_finding_without_a_waiver_counts if {
	_report([_finding], [], "2027-01-01T00:00:00Z") == {"findings": [_finding], "waived": []}
	_report([], [], "2027-01-01T00:00:00Z") == {"findings": [], "waived": []}
}

test_finding_that_lacks_a_place_is_completed if {
	_report([{"code": "tier.x"}], [], "2027-01-01T00:00:00Z").findings == [{
		"code": "tier.x",
		"severity": "error",
		"file": null,
		"line": null,
	}]
}

test_waived_finding_stays_visible_with_owner_reason_and_expiry if {
	_report([_finding], [_waiver], "2027-01-01T00:00:00Z") == {"findings": [], "waived": [object.union(_finding, {"waiver": {
		"owner": "alice",
		"reason": "it goes",
		"expires": "2027-01-31",
	}})]}
}

test_waiver_holds_through_its_day_and_not_longer if {
	_asked([_waiver], "2027-01-31T23:59:59.999999Z") == _waived
	_asked([_waiver], "2027-02-01T00:00:00Z") == _counts(["waiver.expired"])
	_asked([_waiver], "2028-01-01T00:00:00Z") == _counts(["waiver.expired"])
}

test_waiver_that_is_over_says_so_also_where_it_has_nothing_to_waive if {
	_codes(_report([], [_waiver], "2028-01-01T00:00:00Z")) == {"findings": ["waiver.expired"], "waived": []}
	_codes(_report([], [_waiver], "2027-01-01T00:00:00Z")) == {"findings": ["waiver.unused"], "waived": []}
}

test_trouble_with_a_waiver_is_a_finding_in_its_file if {
	_report([], [_waiver], "2028-01-01T00:00:00Z").findings == [{
		"code": "waiver.expired",
		"severity": "error",
		"file": "waivers.yaml",
		"line": null,
		"message": "the waiver of convention.format in every file by alice, which expires on 2027-01-31 is over",
		"solution": "correct what it set aside and remove it from waivers.yaml, or have its owner answer for it anew",
		"rule": "tipstaff.waivers.findings#waiver.expired",
	}]
	[unused] := _report([], [object.union(_waiver, {"path": "x"})], "2027-01-01T00:00:00Z").findings
	unused.severity == "note"
	contains(unused.message, "in x by alice")
}

test_waiver_of_another_code_or_path_is_unused if {
	every other in [{"code": "convention.type"}, {"path": "policy/*.rego"}, {"path": "policy/org/b/*"}] {
		_asked([object.union(_waiver, other)], "2027-01-01T00:00:00Z") == _counts(["waiver.unused"])
	}
}

test_path_of_a_waiver_is_a_glob if {
	every path in ["policy/org/a/a.rego", "policy/org/*/*.rego", "policy/**"] {
		_asked([object.union(_waiver, {"path": path})], "2027-01-01T00:00:00Z") == _waived
	}
}

test_waiver_with_a_path_leaves_findings_without_a_file_alone if {
	placeless := object.union(_finding, {"file": null})
	given := [object.union(_waiver, {"path": "**"})]
	_codes(_report([placeless], given, "2027-01-01T00:00:00Z")) == _counts(["waiver.unused"])
	_codes(_report([placeless], [_waiver], "2027-01-01T00:00:00Z")) == _waived
}

test_two_waivers_of_one_finding_are_fine if {
	second := object.union(_waiver, {"owner": "bob", "expires": "2027-06-30"})
	_asked([_waiver, second], "2027-01-01T00:00:00Z") == _waived
	_asked([_waiver, second], "2027-03-01T00:00:00Z") == {"findings": ["waiver.expired"], "waived": ["convention.format"]}
	_report([_finding], [_waiver, second], "2027-03-01T00:00:00Z").waived[0].waiver.owner == "bob"
}

test_waiver_of_what_another_command_finds_is_left_alone if {
	other := object.union(_waiver, {"code": "overlay.not_signed"})
	_asked([other], "2027-01-01T00:00:00Z") == _counts([])
	_asked([other], "2028-01-01T00:00:00Z") == _counts([])
	_codes(waivers.report) == {"findings": ["waiver.unused"], "waived": []} with input as {
		"now": "2027-01-01T00:00:00Z",
		"scope": "configuration",
		"file": "waivers.yaml",
		"findings": [],
		"waivers": [other, _waiver],
	}
}

test_trouble_with_a_waiver_cannot_be_waived if {
	itself := object.union(_waiver, {"code": "waiver.unused"})
	_codes(waivers.report) == {"findings": ["waiver.unused", "waiver.unused"], "waived": []} with input as {
		"now": "2027-01-01T00:00:00Z",
		"scope": "configuration",
		"file": "waivers.yaml",
		"findings": [],
		"waivers": [itself, object.union(_waiver, {"code": "tier.x"})],
	}
}

test_waiver_whose_time_is_no_text_does_not_hold_for_ever if {
	_asked([object.union(_waiver, {"expires": null})], "2027-01-01T00:00:00Z") == _counts(["waiver.expired"])
	_codes(_report([_finding], [_waiver], null)) == _counts(["waiver.expired"])
}
