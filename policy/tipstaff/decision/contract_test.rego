package tipstaff.decision_test

import data.tipstaff.testing

_contract_with(facts) := testing.with_facts(testing.contract, facts)

test_low_risk_contract_is_a_whole_verdict if {
	verdict := _verdict(testing.contract)
	testing.assert_verdict(verdict, "allow", "contract.low_risk")
	object.filter(verdict, ["kind", "codes", "obligations", "advice"]) == {
		"kind": "contract",
		"codes": ["contract.low_risk"],
		"obligations": [],
		"advice": [],
	}
	verdict.facts.grades == [{"severity": "info", "authority": "widens"}]
}

# METADATA
# custom:
#   req: [C-12]
test_contract_is_answered_by_what_changed_in_it if {
	every case in [
		[{"/evidence/changes": [], "/resource/new_digest": testing.digest("d")}, "allow", "contract.unchanged"],
		[{"/evidence/changes": []}, "deny", "contract.unexplained"],
		[{"/evidence/changes/0/kind": "description_changed"}, "require_approval", "contract.warning"],
		[{"/evidence/changes/0/kind": "tool_removed"}, "require_approval", "contract.breaking"],
		[{"/evidence/changes/0/kind": "name_shadowed"}, "escalate", "contract.deceptive"],
		[{"/evidence/status": "unreachable"}, "escalate", "contract.indeterminate"],
		[{"/evidence/status": "unbaselined"}, "require_approval", "contract.unbaselined"],
		[{"/evidence/status": "incomplete"}, "deny", "contract.not_compared"],
		[{"/evidence/canaries": [{"id": "c1", "outcome": "same"}]}, "allow", "contract.low_risk"],
		[{"/evidence/canaries": [{"id": "c1", "outcome": "not_run"}]}, "escalate", "contract.canary_indeterminate"],
	] {
		[facts, effect, code] := case
		testing.assert_verdict(_verdict(_contract_with(facts)), effect, code)
	}
}

test_missing_facts_of_a_contract_are_escalated if {
	every path, name in {
		"/action/type": "act",
		"/resource/id": "server",
		"/evidence/status": "status",
		"/evidence/changes": "changes",
	} {
		code := concat(":", ["input.missing", name])
		code in _verdict(testing.without(testing.contract, [path])).codes
	}
}

test_facts_of_another_shape_are_escalated if {
	every case in [
		["/action/type", "act", ["", 5, true, ["diff"]]],
		["/resource/id", "server", ["", 5, true, "a\nb"]],
		["/evidence/canaries", "canaries", [{}, "x", [1], [{"id": "c1"}], [{"id": "c1", "outcome": 1}], [{"id": "", "outcome": "same"}]]],
		["/evidence/candidate", "candidate", ["x", {}, {"digest": "e", "server": "weather", "seen_by": null}, {"digest": testing.digest("e"), "server": 1, "seen_by": null}, {"digest": testing.digest("e"), "server": "weather", "seen_by": 1}]],
		["/evidence/canary", "canary", array.concat(["x", {}], [object.union(testing.canary.evidence.canary, facts) | some facts in [{"id": 1}, {"tool": null}, {"words": "x"}, {"stated": []}, {"granted": 1}, {"runs": "8"}, {"distinct": -1}]])],
		["/evidence/status", "status", ["", 5, true, ["compared"]]],
		["/evidence/changes", "changes", [{}, "x", 1, [1], [{"kind": "x"}], [{"kind": 1, "path": ""}], [{"kind": "x", "path": 1}], [{"kind": "x", "path": "", "tool": 1}], [{"kind": "x", "path": "", "words": "delete"}], [{"kind": "x", "path": "", "words": [["delete"]]}], [{"kind": "x", "path": "", "stated": {"destructiveHint": "true"}}], [{"kind": "x", "path": "", "stated": []}]]],
	] {
		[path, name, values] := case
		every value in values {
			verdict := _verdict(_contract_with({path: value}))
			verdict.effect in {"escalate", "deny"}
			concat(":", ["input.invalid", name]) in verdict.codes
		}
	}
}

test_approval_lifts_what_a_person_is_asked_about_and_nothing_else if {
	approved := {"/context/approval": testing.approved}
	broken := _contract_with({"/evidence/changes/0/kind": "tool_removed"})
	testing.assert_verdict(_verdict(testing.with_facts(broken, approved)), "allow", "approval.granted")
	stale := object.union(testing.approved, {"digest": testing.digest("c")})
	doubtful := testing.with_facts(broken, {"/context/approval": stale})
	testing.assert_verdict(_verdict(doubtful), "require_approval", "approval.stale")
	deceptive := _contract_with({"/evidence/changes/0/kind": "name_shadowed"})
	testing.assert_verdict(_verdict(testing.with_facts(deceptive, approved)), "escalate", "contract.deceptive")
}

test_contract_is_judged_by_its_own_rules_only if {
	other := testing.with_facts(testing.contract, {"/kind": "control", "/action": {"type": "approve"}})
	_verdict(other).codes == ["control.granted"]
	_verdict(_contract_with({"/context/pause/global": true})).codes == ["contract.low_risk"]
	_verdict(testing.with_facts(testing.change, {"/evidence/status": "incomplete", "/evidence/changes": []})).effect == "allow"
}

# METADATA
# custom:
#   req: [C-20]
#   promise: ["ahead 2"]
test_acceptance_is_judged_by_its_own_rules if {
	testing.assert_verdict(_verdict(testing.acceptance), "allow", "accept.granted")
	breaking := {"/evidence/changes/0/kind": "name_shadowed"}
	testing.assert_verdict(_verdict(testing.with_facts(testing.acceptance, breaking)), "allow", "accept.granted")
	by_agent := testing.with_facts(testing.acceptance, {"/context/actor/type": "agent"})
	testing.assert_verdict(_verdict(by_agent), "deny", "accept.human_only")
	_verdict(testing.acceptance).facts.severity == "info"
}

test_call_is_judged_by_its_own_rules if {
	testing.assert_verdict(_verdict(testing.canary), "allow", "canary.granted")
	_verdict(testing.canary).facts == {"runs": 8}
	unknown := testing.with_facts(testing.canary, {"/evidence/canary/stated": {}})
	testing.assert_verdict(_verdict(unknown), "deny", "canary.needs_grant")
	unstable := testing.with_facts(testing.canary, {"/evidence/canary/runs": 8, "/evidence/canary/distinct": 3})
	testing.assert_verdict(_verdict(unstable), "require_approval", "canary.unstable")
	measured := testing.with_facts(testing.canary, {"/evidence/canary/runs": 8, "/evidence/canary/distinct": 1})
	testing.assert_verdict(_verdict(measured), "allow", "canary.granted")
}

test_act_that_nobody_knows_is_refused if {
	testing.assert_verdict(_verdict(_contract_with({"/action/type": "update"})), "deny", "contract.act_unknown")
}
