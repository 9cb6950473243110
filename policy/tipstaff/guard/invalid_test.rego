package tipstaff.guard_test

import data.tipstaff.guard
import data.tipstaff.testing

# The change with an approval, so that every part of a document is there.
_whole := testing.change_with({"/context/approval": testing.approved})

_invalid(document, pointer, value) := names if {
	names := guard.invalid with input as testing.with_facts(document, {pointer: value})
}

# METADATA
# custom:
#   req: [E-04, E-05]
test_fact_of_another_shape_is_escalated if {
	_escalated(testing.change_with({"/context/actor/type": "robot"})) == {"input.invalid:actor"}
}

# METADATA
# custom:
#   req: [E-05, E-11]
test_fact_of_another_shape_is_invalid_by_name if {
	every case in [
		["subject", "/subject/id", ["", 5, true, [], {}, "a\u200b", "a\n"]],
		["actor", "/context/actor/type", ["Human", "human ", "robot", "", 5, false, [], {}, ["human"], testing.digest("a")]],
		["actor_id", "/context/actor/id", ["", 5, true, [], {}]],
		["now", "/context/now", ["", "now", testing.digest("a"), 5, true, [], {}, "2026-13-01T00:00:00Z", "2026-07-01T12:00:00+00:00"]],
		["decision_id", "/context/decision_id", ["", 5, true, [], {}]],
		["judged_sha256", "/context/judged_sha256", ["", "b", 5, true, [], {}, upper(testing.digest("b"))]],
		["class", "/action/class", ["", 5, true, [], {}, ["heal_additive"], "heal_additive\u200b"]],
		["requested_capabilities", "/action/requested_capabilities", ["", "a", {}, [5], ["A"], ["a", null], true]],
		["found_capabilities", "/action/found_capabilities", ["", "a", {}, [5], ["A"], ["a\u200b"], {"a": "b"}, true]],
		["base", "/resource/base", ["", 5, true, [], {}]],
		["diff_sha256", "/resource/diff_sha256", ["", "d", 5, true, [], {}]],
		["evidence", "/evidence", ["", 5, true, []]],
		["drift", "/evidence/drift", ["", 5, true, [], {}, {"contracts": null}, {"contracts": {}}, {"contracts": [5]}, {"contracts": [{}]}]],
		["tests", "/evidence/tests", ["", 5, true, [], {}]],
		["sandbox", "/evidence/sandbox", ["", 5, true, [], {}]],
		["approval", "/context/approval", ["", "approved", 5, true, [], {}]],
		["pause", "/context/pause", ["", 5, true, [], {}]],
		["config", "/context/config", ["", 5, true, [], {}]],
		["has_overlay", "/context/has_overlay", ["", "true", 0, 1, [], {}]],
	] {
		[name, pointer, values] := case
		every value in values {
			_invalid(_whole, pointer, value) == {name}
		}
	}
	every value in ["", 5, true, [], {}] {
		_invalid(testing.control, "/action/type", value) == {"act"}
		_invalid(testing.control, "/resource/id", value) == {"resource"}
	}
}

# METADATA
# custom:
#   req: [E-11]
test_part_of_another_shape_is_invalid if {
	numbers_of_no_thing := [-1, 1.5, 12.0, 1e3, 1e309, "12", "", null, true, [], {}]
	every case in [
		["tests", "/evidence/tests/passed", numbers_of_no_thing],
		["tests", "/evidence/tests/failed", numbers_of_no_thing],
		["tests", "/evidence/tests/skipped", numbers_of_no_thing],
		["tests", "/evidence/tests/diff_sha256", ["", "d", null, 5]],
		["sandbox", "/evidence/sandbox/backend", ["", null, 5, ["gvisor"]]],
		["sandbox", "/evidence/sandbox/profile", ["", null, 5, ["strict"]]],
		["sandbox", "/evidence/sandbox/isolated", ["true", 1, null, []]],
		["sandbox", "/evidence/sandbox/held", ["network", null, {"a": "network"}, [5], [""]]],
		["sandbox", "/evidence/sandbox/backend_version", ["", 5, [], true]],
		["sandbox", "/evidence/sandbox/kernel", ["", 5, ["host"], false]],
		["sandbox", "/evidence/sandbox/spec_sha256", ["", 5, "d", []]],
		["sandbox", "/evidence/sandbox/input_sha256", ["", 5, "d", {}]],
		["approval", "/context/approval/digest", ["", null, 5, "b"]],
		["approval", "/context/approval/status", ["", null, 5, true]],
		["approval", "/context/approval/requested_by", [null, "alice", {}, {"id": ""}, {"id": null}]],
		["approval", "/context/approval/decided_by", [null, "bob", {}, {"type": "human"}, {"id": 5, "type": "human"}]],
		["approval", "/context/approval/decided_at", ["", null, 5, "now"]],
		["approval", "/context/approval/expires_at", ["", null, 5, "never"]],
		["approval", "/context/approval/confirmations", array.concat(numbers_of_no_thing, ["2", 2.5])],
		["pause", "/context/pause/hard", ["", null, "false", 0]],
		["pause", "/context/pause/global", ["", "false", 0, []]],
		["pause", "/context/pause/user", ["", "false", 0, {}]],
		["pause", "/context/pause/switches", [null, [], "", true, {"A": null}, {"A": 1}, {"A": "off", "B": false}]],
		["config", "/context/config/team", [null, [], "", true]],
		["config", "/context/config/team_sha256", [null, "", "c", 5]],
		["config", "/context/config/local", [{}, [], "", false]],
		["config", "/context/config/local_sha256", [testing.digest("c"), "", 5]],
		["config", "/context/config/local_tracked", [null, "", "false", 0]],
	] {
		[name, pointer, values] := case
		every value in values {
			_invalid(_whole, pointer, value) == {name}
		}
	}
}

test_part_that_is_absent_is_invalid if {
	every pointer in [
		"/evidence/tests/passed",
		"/evidence/tests/failed",
		"/evidence/tests/skipped",
		"/evidence/tests/diff_sha256",
		"/evidence/sandbox/backend",
		"/evidence/sandbox/profile",
		"/evidence/sandbox/isolated",
		"/evidence/sandbox/held",
		"/context/approval/digest",
		"/context/approval/status",
		"/context/approval/requested_by",
		"/context/approval/decided_by",
		"/context/approval/decided_at",
		"/context/approval/expires_at",
		"/context/approval/confirmations",
		"/context/pause/hard",
		"/context/pause/global",
		"/context/pause/user",
		"/context/pause/switches",
		"/context/config/team",
		"/context/config/team_sha256",
		"/context/config/local",
		"/context/config/local_sha256",
		"/context/config/local_tracked",
	] {
		invalid := guard.invalid with input as testing.without(_whole, [pointer])
		count(invalid) == 1
	}
}

test_optional_part_that_is_absent_is_not_invalid if {
	every pointer in ["/evidence/tests", "/evidence/sandbox", "/evidence/drift", "/context/approval"] {
		guard.invalid == set() with input as testing.without(_whole, [pointer])
		_invalid(_whole, pointer, null) == set()
	}
	_invalid(_whole, "/evidence/drift", {"contracts": []}) == set()
	every value in [null, true, false] {
		_invalid(_whole, "/context/pause/global", value) == set()
		_invalid(_whole, "/context/pause/user", value) == set()
	}
}

test_every_kind_of_actor_is_not_invalid if {
	every type in ["human", "agent", "ci"] {
		_invalid(_whole, "/context/actor/type", type) == set()
	}
}

test_local_file_with_its_digest_is_not_invalid if {
	guard.invalid == set() with input as testing.change_under({}, {})
	guard.invalid == set() with input as testing.change_under(null, null)
}

# METADATA
# custom:
#   req: [E-05]
test_list_of_files_of_another_shape_is_invalid if {
	every files in ["", "x", 5, true, {}, {"a": {}}, [5], [null], [""], [[]], [{}], [testing.file("a"), {}]] {
		_invalid(_whole, "/resource/files", files) == {"files"}
	}
	_invalid(_whole, "/resource/files", []) == set()
}

# METADATA
# custom:
#   req: [E-05]
test_file_of_another_shape_is_invalid if {
	every case in [
		["path", [null, 5, true, [], {}, ["a"]]],
		["status", [null, "", "Added", "moved", 5, ["added"]]],
		["additions_only", [null, "", "true", 1]],
		["mode_changed", [null, "", "false", 0]],
		["touches_existing_definition", ["", "false", 0, []]],
		["language", ["", 5, true, [], "python\n"]],
		["binary", [null, "", "false", 0]],
		["added", [null, -1, 1.5, 3.0, "3", []]],
		["removed", [null, -1, 1.5, "0", []]],
	] {
		[name, values] := case
		every value in values {
			_invalid(_whole, concat("/", ["/resource/files/0", name]), value) == {"files"}
		}
		invalid := guard.invalid with input as testing.without(_whole, [concat("/", ["/resource/files/0", name])])
		invalid == {"files"}
	}
	_invalid(_whole, "/resource/files/0/language", null) == set()
	_invalid(_whole, "/resource/files/0/touches_existing_definition", null) == set()
}

test_rename_without_the_old_name_is_invalid if {
	every status in ["renamed", "copied"] {
		named := testing.with_facts(_whole, {"/resource/files/0/status": status, "/resource/files/0/old_path": "b"})
		guard.invalid == set() with input as named
		every value in [null, 5, true, [], {}] {
			_invalid(named, "/resource/files/0/old_path", value) == {"files"}
		}
		guard.invalid == {"files"} with input as testing.without(named, ["/resource/files/0/old_path"])
	}
	_invalid(testing.with_facts(_whole, {"/resource/files/0/old_path": "b"}), "/resource/files/0/status", "moved") == {"files"}
	every status in ["added", "modified", "deleted", "type_changed"] {
		_invalid(_whole, "/resource/files/0/status", status) == set()
		_invalid(testing.with_facts(_whole, {"/resource/files/0/status": status}), "/resource/files/0/old_path", "b") == set()
		every value in [5, true, [], {}] {
			_invalid(testing.with_facts(_whole, {"/resource/files/0/status": status}), "/resource/files/0/old_path", value) == {"files"}
		}
	}
}

test_facts_of_a_change_are_no_matter_to_an_act if {
	document := testing.with_facts(testing.control, {"/evidence": {"tests": 5, "sandbox": 5}})
	guard.invalid == set() with input as document
}

test_test_command_of_another_shape_is_invalid if {
	every value in ["", 5, [], {}, "a\u200b"] {
		_invalid(testing.change, "/evidence/tests/command", value) == {"tests"}
	}
	_invalid(testing.change, "/evidence/tests/command", "make") == set()
}

test_sandbox_that_does_not_say_more_is_sound if {
	every pointer in ["backend_version", "kernel", "spec_sha256", "input_sha256"] {
		_invalid(_whole, concat("/", ["/evidence/sandbox", pointer]), null) == set()
	}
}
