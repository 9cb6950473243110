package tipstaff.modification.settings_test

import data.tipstaff.modification.settings
import data.tipstaff.testing

_report(facts) := report if {
	report := settings.report with input as testing.modification_with(facts)
}

_asked(group, name, value) := {sprintf("/evidence/asked/%s/%s", [group, name]): value}

_team(group, name, value) := {sprintf("/evidence/team/%s/%s", [group, name]): value}

# METADATA
# custom:
#   req: [HS-18]
test_numbers_are_the_strictest_that_anybody_says if {
	every case in [
		["max_risk", 900000000, null, 500000000],
		["max_risk", 900000000, 300000000, 300000000],
		["max_risk", 100000000, 300000000, 100000000],
		["max_risk", null, null, 500000000],
		["max_risk", null, 900000000, 500000000],
		["canary_risk", 400000000, null, 200000000],
		["canary_risk", null, 100000000, 100000000],
		["tolerance", null, null, 0],
		["tolerance", 20000000, null, 20000000],
		["tolerance", 900000000, null, 50000000],
		["tolerance", 20000000, 10000000, 10000000],
	] {
		[name, asked, team, holds] := case
		facts := object.union(_asked("gate", name, asked), _team("gate", name, team))
		print(case, _report(facts).gate[name])
		_report(facts).gate[name] == holds
	}
	every case in [
		["min_effect", null, null, 0],
		["min_effect", 10000000, 50000000, 50000000],
		["min_effect", 50000000, 10000000, 50000000],
		["min_tasks", null, null, 1],
		["min_tasks", 3, 5, 5],
	] {
		[name, asked, team, holds] := case
		facts := object.union(_asked("rules", name, asked), _team("rules", name, team))
		_report(facts).rules[name] == holds
	}
}

# METADATA
# custom:
#   req: [HS-18]
test_clamp_is_reported if {
	report := _report(object.union(_asked("gate", "max_risk", 900000000), _team("gate", "max_risk", 300000000)))
	report.clamped == {"max_risk": {"asked": 900000000, "holds": 300000000}}
	_report({}).clamped == {}
	_report(_team("rules", "min_tasks", 9)).clamped == {}
	_report(object.union(_asked("rules", "min_tasks", 2), _team("rules", "min_tasks", 9))).clamped == {"min_tasks": {"asked": 2, "holds": 9}}
}

# METADATA
# custom:
#   req: [HP-07, HS-10, HS-11, HS-13]
test_switch_is_on_where_anybody_turns_it_on if {
	every switch in ["require_proof", "require_approval", "require_canary", "require_conformal", "require_sequential", "require_rehearsal"] {
		_report({}).rules[switch] == false
		_report(_asked("rules", switch, false)).rules[switch] == false
		_report(_asked("rules", switch, true)).rules[switch] == true
		_report(_team("rules", switch, true)).rules[switch] == true
		_report(object.union(_asked("rules", switch, false), _team("rules", switch, true))).rules[switch] == true
	}
	proved := object.union(_asked("rules", "require_proof", false), {"/evidence/supplied/prover": true})
	_report(proved).rules.require_proof == true
	kept := object.union(_asked("rules", "require_approval", false), {"/evidence/supplied/approval_store": true})
	_report(kept).rules.require_approval == true
}

# METADATA
# custom:
#   req: [HS-09]
test_capability_is_granted_by_both_or_not_at_all if {
	both := object.union(
		_asked("gate", "granted_capabilities", ["net", "file_deletion", "raw_shell_execution"]),
		_team("gate", "granted_capabilities", ["net", "raw_shell_execution"]),
	)
	_report(both).gate.granted_capabilities == ["net"]
	_report({}).gate.granted_capabilities == []
}

test_lists_of_what_is_denied_are_united if {
	report := _report(object.union(_asked("gate", "denied_imports", ["a"]), _team("gate", "denied_calls", ["b"])))
	{"a", "ctypes"} & {name | some name in report.gate.denied_imports} == {"a", "ctypes"}
	{"b", "eval"} & {name | some name in report.gate.denied_calls} == {"b", "eval"}
	_report(_asked("gate", "allowed_imports", ["x"])).gate.allowed_imports == [["x"]]
}
