package tipstaff.decision_test

import data.tipstaff.testing

_proposed := _under("augment", null)

_approved(document, facts) := testing.with_facts(document, {"/context/approval": object.union(testing.approved, facts)})

_paused(document, state) := testing.with_facts(document, {"/context/pause": object.union(
	{"global": false, "user": false, "hard": false, "switches": {}},
	state,
)})

# METADATA
# custom:
#   req: [AP-10]
test_approved_change_is_allowed_once_as_it_is if {
	verdict := _verdict(_approved(_proposed, {}))
	testing.assert_verdict(verdict, "allow", "approval.granted")
	verdict.codes == ["approval.granted"]
	verdict.obligations == [{"id": "open_pull_request", "draft": false}]
	sort(verdict.facts.lifted) == ["gate.require_human", "tier.propose"]
	verdict.matched_rules == [
		"tipstaff.approval.grant#approval.granted",
		"tipstaff.autonomy.require_approval#tier.propose",
		"tipstaff.gates.require_approval#gate.require_human",
	]
}

# METADATA
# custom:
#   req: [AP-08, AP-10]
test_doubtful_approval_is_asked_about_anew if {
	every case in [
		[{"digest": testing.digest("c")}, "approval.stale"],
		[{"status": "consumed"}, "approval.consumed"],
		[{"expires_at": "2026-07-01T12:00:00Z"}, "approval.expired"],
		[{"decided_by": {"id": "bob@desk", "type": "agent"}}, "approval.human_only"],
		[{"confirmations": 0}, "approval.confirmations"],
	] {
		[facts, code] := case
		verdict := _verdict(_approved(_proposed, facts))
		testing.assert_verdict(verdict, "require_approval", code)
		testing.assert_verdict(verdict, "require_approval", "tier.propose")
		verdict.facts.lifted == []
	}
}

test_doubtful_approval_is_a_doubt_at_any_tier if {
	verdict := _verdict(_approved(testing.change, {"digest": testing.digest("c")}))
	testing.assert_verdict(verdict, "require_approval", "approval.stale")
}

# METADATA
# custom:
#   req: [AP-05]
test_own_approval_is_no_approval_with_four_eyes if {
	own := {"decided_by": {"id": "alice@laptop", "type": "human"}}
	four := _under("augment", {"approvals": {"four_eyes": true}})
	testing.assert_verdict(_verdict(_approved(four, own)), "require_approval", "approval.four_eyes")
	testing.assert_verdict(_verdict(_approved(four, {})), "allow", "approval.granted")
	testing.assert_verdict(_verdict(_approved(_proposed, own)), "allow", "approval.granted")
}

# METADATA
# custom:
#   req: [AP-10]
test_approval_lifts_neither_escalate_nor_deny if {
	every case in [
		[{"escalate": {"tell"}}, "escalate"],
		[{"deny": {"no"}}, "deny"],
		[{"require_approval": {"ask"}}, "allow"],
	] {
		[rules, effect] := case
		verdict := _verdict_beside(_approved(_proposed, {}), {"freeze": rules})
		testing.assert_verdict(verdict, effect, "")
	}
	off := _approved(_under("augment", {"autonomy": {"augment": "off"}}), {})
	testing.assert_verdict(_verdict(off), "deny", "tier.off")
}

# METADATA
# custom:
#   req: [AP-11]
test_two_confirmations_are_needed_where_a_rule_says if {
	org := {"freeze": {"require_approval": {
		{"code": "freeze.one", "message": "m", "solution": "s", "confirmations": 1},
		{"code": "freeze.two", "message": "m", "solution": "s", "confirmations": 2},
	}}}
	asked := _verdict_beside(_proposed, org)
	asked.confirmations == 2
	{duty.confirmations | some duty in asked.obligations; duty.id == "request_approval"} == {2}
	every case in [[1, "require_approval"], [2, "allow"], [3, "allow"]] {
		[confirmations, effect] := case
		verdict := _verdict_beside(_approved(_proposed, {"confirmations": confirmations}), org)
		testing.assert_verdict(verdict, effect, "")
		count([1 | "approval.confirmations" in verdict.codes]) == count([1 | effect != "allow"])
	}
}

# METADATA
# custom:
#   req: [AP-11, E-11]
test_confirmations_of_another_type_are_none if {
	every confirmations in ["2", 2.5, null, true, [], {}, -1, 1.0] {
		verdict := _verdict(_approved(_proposed, {"confirmations": confirmations}))
		testing.assert_verdict(verdict, "escalate", "input.invalid:approval")
	}
	every confirmations in ["2", null, true, [], {}, -1, 0] {
		codes := _verdict(_approved(_proposed, {"confirmations": confirmations})).codes
		"approval.confirmations" in codes
	}
	"approval.confirmations" in _verdict(testing.without(_approved(_proposed, {}), ["/context/approval/confirmations"])).codes
}

# METADATA
# custom:
#   req: [AP-08, AP-11]
test_request_for_approval_says_its_terms if {
	request := {
		"id": "request_approval",
		"urgency": "normal",
		"ttl_s": 86400,
		"confirmations": 1,
		"confirm_within_s": 600,
	}
	verdict := _verdict(_proposed)
	verdict.obligations == [request, {"id": "open_pull_request", "draft": true}]
	verdict.confirmations == 1
	every urgency, ttl_s in {"immediate": 900, "normal": 86400, "low": 259200, "someday": 86400} {
		urgent := _verdict(_proposed) with data.tipstaff.approval.urgency as {"augment": urgency}
		urgent.obligations[0] == object.union(request, {"urgency": urgency, "ttl_s": ttl_s})
	}
	control := _verdict_beside(testing.control, {"freeze": {"require_approval": {"ask"}}})
	control.obligations == [request]
}

# METADATA
# custom:
#   req: [PA-01, PA-04]
test_pause_makes_what_is_allowed_wait if {
	every state, code in {{"global": true}: "pause.global", {"user": true}: "pause.user", {"global": null}: "pause.unknown"} {
		verdict := _verdict(_paused(testing.change, state))
		testing.assert_verdict(verdict, "require_approval", code)
		verdict.codes == [code]
	}
	testing.assert_verdict(_verdict(_paused(testing.change, {})), "allow", "")
}

# METADATA
# custom:
#   req: [PA-02]
test_pause_loosens_nothing if {
	every case in [[{"deny": {"no"}}, "deny"], [{"escalate": {"tell"}}, "escalate"]] {
		[rules, effect] := case
		verdict := _verdict_beside(_paused(testing.change, {"global": true, "user": true}), {"freeze": rules})
		testing.assert_verdict(verdict, effect, "pause.global")
	}
	org := {"freeze": {"require_approval": {{"code": "freeze.two", "message": "m", "solution": "s", "confirmations": 2}}}}
	_verdict_beside(_paused(testing.change, {"global": true}), org).confirmations == 2
	_verdict(_paused(testing.change, {"global": true, "user": true})).codes[0] == "pause.global"
}

# METADATA
# custom:
#   req: [PA-04]
test_approved_change_is_allowed_under_a_soft_pause if {
	testing.assert_verdict(_verdict(_approved(_paused(_proposed, {"global": true}), {})), "allow", "approval.granted")
	hard := _verdict(_approved(_paused(_proposed, {"global": true, "hard": true}), {}))
	testing.assert_verdict(hard, "require_approval", "pause.global")
	hard.codes == ["pause.global"]
}

# METADATA
# custom:
#   req: [PA-01]
test_pause_is_no_matter_to_a_persons_act if {
	testing.assert_verdict(_verdict(_paused(testing.control, {"global": true})), "allow", "control.granted")
}

test_clamp_of_a_refused_change_is_still_recorded if {
	document := testing.with_facts(
		testing.change_under(
			{"autonomy": {"augment": "off"}},
			{"schema_version": 1, "autonomy": {"augment": "propose"}},
		),
		{"/action/class": "augment"},
	)
	verdict := _verdict(document)
	testing.assert_verdict(verdict, "deny", "tier.off")
	verdict.obligations == [{"id": "record_clamp", "action_class": "augment", "requested": "propose", "ceiling": "off"}]
	[reason.code | some reason in verdict.advice] == ["tier.blocked_by_ceiling"]
}

test_obligation_of_an_overlay_is_in_the_verdict if {
	verdict := _verdict_beside(testing.change, {"freeze": {"obligations": {{"id": "notify"}}}})
	{duty.id | some duty in verdict.obligations} == {"notify", "open_pull_request"}
}
