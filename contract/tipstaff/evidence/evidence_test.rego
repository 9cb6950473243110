package tipstaff.evidence_test

import data.tipstaff.evidence
import data.tipstaff.testing

_lacks(facts) := codes if {
	codes := testing.codes(evidence.shortfalls) with input as testing.change_with(facts)
}

_additive(facts) := answer if {
	files := [object.union(testing.file("a.py"), facts)]
	answer := evidence.purely_additive with input as testing.change_with({"/resource/files": files})
}

_additions := {"status": "modified", "additions_only": true, "touches_existing_definition": false, "mode_changed": false}

# METADATA
# custom:
#   req: [T-06]
test_complete_evidence_is_low_risk if {
	_lacks({}) == set()
	evidence.low_risk with input as testing.change
}

test_any_shortfall_is_not_low_risk if {
	evidence.low_risk == false with input as testing.change_with({"/evidence/tests/failed": 1})
}

# METADATA
# custom:
#   req: [T-07]
test_tests_that_did_not_run_are_none if {
	every tests in [
		null,
		{},
		{"passed": 0, "failed": 0, "skipped": 0, "diff_sha256": testing.digest("d")},
		{"passed": 0, "failed": 0, "skipped": 9, "diff_sha256": testing.digest("d")},
		{"skipped": 9, "diff_sha256": testing.digest("d")},
	] {
		_lacks({"/evidence/tests": tests}) == {"tests.none"}
	}
	testing.assert_codes(evidence.shortfalls, {"tests.none"}) with input as testing.without(testing.change, ["/evidence"])
}

# METADATA
# custom:
#   req: [T-06]
test_any_failed_test_is_a_shortfall if {
	_lacks({"/evidence/tests/passed": 11, "/evidence/tests/failed": 1}) == {"tests.failed"}
	_lacks({"/evidence/tests/passed": 0, "/evidence/tests/failed": 1}) == {"tests.failed"}
	_lacks({"/evidence/tests/skipped": 3}) == set()
}

# METADATA
# custom:
#   req: [T-07]
test_tests_of_another_diff_are_stale if {
	every digest in [testing.digest("e"), "", null, upper(testing.digest("d"))] {
		_lacks({"/evidence/tests/diff_sha256": digest}) == {"tests.stale"}
		_lacks({"/evidence/tests/passed": 0, "/evidence/tests/failed": 1, "/evidence/tests/diff_sha256": digest}) == {
			"tests.stale",
			"tests.failed",
		}
	}
	stale := testing.without(testing.change, ["/evidence/tests/diff_sha256"])
	testing.assert_codes(evidence.shortfalls, {"tests.stale"}) with input as stale
}

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

test_code_that_wants_a_look_is_a_shortfall if {
	every name in ["dynamic_code", "file_deletion", "process_execution", "unreadable_code"] {
		_lacks({"/action/found_capabilities": ["other", name]}) == {concat(":", ["capability.caution", name])}
	}
	_lacks({"/action/found_capabilities": ["other"]}) == set()
}

# METADATA
# custom:
#   req: [T-06]
test_change_that_does_more_than_add_is_a_shortfall if {
	_lacks({"/resource/files/0/status": "deleted"}) == {"change.not_additive"}
}

test_new_file_is_additive_and_read_in_a_known_language if {
	_additive({})
	_lacks({}) == set()
	every language in [null, 5, false, []] {
		_additive({"language": language})
		_lacks({"/resource/files/0/language": language}) == {"change.unread"}
	}
	_lacks({"/resource/files/0/status": "modified", "/resource/files/0/language": null}) == set()
	unread := testing.without(testing.change, ["/resource/files/0/language"])
	testing.assert_codes(evidence.shortfalls, {"change.unread"}) with input as unread
}

test_new_file_that_takes_the_name_of_a_module_is_not_additive if {
	not _additive({"touches_existing_definition": true})
	_additive({"touches_existing_definition": null})
}

test_gained_key_is_additive_whatever_its_lines if {
	gained := object.union(_additions, {"additions_only": false, "language": "json"})
	_additive(gained)
	_additive(object.union(gained, {"language": "yaml"}))
	every facts in [{"language": "python"}, {"language": null}, {"mode_changed": true}, {"touches_existing_definition": null}] {
		not _additive(object.union(gained, facts))
	}
}

test_additions_are_additive_if_nothing_is_touched if {
	_additive(_additions)
	_additive(object.union(_additions, {"language": null}))
	every facts in [
		{"additions_only": false},
		{"additions_only": null},
		{"additions_only": "true"},
		{"mode_changed": true},
		{"mode_changed": null},
		{"touches_existing_definition": true},
		{"touches_existing_definition": null},
		{"status": "type_changed"},
		{"status": "renamed"},
		{"status": "copied"},
		{"status": "deleted"},
		{"status": "Modified"},
		{"status": null},
	] {
		not _additive(object.union(_additions, facts))
	}
}

test_change_without_files_is_not_additive if {
	every files in [[], null, {}, "", 5] {
		not evidence.purely_additive with input as testing.change_with({"/resource/files": files})
	}
	evidence.purely_additive == false with input as {}
}

test_one_file_that_changes_is_enough_not_to_be_additive if {
	files := [testing.file("a"), object.union(testing.file("b"), {"status": "deleted"}), testing.file("c")]
	not evidence.purely_additive with input as testing.change_with({"/resource/files": files})
}

test_command_that_the_team_did_not_name_is_a_shortfall if {
	pinned := {"/context/config/team": {"schema_version": 1, "tests": {"command": "make golden"}}}
	_lacks(object.union(pinned, {"/evidence/tests/command": "make golden"})) == set()
	every command in ["make", "make golden ", null] {
		_lacks(object.union(pinned, {"/evidence/tests/command": command})) == {"tests.command"}
	}
}

test_agent_chooses_no_tests if {
	_lacks({"/evidence/tests/command": "make"}) == set()
	_lacks({"/context/actor/type": "ci"}) == set()
	every actor in ["agent", "robot", null] {
		_lacks({"/context/actor/type": actor}) == {"tests.command"}
	}
	named := {"schema_version": 1, "tests": {"command": "make"}}
	_lacks({"/context/actor/type": "agent", "/context/config/team": named, "/evidence/tests/command": "make"}) == set()
}

# METADATA
# custom:
#   req: [E-11]
test_count_that_is_no_number_counts_nothing if {
	every passed in ["12", [1], {"a": 1}] {
		_lacks({"/evidence/tests/passed": passed}) == {"tests.none"}
	}
	every failed in ["1", false, -1] {
		_lacks({"/evidence/tests/failed": failed}) == {"tests.failed"}
		_lacks({"/evidence/tests/passed": 0, "/evidence/tests/failed": failed}) == {"tests.none", "tests.failed"}
	}
}

test_count_that_is_absent_is_no_failed_test if {
	not "tests.failed" in _lacks({"/evidence/tests/failed": null})
}

test_one_test_is_enough_to_count if {
	_lacks({"/evidence/tests/passed": 1}) == set()
	_lacks({"/evidence/tests/passed": 0, "/evidence/tests/failed": 1}) == {"tests.failed"}
}

test_team_that_only_names_where_tests_lie_names_no_command if {
	named := {"schema_version": 1, "tests": {"paths": ["golden"]}}
	_lacks({"/context/config/team": named, "/evidence/tests/command": "make"}) == set()
}

test_nothing_is_said_of_tests_that_did_not_run if {
	none := {"/evidence/tests": {"passed": 0, "failed": 0, "skipped": 0}, "/evidence/sandbox": null}
	_lacks(object.union(none, {"/context/actor/type": "agent"})) == {"tests.none"}
}
