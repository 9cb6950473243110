package tipstaff.overlay_test

import data.tipstaff.overlay
import data.tipstaff.testing

_reason := {"code": "freeze.on", "message": "no changes today", "solution": "wait"}

_empty := {"deny": set(), "escalate": set(), "require_approval": set(), "obligations": set()}

_said(org) := {"deny": deny, "escalate": escalate, "require_approval": require, "obligations": obligations} if {
	deny := testing.codes(overlay.deny) with data.org as org
	escalate := testing.codes(overlay.escalate) with data.org as org
	require := testing.codes(overlay.require_approval) with data.org as org
	obligations := overlay.obligations with data.org as org
}

_malformed(org) := codes if {
	codes := testing.codes(overlay.deny) with data.org as org
}

test_no_overlay_says_nothing if {
	_said({}) == _empty
	_said({"bundle": {"revision": "r", "data_digest": "d"}, "freeze": {"limits": {"deny": 5}}}) == _empty
	overlay.deny == set()
}

test_empty_rules_of_an_overlay_say_nothing if {
	every entries in [set(), []] {
		org := {"freeze": {"deny": entries, "escalate": entries, "require_approval": entries, "obligations": entries}}
		_said(org) == _empty
	}
}

test_reason_of_an_overlay_is_reported if {
	every rule in ["deny", "escalate", "require_approval"] {
		every entries in [{_reason}, [_reason]] {
			_said({"freeze": {rule: entries}}) == object.union(_empty, {rule: {"freeze.on"}})
		}
	}
}

test_reason_of_an_overlay_is_whole if {
	overlay.deny == {object.union(_reason, {
		"rule": "org.freeze.deny",
		"confirmations": 1,
		"order": 50,
	})} with data.org as {"freeze": {"deny": {_reason}}}
	given := object.union(_reason, {"rule": "org.freeze.deny#on", "confirmations": 2, "order": 1, "more": true})
	overlay.escalate == {object.union(_reason, {
		"rule": "org.freeze.deny#on",
		"confirmations": 2,
		"order": 50,
	})} with data.org as {"freeze": {"escalate": {given}}}
}

test_text_of_an_overlay_is_a_reason if {
	overlay.require_approval == {{
		"code": "org.freeze",
		"message": "no changes today",
		"rule": "org.freeze.require_approval",
		"solution": "ask the owners of the overlay package org.freeze",
		"confirmations": 1,
		"order": 50,
	}} with data.org as {"freeze": {"require_approval": ["no changes today"]}}
}

test_every_package_of_an_overlay_is_read if {
	org := {"one": {"deny": ["a"]}, "two": {"deny": ["b"], "escalate": {_reason}}}
	_said(org) == object.union(_empty, {"deny": {"org.one", "org.two"}, "escalate": {"freeze.on"}})
}

test_obligation_of_an_overlay_is_passed_on if {
	duty := {"id": "notify", "to": "team"}
	_said({"freeze": {"obligations": {duty}}}) == object.union(_empty, {"obligations": {duty}})
}

test_rule_that_is_no_collection_is_malformed if {
	every rule in ["deny", "escalate", "require_approval", "obligations"] {
		every value in [true, false, null, "no", "", 1, {}, {"a": _reason}] {
			"overlay.malformed:freeze" in _malformed({"freeze": {rule: value}})
		}
	}
}

test_entry_that_is_no_reason_is_malformed if {
	every rule in ["escalate", "require_approval"] {
		_malformed({"freeze": {rule: {""}}}) == {"overlay.malformed:freeze"}
		every entry in [
			5,
			null,
			true,
			[],
			{},
			{"no"},
			["no"],
			object.remove(_reason, ["code"]),
			object.remove(_reason, ["message"]),
			object.remove(_reason, ["solution"]),
			object.union(_reason, {"code": ""}),
			object.union(_reason, {"code": 5}),
			object.union(_reason, {"code": "a\nb"}),
			object.union(_reason, {"code": concat("", [testing.digest("a") | some _ in numbers.range(1, 4)])}),
			object.union(_reason, {"message": ""}),
			object.union(_reason, {"message": null}),
			object.union(_reason, {"solution": ["wait"]}),
			object.union(_reason, {"rule": 5}),
			object.union(_reason, {"rule": ""}),
			object.union(_reason, {"confirmations": 0}),
			object.union(_reason, {"confirmations": 3}),
			object.union(_reason, {"confirmations": "2"}),
			object.union(_reason, {"confirmations": null}),
		] {
			_said({"freeze": {rule: {entry}}}) == object.union(_empty, {"deny": {"overlay.malformed:freeze"}})
			_malformed({"freeze": {rule: [_reason, entry]}}) == {"overlay.malformed:freeze"}
		}
	}
}

test_longest_code_of_an_overlay_is_still_a_code if {
	code := substring(concat("", [testing.digest("a") | some _ in numbers.range(1, 4)]), 0, 200)
	_malformed({"freeze": {"escalate": {object.union(_reason, {"code": code})}}}) == set()
	longer := concat("", [code, "a"])
	_malformed({"freeze": {"escalate": {object.union(_reason, {"code": longer})}}}) == {"overlay.malformed:freeze"}
}

test_code_that_is_not_an_overlays_is_malformed if {
	every code in [
		"approval.granted",
		"bundle.mismatch:org",
		"decision.no_grant",
		"engine.timeout",
		"explanation.unpersisted",
		"input.missing:class",
		"obligation.unknown",
		"overlay.malformed",
	] {
		_malformed({"freeze": {"escalate": {object.union(_reason, {"code": code})}}}) == {"overlay.malformed:freeze"}
	}
}

test_well_formed_entries_beside_a_malformed_one_count if {
	org := {"freeze": {"deny": [_reason, 5]}}
	_malformed(org) == {"freeze.on", "overlay.malformed:freeze"}
}

test_obligation_that_is_none_is_malformed if {
	every entry in ["notify", 5, null, {}, {"id": 5}, {"id": null}, {"name": "notify"}, ["id"]] {
		_malformed({"freeze": {"obligations": [entry]}}) == {"overlay.malformed:freeze"}
	}
}

test_obligation_that_is_not_an_overlays_is_malformed if {
	every id in ["open_pull_request", "request_approval", "record_clamp"] {
		entries := [{"id": "notify"}, {"id": id, "draft": false}]
		_malformed({"freeze": {"obligations": entries}}) == {"overlay.malformed:freeze"}
	}
}

test_rule_where_nobody_reads_it_is_malformed if {
	every rule in ["deny", "escalate", "require_approval", "obligations"] {
		every entries in [{"no"}, set(), {_reason}] {
			_malformed({rule: entries}) == {concat(":", ["overlay.malformed", rule])}
			_malformed({"a": {"b": {rule: entries}}}) == {concat("", ["overlay.malformed:a.b.", rule])}
			_malformed({"a": {"b": {"c": {rule: entries}}}}) == {concat("", ["overlay.malformed:a.b.c.", rule])}
		}
	}
}

test_helper_with_a_rules_name_is_not_malformed if {
	_malformed({"freeze": {"limits": {"deny": 5, "escalate": ["x"]}, "names": {"deny", "x"}}}) == set()
	_malformed({"freeze": {"escalate": {"deny"}}}) == set()
	_malformed({"deny": {"limits": {1}}}) == set()
	_malformed({"freeze": {"groups": {"team": {"deny", "x"}, "list": [{"deny": {1}}]}}}) == set()
}

test_text_alone_is_a_reason_of_the_rule_that_holds_it if {
	every rule in ["deny", "escalate", "require_approval"] {
		reasons := data.tipstaff.overlay[rule] with data.org as {"freeze": {rule: {"no changes"}}}
		{reason.rule | some reason in reasons} == {concat(".", ["org.freeze", rule])}
	}
}
