package tipstaff.access_test

import data.tipstaff.access

_use(facts) := _said(_asked("mcp use", facts, {}))

_harness(facts) := _use(object.union({"scope": "propose", "tool": "governed_harness", "dry_run": false, "out": null}, facts))

# METADATA
# custom:
#   req: [M-06, M-07]
test_scope_has_its_tools_and_no_others if {
	_harness({}) == set()
	_harness({"tool": "propose_action"}) == set()
	_harness({"scope": "read", "tool": "propose_action"}) == {"access.tool"}
	every tool in ["approve", "Governed_harness", "governed_harness ", "", null, 1, ["governed_harness"]] {
		_harness({"tool": tool}) == {"access.tool"}
	}
	every scope in ["approve", "Propose", "", null, 1, {}] {
		_harness({"scope": scope}) == {"access.tool"}
	}
	_use(null) == {"access.tool"}
	_use({}) == {"access.tool"}
}

# METADATA
# custom:
#   req: [M-07]
test_reader_only_plans if {
	_harness({"scope": "read", "dry_run": true}) == set()
	every value in [false, null, "true", 1] {
		_harness({"scope": "read", "dry_run": value}) == {"access.plan_only"}
	}
	_harness({}) == {"access.plan_only"} with data.tipstaff.access.tools as {"propose": {"governed_harness": {}}}
	_harness({}) == {"access.plan_only"} with data.tipstaff.access.tools as {"propose": {"governed_harness": {"plans_only": "no"}}}
}

# METADATA
# custom:
#   req: [M-04]
test_receipt_is_written_over_nothing_that_governs if {
	every path in ["receipt.json", "out/deep/receipt.JSON"] {
		_harness({"out": path}) == set()
	}
	every path in [
		"tipstaff.local.yaml", "conftest.py", "policy/x.json", "POLICY/x.json", "contracts/x.json", "Contracts/x.json",
		".tipstaff/x.json", ".git/x.json", ".mcp.json", ".x.json", "sub/.hidden/x.json", ".github/x.json", "", 5, {}, true,
	] {
		_harness({"out": path}) == {"access.place"}
	}
}

test_scope_is_told_its_tools if {
	listed := access.report with input as _asked("mcp list", {"scope": "read"}, {})
	listed == {"tools": {"governed_harness": {"plans_only": true}}}
	every scope in ["approve", null, 1] {
		nothing := access.report with input as _asked("mcp list", {"scope": scope}, {})
		nothing == {}
	}
	_said(_asked("mcp list", {"scope": "read"}, {})) == set()
}

test_use_is_nothing_to_other_acts if {
	every act in ["mcp list", "approve", null] {
		_said(_asked(act, {"scope": "read", "tool": "governed_harness", "dry_run": false, "out": "conftest.py"}, {})) == set()
	}
}

test_refused_use_names_what_was_asked if {
	asked := _asked("mcp use", {"scope": "read", "tool": "approve", "dry_run": true, "out": "conftest.py"}, {})
	denied := access.deny with input as asked
	{reason.message | some reason in denied} == {"approve is no tool of this caller", "conftest.py is no place for a receipt"}
}
