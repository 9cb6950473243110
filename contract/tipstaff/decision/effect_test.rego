package tipstaff.decision_test

import data.tipstaff.testing

# METADATA
# custom:
#   req: [E-07]
test_strictest_reason_wins_in_every_order if {
	reasons := [["deny", "a.deny"], ["require_approval", "b.approval"], ["require_approval", "c.approval"]]
	every order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
		org := {concat("", ["p", format_int(place, 10)]): {rule: {{"code": code, "message": "m", "solution": "s"}}} |
			some place, choice in order
			[rule, code] := reasons[choice]
		}
		verdict := _verdict_beside(testing.change, org)
		verdict.effect == "deny"
		verdict.codes == ["a.deny", "b.approval", "c.approval"]
	}
}

# METADATA
# custom:
#   req: [E-07]
test_every_combination_is_as_strict_as_its_strictest if {
	every said, effect in {
		[]: "allow",
		["require_approval"]: "require_approval",
		["escalate"]: "escalate",
		["deny"]: "deny",
		["escalate", "require_approval"]: "escalate",
		["deny", "require_approval"]: "deny",
		["deny", "escalate"]: "deny",
		["deny", "escalate", "require_approval"]: "deny",
	} {
		verdict := _verdict_beside(testing.change, {"freeze": {rule: {sprintf("%s now", [rule])} | some rule in said}})
		verdict.effect == effect
		count(verdict.reasons) == max([1, count(said)])
		verdict.confirmations == object.get({"require_approval": 1}, effect, 0)
	}
}

test_code_of_several_reasons_is_listed_once if {
	verdict := _verdict_beside(testing.change, {"freeze": {"deny": {"one", "two"}}})
	verdict.codes == ["org.freeze"]
	count(verdict.reasons) == 2
	mixed := _verdict_beside(testing.change, {"one": {"deny": {"a"}, "require_approval": {"c"}}, "two": {"escalate": {"b"}}})
	mixed.codes == ["org.one", "org.two"]
}

test_reasons_of_one_strictness_are_in_their_order if {
	document := testing.with_facts(_under("augment", {"autonomy": {"augment": "propose"}}), {"/context/pause": {
		"global": true,
		"user": true,
		"hard": false,
		"switches": {},
	}})
	_verdict(document).codes == ["pause.global", "pause.user", "gate.require_human", "tier.propose"]
}
