package tipstaff.gates_test

import data.tipstaff.gates
import data.tipstaff.testing

_pins(team, local, class) := codes if {
	document := testing.with_facts(testing.change_under(team, local), {"/action/class": class})
	codes := testing.codes(gates.require_approval) with input as document
}

_refused(team, local, facts) := codes if {
	document := testing.with_facts(testing.change_under(team, local), facts)
	codes := testing.codes(gates.deny) with input as document
}

# METADATA
# custom:
#   req: [G-01]
test_built_in_pins_are_asked_about if {
	every team in [null, {}, {"approval_gates": {}}, {"approval_gates": null}, {"approval_gates": {"require_human": null}}] {
		every class in ["augment", "heal_breaking"] {
			_pins(team, null, class) == {"gate.require_human"}
		}
		every class in ["audit", "heal_additive", "heal_warning"] {
			_pins(team, null, class) == set()
		}
	}
}

# METADATA
# custom:
#   req: [G-01]
test_pins_of_the_team_replace_built_in_ones if {
	team := {"approval_gates": {"require_human": ["heal_warning"]}}
	_pins(team, null, "heal_warning") == {"gate.require_human"}
	_pins(team, null, "augment") == set()
	_pins({"approval_gates": {"require_human": []}}, null, "augment") == set()
}

# METADATA
# custom:
#   req: [G-03]
test_local_pins_are_added_and_none_removed if {
	team := {"approval_gates": {"require_human": ["heal_warning"]}}
	local := {"approval_gates": {"require_human": ["heal_additive"]}}
	_pins(team, local, "heal_additive") == {"gate.require_human"}
	_pins(team, local, "heal_warning") == {"gate.require_human"}
	_pins(team, {"approval_gates": {"require_human": []}}, "heal_warning") == {"gate.require_human"}
	_pins(null, {"approval_gates": {"require_human": []}}, "augment") == {"gate.require_human"}
}

# METADATA
# custom:
#   req: [G-02]
test_built_in_forbidden_names_are_refused if {
	every team in [null, {}, {"approval_gates": {"forbid": []}}, {"approval_gates": {"forbid": ["db_write"]}}] {
		every name in ["raw_shell_execution", "network_egress_from_sandbox"] {
			every place in ["/action/requested_capabilities", "/action/found_capabilities"] {
				_refused(team, null, {place: ["file_read", name]}) == {concat(":", ["forbid", name])}
			}
		}
	}
}

# METADATA
# custom:
#   req: [G-03]
test_local_forbidden_names_are_added if {
	local := {"approval_gates": {"forbid": ["db_write"]}}
	wanted := {"/action/requested_capabilities": ["db_write", "raw_shell_execution", "mail"]}
	_refused(null, local, wanted) == {"forbid:db_write", "forbid:raw_shell_execution"}
	_refused({"approval_gates": {"forbid": ["mail"]}}, local, wanted) == {
		"forbid:db_write",
		"forbid:mail",
		"forbid:raw_shell_execution",
	}
	_refused(null, {"approval_gates": {"forbid": []}}, wanted) == {"forbid:raw_shell_execution"}
}

# METADATA
# custom:
#   req: [G-05]
test_found_capability_is_refused_undeclared if {
	_refused(null, null, {
		"/action/requested_capabilities": [],
		"/action/found_capabilities": ["raw_shell_execution"],
	}) == {"forbid:raw_shell_execution"}
}

test_unlisted_capability_is_not_refused if {
	_refused(null, null, {
		"/action/requested_capabilities": ["db_write"],
		"/action/found_capabilities": ["dynamic_code"],
	}) == set()
}
