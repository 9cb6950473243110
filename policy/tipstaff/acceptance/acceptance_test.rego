package tipstaff.acceptance_test

import data.tipstaff.acceptance
import data.tipstaff.testing

_said(document) := {"deny": testing.codes(denied), "grant": testing.codes(granted)} if {
	denied := acceptance.deny with input as document
	granted := acceptance.grant with input as document
}

_with(facts) := testing.with_facts(testing.acceptance, facts)

_granted := {"deny": set(), "grant": {"accept.granted"}}

# METADATA
# custom:
#   req: [C-20]
#   promise: ["ahead 2"]
test_person_accepts_the_bytes_that_were_shown if {
	_said(testing.acceptance) == _granted
	first := _with({"/evidence/status": "unbaselined", "/resource/old_digest": null})
	_said(first) == _granted
	_said(testing.without(first, ["/resource/old_digest"])) == _granted
}

# METADATA
# custom:
#   promise: ["ahead 2", "BR-04"]
test_nobody_but_a_person_accepts if {
	every type in ["agent", "ci", "Human", "", true, ["human"]] {
		_said(_with({"/context/actor/type": type})) == {"deny": {"accept.human_only"}, "grant": set()}
	}
	_said(_with({"/context/actor/type": null})) == {"deny": set(), "grant": set()}
	_said(testing.without(testing.acceptance, ["/context/actor/type"])) == {"deny": set(), "grant": set()}
}

test_other_bytes_are_refused if {
	every facts in [
		{"/evidence/candidate/digest": testing.digest("f")},
		{"/evidence/candidate/server": "other"},
		{"/evidence/candidate": null},
		{"/resource/new_digest": null, "/evidence/candidate/digest": null},
	] {
		_said(_with(facts)) == {"deny": {"accept.other_bytes"}, "grant": set()}
	}
	_said(testing.without(testing.acceptance, ["/evidence/candidate"])).deny == {"accept.other_bytes"}
	{reason.message | some reason in acceptance.deny} == {sprintf("no snapshot with the digest %s was looked at here", [testing.digest("e")])} with input as _with({"/evidence/candidate": null})
}

# METADATA
# custom:
#   promise: ["row 115"]
test_baseline_that_cannot_be_read_is_not_moved if {
	every facts in [
		{"/evidence/status": "unreadable", "/resource/old_digest": null},
		{"/evidence/status": "foreign"},
		{"/evidence/status": "unbaselined"},
		{"/evidence/status": "compared", "/resource/old_digest": null},
		{"/evidence/status": null},
	] {
		_said(_with(facts)) == {"deny": {"accept.baseline"}, "grant": set()}
	}
}

test_four_eyes_asks_for_another_person_than_who_had_it_observed if {
	four_eyes := {"/context/config/team": {"schema_version": 1, "approvals": {"four_eyes": true}}}
	document := _with(four_eyes)
	_said(document) == {"deny": {"accept.four_eyes"}, "grant": {"accept.granted"}}
	_said(testing.with_facts(document, {"/evidence/candidate/seen_by": "bob@desk"})) == _granted
	every nobody in [null, 5, "alice@desk", "Alice@elsewhere"] {
		_said(testing.with_facts(document, {"/evidence/candidate/seen_by": nobody})).deny == {"accept.four_eyes"}
	}
}

test_hard_pause_stops_it_and_a_soft_one_does_not if {
	_said(_with({"/context/pause/global": true})) == _granted
	_said(_with({"/context/pause/global": true, "/context/pause/hard": true})).deny == {"accept.paused"}
	_said(_with({"/context/pause/global": null, "/context/pause/hard": true})).deny == {"accept.paused"}
}
