package tipstaff.config_test

import data.tipstaff.config
import data.tipstaff.testing

_everything := {
	"schema_version": 1,
	"autonomy": {"audit": "auto", "augment": "off", "heal_additive": "auto-if-tests-pass", "heal_warning": "propose"},
	"remembered_choices": {"heal_breaking": "propose"},
	"approval_gates": {"require_human": ["augment"], "forbid": ["db_write"]},
	"paths": {"allowed": ["skills/**"], "read_only": ["**/vendor/**", "a[0-9]?{b,c}"]},
	"sandbox": {
		"profile": "dev",
		"backends": ["firecracker", "gvisor", "bubblewrap", "nsjail"],
		"minimum_backend": "gvisor",
		"require": {"augment": {"minimum_backend": "nsjail", "held": ["network", "system_calls"]}, "heal_additive": {"minimum_backend": null, "held": null}, "audit": null},
		"limits": {"cpu_s": 1, "memory_mb": 512, "wall_s": 60, "processes": null},
	},
	"approvals": {"four_eyes": true},
	"pause": {"hard": false},
	"tests": {"command": "make golden", "paths": ["tests"]},
	"policy": {"overlay": "policy", "public_key": "-----BEGIN\nx"},
	"contracts": {"servers": {}, "dependents": ["skills"]},
	"harness": {
		"granted_capabilities": ["net"],
		"max_risk": 0.3,
		"min_tasks": 2,
		"denied_calls": ["print"],
		"require_proof": true,
	},
}

_valid(team, local) := valid if {
	valid := config.valid with input as testing.change_under(team, local)
}

test_settings_that_are_understood_are_valid if {
	every files in [[null, null], [{}, {}], [_everything, null], [null, _everything], [_everything, _everything]] {
		_valid(files[0], files[1])
	}
}

test_both_profiles_are_understood if {
	every profile in ["strict", "dev"] {
		_valid({"sandbox": {"profile": profile}}, {"sandbox": {"profile": profile}})
	}
}

test_groups_and_settings_left_empty_are_valid if {
	every group, names in {
		"autonomy": [],
		"remembered_choices": [],
		"approval_gates": ["require_human", "forbid"],
		"paths": ["allowed", "read_only"],
		"sandbox": ["profile", "backends", "minimum_backend", "require", "limits"],
		"approvals": ["four_eyes"],
		"pause": ["hard"],
		"tests": ["command", "paths"],
		"policy": ["overlay", "public_key"],
		"contracts": ["servers", "dependents"],
		"harness": ["granted_capabilities", "max_risk", "denied_imports", "min_effect", "require_canary", "allowed_suffixes"],
	} {
		_valid({group: null}, null)
		_valid({group: {}}, null)
		every name in names {
			_valid({group: {name: null}}, null)
		}
	}
}

# METADATA
# custom:
#   req: [T-01, T-03, T-14]
test_unknown_tier_or_class_is_invalid if {
	every group in ["autonomy", "remembered_choices"] {
		every tiers in [
			{"heal_additive": "propse"},
			{"heal_additive": "AUTO_IF_TESTS_PASS"},
			{"heal_additive": "auto_if_tests_pass"},
			{"heal_additive": "propose "},
			{"heal_additive": null},
			{"heal_additive": 1},
			{"heal_additive": ["propose"]},
			{"heal_foo": "propose"},
			{"Audit": "propose"},
			{"": "propose"},
			{"audit": "propose", "heal_foo": null},
		] {
			not _valid({group: tiers}, null)
			not _valid(null, {group: tiers})
		}
	}
}

# METADATA
# custom:
#   req: [G-04]
test_setting_of_another_shape_is_invalid if {
	every case in [
		["approval_gates", "require_human", ["heal_braking", "heal_breaking", 5, {}, [5], [null], {"a": "augment"}]],
		["approval_gates", "forbid", ["raw_shell_execution", [5], ["Raw"], {"a": "db_write"}, true]],
		["paths", "allowed", ["**", [5], ["["], {"a": "**"}, false]],
		["paths", "read_only", ["**", [5], ["["], {"a": "**"}, false]],
		["sandbox", "profile", ["Strict", "", 1, ["strict"], {}]],
		["sandbox", "minimum_backend", ["gvisr", "none", "docker", "", 1, ["gvisor"]]],
		["sandbox", "backends", ["gvisor", [5], ["none"], {"a": "gvisor"}, ["gvisor", "docker"], true]],
		["sandbox", "require", ["", [], 5, {"heal": {}}, {"augment": []}, {"augment": {"held": "network"}}]],
		["sandbox", "require", [{"augment": {"held": ["netwrok"]}}, {"augment": {"held": {"a": "network"}}}]],
		["sandbox", "require", [{"augment": {"minimum_backend": "none"}}, {"augment": {"minimum": "gvisor"}}]],
		["sandbox", "require", [{"augment": {"minimum": null}}, {"augment": {"held": ["network", 5]}}]],
		["sandbox", "require", [{"augment": {}, "heal": {}}, {"augment": {"held": [], "minimum": "gvisor"}}]],
		["sandbox", "limits", ["", [], 5, {"cpu": 1}, {"cpu": null}, {"cpu_s": 0}, {"wall_s": -1}, {"wall_s": 1.5}]],
		["sandbox", "limits", [{"cpu_s": 1, "wall_s": 0}, {"cpu_s": 1, "scratch_mb": 1}]],
		["sandbox", "limits", [{"memory_mb": "512"}, {"processes": true}, {"processes": 1e99}]],
		["approvals", "four_eyes", ["true", "yes", 1, [], {}]],
		["pause", "hard", ["true", "yes", 1, [], {}]],
		["tests", "command", [5, "", false, ["make"], {"a": "make"}, "a\nb"]],
		["tests", "paths", ["tests", [5], [""], {"a": "tests"}]],
		["policy", "overlay", ["", "/policy", "..", "a/../policy", 5, ["policy"], "a\nb"]],
		["policy", "public_key", [5, true, ["x"], {}]],
		["contracts", "servers", ["", [], 5]],
		["contracts", "dependents", ["skills", [5], [""], {"a": "skills"}]],
		["harness", "granted_capabilities", ["net", [5], ["Net"]]],
		["harness", "allowed_imports", ["os", [5], [""]]],
		["harness", "max_risk", ["0.3", -0.1, true, []]],
		["harness", "require_proof", ["yes", 1, []]],
	] {
		[group, name, values] := case
		every value in values {
			not _valid({group: {name: value}}, null)
			not _valid(null, {group: {name: value}})
		}
	}
}

test_list_with_one_wrong_entry_is_invalid if {
	not _valid({"approval_gates": {"require_human": ["augment", "heal_braking"]}}, null)
	not _valid({"approval_gates": {"forbid": ["db_write", "DB"]}}, null)
	not _valid({"paths": {"read_only": ["**", 5]}}, null)
}

test_unknown_keys_are_invalid if {
	every team in [
		{"aproval_gates": {"require_human": []}},
		{"approval_gates": {"require_humans": ["augment"]}},
		{"approval_gates": {"require_humans": null}},
		{"unknown": {}},
		{"unknown": null},
		{"pause": {"hart": true}},
		{"pause": {"audit": "off"}},
		{"": {}},
	] {
		not _valid(team, null)
		not _valid(null, team)
	}
}

test_group_of_another_shape_is_invalid if {
	every group, _ in object.remove(_everything, ["schema_version"]) {
		every value in [true, 0, "x", [], ["x"]] {
			not _valid({group: value}, null)
		}
	}
	every version in [0, 2, "1", null, true, [], {}] {
		not _valid({"schema_version": version}, null)
	}
}

test_file_that_is_no_object_counts_as_none if {
	every value in [null, false, "x", 5, []] {
		document := testing.change_with({"/context/config/team": value, "/context/config/local": value})
		config.team == {} with input as document
		config.local == {} with input as document
		config.has_team == false with input as document
	}
	config.has_team with input as testing.change_under({}, null)
}

# METADATA
# custom:
#   req: [T-11]
test_switches_of_either_file_are_on if {
	every case in [[true, null, true], [null, true, true], [false, true, true], [true, false, true], [false, null, false]] {
		[team, local, expected] := case
		document := testing.change_under(
			{"approvals": {"four_eyes": team}, "pause": {"hard": team}},
			{"approvals": {"four_eyes": local}, "pause": {"hard": local}},
		)
		config.four_eyes == expected with input as document
		config.hard_pause == expected with input as document
	}
	not config.four_eyes with input as testing.change_under(null, null)
	not config.hard_pause with input as testing.change_under(null, null)
}

# METADATA
# custom:
#   req: [T-11]
test_local_profile_is_only_ever_stricter if {
	every case in [
		[null, null, "strict"],
		[{}, {"sandbox": {"profile": "dev"}}, "strict"],
		[{"sandbox": {"profile": "strict"}}, {"sandbox": {"profile": "dev"}}, "strict"],
		[{"sandbox": {"profile": "dev"}}, {"sandbox": {"profile": "strict"}}, "strict"],
		[{"sandbox": {"profile": "dev"}}, {"sandbox": {"profile": "dev"}}, "dev"],
		[{"sandbox": {"profile": "dev"}}, null, "dev"],
		[{"sandbox": {"profile": null}}, null, "strict"],
	] {
		[team, local, expected] := case
		config.profile == expected with input as testing.change_under(team, local)
	}
}

# METADATA
# custom:
#   req: [T-11]
test_strongest_minimum_backend_is_asked_for if {
	every case in [
		[null, null, 1],
		["bubblewrap", null, 2],
		["bubblewrap", "gvisor", 3],
		["gvisor", "nsjail", 3],
		[null, "firecracker", 4],
		["nsjail", "none", 1],
	] {
		[team, local, expected] := case
		config.minimum_backend_rank == expected with input as testing.change_under(
			{"sandbox": {"minimum_backend": team}},
			{"sandbox": {"minimum_backend": local}},
		)
	}
}

test_weak_minimum_of_the_files_is_the_bundles if {
	config.minimum_backend_rank == 3 with input as testing.change_under({"sandbox": {"minimum_backend": "nsjail"}}, null)
		with data.tipstaff.evidence.minimum_backend as "gvisor"
}

# METADATA
# custom:
#   req: [S-02]
test_backends_are_left_out_and_never_reordered if {
	every names in [[], ["nsjail"], ["gvisor", "nsjail"], ["firecracker", "gvisor", "bubblewrap", "nsjail"]] {
		_valid({"sandbox": {"backends": names}}, {"sandbox": {"backends": names}})
	}
	every names in [["nsjail", "bubblewrap"], ["gvisor", "gvisor"], ["gvisor", "nsjail", "bubblewrap"], ["gvisor", "nsjail", "firecracker"]] {
		not _valid({"sandbox": {"backends": names}}, null)
		not _valid(null, {"sandbox": {"backends": names}})
	}
}

test_every_protection_that_a_probe_knows_can_be_asked_for if {
	every name in [
		"network", "write", "home", "environment", "processes", "descriptors", "privileges", "terminal", "system_calls",
	] {
		_valid({"sandbox": {"require": {"augment": {"held": [name]}}}}, null)
	}
}

# METADATA
# custom:
#   req: [S-10, T-11]
test_class_asks_for_more_than_all_changes_do if {
	every case in [
		[{}, {}, 1, set()],
		[{"minimum_backend": "gvisor"}, {}, 3, set()],
		[{}, {"minimum_backend": "bubblewrap"}, 2, set()],
		[{"minimum_backend": "gvisor"}, {"minimum_backend": "bubblewrap"}, 3, set()],
		[{"held": ["home"]}, {"held": ["terminal", "home"]}, 1, {"home", "terminal"}],
		[{"held": null}, {"held": ["terminal"]}, 1, {"terminal"}],
	] {
		[team, local, rank, held] := case
		document := testing.change_under({"sandbox": {"require": {"heal_additive": team}}}, {"sandbox": {"require": {"heal_additive": local}}})
		config.minimum_backend_rank == rank with input as document
		config.required_protections == {"network", "write"} | held with input as document
		other := testing.with_facts(document, {"/action/class": "augment"})
		config.minimum_backend_rank == 1 with input as other
		config.required_protections == {"network", "write"} with input as other
	}
	nobody := testing.without(testing.change, ["/action/class"])
	config.required_protections == {"network", "write"} with input as nobody
}
