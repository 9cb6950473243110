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
