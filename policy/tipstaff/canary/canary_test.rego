package tipstaff.canary_test

import data.tipstaff.canary
import data.tipstaff.testing

_said(document) := {
	"deny": testing.codes(denied),
	"require_approval": testing.codes(held),
	"grant": testing.codes(granted),
} if {
	denied := canary.deny with input as document
	held := canary.require_approval with input as document
	granted := canary.grant with input as document
}

_with(facts) := testing.with_facts(testing.canary, facts)

_granted := {"deny": set(), "require_approval": set(), "grant": {"canary.granted"}}

test_tool_that_only_reads_may_be_called if {
	_said(testing.canary) == _granted
	_said(_with({"/action/type": "call"})) == _granted
	_said(_with({"/context/actor/type": "ci"})) == _granted
}

# METADATA
# custom:
#   promise: ["BR-09", "row 113"]
test_tool_that_may_change_something_takes_a_grant if {
	every facts in [
		{"/evidence/canary/stated": {}},
		{"/evidence/canary/stated/readOnlyHint": false},
		{"/evidence/canary/stated": {"destructiveHint": false}},
		{"/evidence/canary/stated/destructiveHint": true},
		{"/evidence/canary/words": ["station", "deletes"]},
	] {
		every act in ["canary", "call"] {
			document := testing.with_facts(_with(facts), {"/action/type": act})
			_said(document).deny == {"canary.needs_grant"}
			_said(testing.with_facts(document, {"/evidence/canary/granted": true})) == _granted
			_said(testing.with_facts(document, {"/evidence/canary/granted": "true"})).deny == {"canary.needs_grant"}
			_said(testing.without(document, ["/evidence/canary/granted"])).deny == {"canary.needs_grant"}
		}
	}
	every hints in [{"readOnlyHint": true, "other": true}, {"other": true, "readOnlyHint": true}] {
		_said(testing.canary).deny == {"canary.needs_grant"} with data.tipstaff.canary.harmless_hints as hints
	}
}

test_tool_of_unknown_words_or_hints_takes_a_grant if {
	every path in ["/evidence/canary/words", "/evidence/canary/stated"] {
		_said(testing.without(testing.canary, [path])).deny == {"canary.needs_grant"}
	}
}

test_grant_is_a_persons if {
	granted := _with({"/evidence/canary/granted": true})
	_said(granted) == _granted
	every type in ["agent", "ci", "", null] {
		document := testing.with_facts(granted, {"/context/actor/type": type})
		_said(document).deny == {"canary.grant_human_only"}
		_said(testing.with_facts(document, {"/action/type": "call"})) == _granted
	}
}

# METADATA
# custom:
#   req: [C-15]
test_canary_is_kept_after_eight_answers_that_are_one if {
	_said(_with({"/evidence/canary/runs": 8, "/evidence/canary/distinct": 1})) == _granted
	_said(_with({"/evidence/canary/runs": 7, "/evidence/canary/distinct": 1})).deny == {"canary.too_few_runs"}
	_said(_with({"/action/type": "call", "/evidence/canary/runs": 2, "/evidence/canary/distinct": 1})) == _granted
	_said(_with({"/action/type": "call", "/evidence/canary/runs": 1, "/evidence/canary/distinct": 1})) == _granted
	_said(_with({"/evidence/canary/runs": 8, "/evidence/canary/distinct": "2"})).require_approval == set()
	unstable := _with({"/evidence/canary/runs": 8, "/evidence/canary/distinct": 2})
	_said(unstable).require_approval == {"canary.unstable"}
	{reason.message | some reason in canary.require_approval} == {"get_forecast answers the same call differently each time"} with input as unstable
}

test_rules_say_how_often_a_call_is_made if {
	every act, runs in {"canary": 8, "call": 2, "diff": 0, "": 0} {
		canary.report == {"runs": runs} with input as _with({"/action/type": act})
	}
	canary.report == {"runs": 0} with input as testing.without(testing.canary, ["/action/type"])
}

test_call_of_nothing_is_not_granted if {
	every facts in [{"/evidence/canary": null}, {"/evidence/canary/tool": null}] {
		_said(_with(facts)).grant == set()
	}
}
