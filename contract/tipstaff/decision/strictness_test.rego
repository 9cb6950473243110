package tipstaff.decision_test

import data.tipstaff.decision
import data.tipstaff.testing

_ranks := {"allow": 0, "require_approval": 1, "escalate": 2, "deny": 3}

_two := {"code": "freeze.two", "message": "m", "solution": "s", "confirmations": 2}

# Documents that are blocked, each by another layer, and one that is not.
_corpus := [
	testing.change,
	testing.control,
	testing.change_with({"/kind": "other"}),
	testing.change_with({"/context/now": null}),
	testing.change_with({"/evidence/tests/failed": 1}),
	testing.change_with({"/evidence/sandbox": null}),
	testing.change_with({"/action/class": "audit"}),
	testing.change_with({"/action/class": "augment"}),
	testing.change_with({"/action/class": "heal_foo"}),
	testing.change_with({"/action/found_capabilities": ["raw_shell_execution"]}),
	testing.change_with({"/action/found_capabilities": ["dynamic_code"]}),
	testing.change_with({"/resource/files/0/path": "policy/x"}),
	testing.change_with({"/context/pause/global": true}),
	testing.change_with({"/context/bundles/tipstaff": "other"}),
	testing.change_with({"/context/approval": object.union(testing.approved, {"status": "consumed"})}),
	testing.with_facts(testing.change_with({"/context/approval": testing.approved}), {"/action/class": "augment"}),
	testing.change_under({"autonomy": {"heal_additive": "off"}}, null),
	testing.change_under({"autonomy": {"heal_additive": "propse"}}, null),
	testing.with_facts(testing.control, {"/context/actor/type": "agent"}),
	testing.with_facts(testing.control, {"/action/type": null}),
]

_effect(document) := effect if {
	effect := decision.effect with input as document with data.tipstaff.bundle as testing.bundle
}

_is_no_looser_beside(document, rules) if {
	effect := decision.effect with input as document
		with data.tipstaff.bundle as testing.bundle
		with data.org as {"freeze": rules}
	_ranks[effect] >= _ranks[_effect(document)]
}

_is_no_looser_under(document, local) if {
	effect := _effect(testing.with_facts(document, {
		"/context/config/local": local,
		"/context/config/local_sha256": testing.digest("e"),
	}))
	_ranks[effect] >= _ranks[_effect(document)]
}

test_corpus_is_of_every_effect if {
	{_effect(document) | some document in _corpus} == object.keys(_ranks)
}

# METADATA
# custom:
#   req: [E-07]
test_added_refusal_never_loosens if {
	every document in _corpus {
		every rules in [{"deny": {"no"}}, {"deny": true}, {"escalate": {"tell"}}] {
			_is_no_looser_beside(document, rules)
		}
	}
}

# METADATA
# custom:
#   req: [E-07]
test_added_demand_for_approval_never_loosens if {
	every document in _corpus {
		every rules in [{"require_approval": {"ask"}}, {"require_approval": {_two}}, {"obligations": {{"id": "notify"}}}] {
			_is_no_looser_beside(document, rules)
		}
	}
}

# METADATA
# custom:
#   req: [T-11]
test_local_setting_that_tightens_never_loosens if {
	every document in _corpus {
		every local in [
			{"autonomy": {"heal_additive": "off"}, "remembered_choices": {"augment": "off", "audit": "propose"}},
			{"approval_gates": {"require_human": ["heal_additive", "audit"], "forbid": ["dynamic_code"]}},
			{"paths": {"allowed": [], "read_only": ["**"]}, "sandbox": {"minimum_backend": "firecracker"}},
			{"approvals": {"four_eyes": true}, "pause": {"hard": true}},
		] {
			_is_no_looser_under(document, local)
		}
	}
}

# METADATA
# custom:
#   req: [T-11, T-13, G-03]
test_local_setting_that_asks_for_more_never_loosens if {
	every document in _corpus {
		every local in [
			{"autonomy": {"heal_additive": "auto", "augment": "auto"}, "remembered_choices": {"augment": "auto"}},
			{"approval_gates": {"require_human": [], "forbid": []}, "paths": {"allowed": ["**"], "read_only": []}},
			{"sandbox": {"profile": "dev", "minimum_backend": "nsjail"}, "approvals": {"four_eyes": false}},
		] {
			_is_no_looser_under(document, local)
		}
	}
}

# METADATA
# custom:
#   req: [E-07]
test_layer_that_says_nothing_loosens_no_other if {
	blocked := testing.with_facts(_under("augment", {"autonomy": {"augment": "off"}}), {
		"/action/found_capabilities": ["raw_shell_execution"],
		"/resource/files/0/path": "policy/x",
		"/context/now": null,
	})
	_verdict(blocked).effect == "deny"
	_verdict(blocked).effect == "deny" with data.tipstaff.autonomy.deny as set()
	_verdict(blocked).effect == "deny" with data.tipstaff.gates.deny as set()
	_verdict(blocked).effect == "deny" with data.tipstaff.paths.deny as set()
	_verdict(blocked).effect == "deny" with data.tipstaff.guard.escalate as set()
	_verdict(blocked).effect == "deny" with data.tipstaff.pause.require_approval as set()
	_verdict(blocked).effect == "deny" with data.tipstaff.approval.require_approval as set()
	_verdict(blocked).effect == "deny" with data.tipstaff.overlay.deny as set()
}
