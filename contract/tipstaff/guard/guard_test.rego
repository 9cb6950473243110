package tipstaff.guard_test

import data.tipstaff.guard
import data.tipstaff.testing

_denied(document) := codes if {
	codes := testing.codes(guard.deny) with input as document with data.tipstaff.bundle as testing.bundle
}

_denied_beside(document, org) := codes if {
	codes := testing.codes(guard.deny) with input as document
		with data.tipstaff.bundle as testing.bundle
		with data.org as org
}

_escalated(document) := codes if {
	codes := testing.codes(guard.escalate) with input as document with data.tipstaff.bundle as testing.bundle
}

test_whole_documents_pass if {
	every document in [testing.change, testing.control, testing.change_with({"/context/approval": testing.approved})] {
		_denied(document) == set()
		_escalated(document) == set()
	}
}

# METADATA
# custom:
#   req: [E-04]
test_kind_that_nobody_judges_is_refused if {
	every case in [["x", "x"], ["Change", "Change"], ["", ""], ["every", "every"], [null, "null"], [5, "5"], [["change"], `["change"]`]] {
		[kind, shown] := case
		_denied(testing.change_with({"/kind": kind})) == {concat(":", ["input.kind_unknown", shown])}
	}
	_denied(testing.without(testing.change, ["/kind"])) == {"input.kind_unknown:null"}
}

test_another_schema_version_is_refused if {
	every version in [0, 2, 1.5, "1", null, true, [], {}] {
		_denied(testing.change_with({"/schema_version": version})) == {"input.schema_version"}
	}
	_denied(testing.without(testing.change, ["/schema_version"])) == {"input.schema_version"}
}

test_another_revision_is_refused if {
	every revision in ["other", "", null, 5, ["example"]] {
		_denied(testing.change_with({"/context/bundles/tipstaff": revision})) == {"bundle.mismatch:tipstaff"}
	}
	every path in ["/context/bundles/tipstaff", "/context/bundles", "/context"] {
		_denied(testing.without(testing.change, [path])) == {"bundle.mismatch:tipstaff"}
	}
}

test_bundle_without_a_revision_is_refused if {
	every bundle in [{}, {"revision": ""}, {"revision": null}, {"revision": false}, "example", null] {
		every expected in ["example", "", null, false] {
			codes := testing.codes(guard.deny) with data.tipstaff.bundle as bundle
				with input as testing.change_with({"/context/bundles/tipstaff": expected})
			codes == {"bundle.mismatch:tipstaff"}
		}
	}
	testing.assert_codes(guard.deny, {"bundle.mismatch:tipstaff"}) with input as testing.change
}

test_overlay_of_the_expected_revision_passes if {
	expecting := testing.change_with({"/context/bundles/org": "r1"})
	_denied_beside(expecting, {"bundle": {"revision": "r1"}}) == set()
	_denied_beside(testing.change, {"freeze": {"deny": set()}}) == set()
	signed := testing.with_facts(expecting, {"/context/config/team/policy": {"public_key": "k"}})
	_denied_beside(signed, {"bundle": {"revision": "r1"}}) == set()
}

test_overlay_of_another_revision_is_refused if {
	every case in [["r1", {"revision": "r2"}], ["", {"revision": ""}], [5, {"revision": 5}], [null, {"revision": "r1"}]] {
		[expected, bundle] := case
		document := testing.change_with({"/context/bundles/org": expected})
		_denied_beside(document, {"bundle": bundle}) == {"bundle.mismatch:org"}
	}
	every bundle in [{}, null, "r1"] {
		_denied_beside(testing.change, {"bundle": bundle}) == {"bundle.mismatch:org"}
	}
}

test_expected_overlay_that_is_absent_is_refused if {
	missing := testing.change_with({"/context/bundles/org": "r1"})
	every org in [{}, {"freeze": {"deny": set()}}, {"bundle": {}}] {
		_denied_beside(missing, org) == {"bundle.mismatch:org", "bundle.missing:org"}
	}
	_denied(missing) == {"bundle.mismatch:org", "bundle.missing:org"}
	signed := testing.change_with({"/context/config/team/policy": {"public_key": "k"}})
	_denied(signed) == {"bundle.missing:org"}
	_denied(testing.change_with({"/context/config/team/policy": {"public_key": null}})) == set()
}

# METADATA
# custom:
#   req: [E-04]
test_missing_fact_is_escalated_by_its_name if {
	every kind, document in {"change": testing.change, "control": testing.control} {
		needed := object.union(data.tipstaff.guard.needed.every, data.tipstaff.guard.needed[kind])
		every name, path in needed {
			code := concat(":", ["input.missing", name])
			pointer := concat("/", array.concat([""], path))
			code in _escalated(testing.without(document, [pointer]))
			_escalated(testing.with_facts(document, {pointer: null})) == {code}
		}
	}
}

# METADATA
# custom:
#   req: [E-04]
test_every_missing_fact_is_escalated_at_once if {
	bare := {"schema_version": 1, "kind": "control"}
	_escalated(bare) == {
		"input.missing:act",
		"input.missing:actor",
		"input.missing:actor_id",
		"input.missing:config",
		"input.missing:decision_id",
		"input.missing:judged_sha256",
		"input.missing:now",
		"input.missing:pause",
		"input.missing:resource",
		"input.missing:subject",
	}
}
