package tipstaff.evidence_test

import data.tipstaff.evidence
import data.tipstaff.testing

test_run_that_is_not_isolated_is_a_shortfall if {
	every facts in [
		{"/evidence/sandbox/isolated": false},
		{"/evidence/sandbox/isolated": "true"},
		{"/evidence/sandbox/isolated": null},
		{"/evidence/sandbox/profile": "dev"},
		{"/evidence/sandbox/profile": "Strict"},
		{"/context/config/team/sandbox": {"profile": "dev"}},
	] {
		_lacks(facts) == {"sandbox.unisolated"}
	}
}

test_run_without_a_sandbox_is_a_shortfall if {
	everything := {"sandbox.unisolated", "sandbox.minimum", "sandbox.not_held:network", "sandbox.not_held:write"}
	every sandbox in [null, {}, [], "bubblewrap", true] {
		_lacks({"/evidence/sandbox": sandbox}) == everything
	}
	without := testing.without(testing.change, ["/evidence/sandbox"])
	testing.assert_codes(evidence.shortfalls, everything) with input as without
	_lacks({"/evidence/sandbox": null, "/evidence/tests": null}) == {"tests.none"}
}

# METADATA
# custom:
#   req: [T-11]
test_backend_weaker_than_asked_is_a_shortfall if {
	every case in [
		["nsjail", {}, {}, set()],
		["bubblewrap", {"sandbox": {"minimum_backend": "bubblewrap"}}, {}, set()],
		["nsjail", {"sandbox": {"minimum_backend": "bubblewrap"}}, {}, {"sandbox.minimum"}],
		["bubblewrap", {}, {"sandbox": {"minimum_backend": "gvisor"}}, {"sandbox.minimum"}],
		["firecracker", {}, {"sandbox": {"minimum_backend": "gvisor"}}, set()],
	] {
		[backend, team, local, codes] := case
		document := testing.with_facts(testing.change_under(team, local), {"/evidence/sandbox/backend": backend})
		testing.assert_codes(evidence.shortfalls, codes) with input as document
	}
}

test_backend_that_nobody_knows_is_a_shortfall if {
	every backend in ["none", "docker", "Bubblewrap", "", null, true, 9, [], {}, ["firecracker"]] {
		_lacks({"/evidence/sandbox/backend": backend}) == {"sandbox.minimum"}
		said := {reason.message | some reason in evidence.shortfalls} with input as testing.change_with({"/evidence/sandbox/backend": backend})
		said == {sprintf("the tests ran on %v, which is weaker than the configured minimum", [backend])}
	}
	document := testing.without(testing.change, ["/evidence/sandbox/backend"])
	testing.assert_codes(evidence.shortfalls, {"sandbox.minimum"}) with input as document
	messages := {reason.message | some reason in evidence.shortfalls} with input as document
	messages == {"the tests ran on no backend, which is weaker than the configured minimum"}
}

test_protection_that_did_not_hold_is_a_shortfall if {
	every case in [
		[["network", "write", "more"], set()],
		[["network"], {"sandbox.not_held:write"}],
		[["write"], {"sandbox.not_held:network"}],
		[[], {"sandbox.not_held:network", "sandbox.not_held:write"}],
		[null, {"sandbox.not_held:network", "sandbox.not_held:write"}],
		["network write", {"sandbox.not_held:network", "sandbox.not_held:write"}],
	] {
		[held, codes] := case
		_lacks({"/evidence/sandbox/held": held}) == codes
	}
}

# METADATA
# custom:
#   req: [S-10]
test_class_that_asks_for_more_isolation_has_it_or_a_shortfall if {
	every case in [
		[{"minimum_backend": "bubblewrap"}, set()],
		[{"minimum_backend": "gvisor"}, {"sandbox.minimum"}],
		[{"held": ["network"]}, set()],
		[{"held": ["system_calls"]}, {"sandbox.not_held:system_calls"}],
		[{"minimum_backend": "firecracker", "held": ["terminal"]}, {"sandbox.minimum", "sandbox.not_held:terminal"}],
	] {
		[wanted, codes] := case
		asked := {"sandbox": {"require": {"heal_additive": wanted}}}
		testing.assert_codes(evidence.shortfalls, codes) with input as testing.change_under(asked, {})
		testing.assert_codes(evidence.shortfalls, codes) with input as testing.change_under({}, asked)
		elsewhere := {"sandbox": {"require": {"augment": wanted}}}
		testing.assert_codes(evidence.shortfalls, set()) with input as testing.change_under(elsewhere, elsewhere)
	}
}

# METADATA
# custom:
#   req: [S-02]
test_run_on_a_backend_that_a_file_leaves_out_is_a_shortfall if {
	every case in [
		[{}, {}, set()],
		[["gvisor", "bubblewrap"], null, set()],
		[["bubblewrap"], ["bubblewrap", "nsjail"], set()],
		[["gvisor", "bubblewrap"], ["nsjail"], {"sandbox.left_out"}],
		[["nsjail"], null, {"sandbox.left_out"}],
		[null, [], {"sandbox.left_out"}],
	] {
		[team, local, codes] := case
		document := testing.change_under({"sandbox": {"backends": team}}, {"sandbox": {"backends": local}})
		testing.assert_codes(evidence.shortfalls, codes) with input as document
	}
	unrun := {"/evidence/tests": null, "/context/config/local": {"sandbox": {"backends": []}}}
	_lacks(unrun) == {"tests.none"}
}

test_kernel_that_is_not_the_backends_is_a_shortfall if {
	every backend, kernel in {"nsjail": "host", "bubblewrap": "host", "gvisor": "gvisor", "firecracker": "guest"} {
		_lacks({"/evidence/sandbox/backend": backend, "/evidence/sandbox/kernel": kernel}) == set()
		_lacks({"/evidence/sandbox/backend": backend, "/evidence/sandbox/kernel": null}) == set()
		every other in {"host", "gvisor", "guest", "Host"} - {kernel} {
			_lacks({"/evidence/sandbox/backend": backend, "/evidence/sandbox/kernel": other}) == {"sandbox.kernel"}
		}
	}
	_lacks({"/evidence/tests": null, "/evidence/sandbox/kernel": "guest"}) == {"tests.none"}
}
