package tipstaff.modification.gate_test

import data.tipstaff.modification.gate
import data.tipstaff.testing

_codes(facts) := codes if {
	codes := testing.codes(gate.deny) with input as testing.modification_with(facts)
}

test_calm_source_passes if _codes({}) == set()

# METADATA
# custom:
#   req: [HP-02, HS-03]
test_source_that_does_not_parse_is_refused if {
	_codes({"/evidence/static/syntax": "error"}) == {"gate.syntax"}
	_codes({"/evidence/static/syntax": "unread"}) == {"gate.syntax"}
}

test_language_that_nobody_reads_takes_a_permit if {
	unread := {"/evidence/static/language": null, "/evidence/static/syntax": "unread", "/resource/target": "harness/run.lua"}
	_codes(unread) == {"gate.language"}
	permit := object.union(unread, {"/evidence/team/allowed_suffixes": [".lua"]})
	_codes(permit) == set()
	every suffixes in [[".py"], [""], []] {
		_codes(object.union(unread, {"/evidence/team/allowed_suffixes": suffixes})) == {"gate.language"}
	}
}

# METADATA
# custom:
#   req: [HS-05]
test_capability_is_refused_unless_both_grant_it if {
	asked := {"/action/requested_capabilities": ["net"]}
	_codes(asked) == {"gate.capability:net"}
	_codes({"/evidence/static/capabilities": ["net"]}) == {"gate.capability:net"}
	_codes({"/evidence/static/capabilities": ["dynamic_code", "unreadable_code"]}) == set()
	_codes({"/action/requested_capabilities": ["dynamic_code"]}) == {"gate.capability:dynamic_code"}
	_codes(object.union(asked, {"/evidence/asked/gate/granted_capabilities": ["net"]})) == {"gate.capability:net"}
	_codes(object.union(asked, {"/evidence/team/gate/granted_capabilities": ["net"]})) == {"gate.capability:net"}
	both := {"/evidence/asked/gate/granted_capabilities": ["net"], "/evidence/team/gate/granted_capabilities": ["net"]}
	_codes(object.union(asked, both)) == set()
}

# METADATA
# custom:
#   req: [HP-04]
test_imports_are_held_to_lists if {
	_codes({"/evidence/static/imports": ["ctypes.util"]}) == {"gate.import"}
	_codes({"/evidence/static/imports": ["ctypesque"]}) == set()
	_codes({"/evidence/asked/gate/denied_imports": ["math"]}) == {"gate.call", "gate.import"}
	_codes({"/evidence/team/gate/denied_imports": ["math"]}) == {"gate.call", "gate.import"}
	_codes({"/evidence/asked/gate/allowed_imports": ["json"]}) == {"gate.import"}
	_codes({"/evidence/asked/gate/allowed_imports": ["math", "json"]}) == set()
	_codes({"/evidence/asked/gate/allowed_imports": ["math"], "/evidence/team/gate/allowed_imports": ["json"]}) == {"gate.import"}
	_codes({"/evidence/asked/gate/allowed_imports": []}) == {"gate.import"}
	_codes({"/evidence/asked/gate/allowed_imports": null}) == set()
}

# METADATA
# custom:
#   req: [HP-04]
test_calls_are_held_to_lists if {
	every name in ["eval", "os.system", "__import__", "ctypes.CDLL", "importlib.import_module"] {
		_codes({"/evidence/static/calls": [name]}) == {"gate.call"}
	}
	every name in ["evaluate", "os.path.join", "model.eval"] {
		_codes({"/evidence/static/calls": [name]}) == set()
	}
	_codes({"/evidence/asked/gate/denied_calls": ["math.sqrt"]}) == {"gate.call"}
	_codes({"/evidence/team/gate/denied_calls": ["math"]}) == {"gate.call"}
	_codes({"/evidence/static/unresolved": ["line 1: getattr"]}) == {"gate.call"}
}

# METADATA
# custom:
#   req: [HP-03]
test_risk_is_compared_exactly_at_its_bounds if {
	every case in [
		[200000000, set(), false],
		[200000001, set(), true],
		[500000000, set(), true],
		[500000100, {"gate.risk"}, true],
	] {
		[risk, codes, canary] := case
		_codes({"/action/risk": risk}) == codes
		needs := gate.needs_canary with input as testing.modification_with({"/action/risk": risk})
		needs == canary
	}
	by_rule := gate.needs_canary with input as testing.modification_with({"/evidence/asked/rules/require_canary": true})
	by_rule == true
}

# METADATA
# custom:
#   req: [HS-15]
test_higher_risk_of_the_two_is_judged if {
	_codes({"/action/deployment_risk": 800000000}) == {"gate.risk"}
	_codes({"/action/deployment_risk": null}) == set()
	without := testing.without(testing.modification, ["/action/risk", "/action/deployment_risk"])
	refused := gate.deny with input as without
	testing.codes(refused) == {"gate.risk"}
	canary := gate.needs_canary with input as without
	canary == true
}

# METADATA
# custom:
#   req: [HS-04]
test_target_that_judges_changes_is_out_of_reach if {
	every target in ["policy/org/freeze.rego", "tipstaff.yaml", ".github/workflows/ci.yml", "../x.py", "/etc/x.py"] {
		_codes({"/resource/target": target}) == {"gate.target"}
	}
}
