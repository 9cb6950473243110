package tipstaff.control_test

import data.tipstaff.control
import data.tipstaff.testing

_said(facts) := {"grant": testing.codes(granted), "deny": testing.codes(refused)} if {
	document := testing.with_facts(testing.control, facts)
	granted := control.grant with input as document
	refused := control.deny with input as document
}

# METADATA
# custom:
#   req: [PA-06, AP-04]
test_person_is_granted_every_known_act if {
	every act in ["approve", "policy accept", "policy rollback", "reject", "restart", "resume"] {
		_said({"/action/type": act}) == {"grant": {"control.granted"}, "deny": set()}
	}
}

# METADATA
# custom:
#   req: [PA-06, AP-04]
test_agent_and_ci_are_refused_every_act if {
	every act in ["approve", "policy accept", "policy rollback", "reject", "restart", "resume"] {
		every type in ["agent", "ci", "Human", "human ", "", true, ["human"], {"human": "human"}] {
			_said({"/action/type": act, "/context/actor/type": type}) == {
				"grant": set(),
				"deny": {"control.human_only"},
			}
		}
	}
}

test_actor_of_no_type_is_not_granted if {
	_said({"/context/actor/type": null}) == {"grant": set(), "deny": set()}
	document := testing.without(testing.control, ["/context/actor/type"])
	testing.assert_codes(control.deny, set()) with input as document
	testing.assert_codes(control.grant, set()) with input as document
}

test_unknown_act_is_refused if {
	every act in ["pause", "Approve", "approve ", "", null, true, 0, [], {}, ["approve"]] {
		_said({"/action/type": act}) == {"grant": set(), "deny": {"control.unknown"}}
	}
}

test_refusal_names_the_act if {
	document := testing.with_facts(testing.control, {"/context/actor/type": "ci"})
	{reason.message | some reason in control.deny} == {"only a person may approve"} with input as document
}

# METADATA
# custom:
#   req: [AP-05]
test_asker_who_approves_is_refused_by_four_eyes if {
	actor := testing.control.context.actor.id
	every case in [
		[{"id": actor}, {"control.four_eyes"}],
		[{"id": upper(actor)}, {"control.four_eyes"}],
		[{"id": concat("", [split(actor, "@")[0], "@another-host"])}, {"control.four_eyes"}],
		[{"id": null}, {"control.four_eyes"}],
		[{}, {"control.four_eyes"}],
		["somebody", {"control.four_eyes"}],
		[{"id": "somebody@else"}, set()],
	] {
		[asker, codes] := case
		every where in ["team", "local"] {
			_said({
				"/evidence": {"requested_by": asker},
				concat("/", ["/context/config", where]): {"approvals": {"four_eyes": true}},
			}) == {"grant": {"control.granted"}, "deny": codes}
		}
	}
}

test_asker_may_reject_and_may_approve_without_four_eyes if {
	own := {"requested_by": {"id": testing.control.context.actor.id}}
	granted := {"grant": {"control.granted"}, "deny": set()}
	_said({"/evidence": own}) == granted
	four_eyes := {"/context/config/team": {"approvals": {"four_eyes": true}}}
	_said(object.union(four_eyes, {"/evidence": own, "/action/type": "reject"})) == granted
	_said(object.union(four_eyes, {"/evidence": {}})) == granted
}
