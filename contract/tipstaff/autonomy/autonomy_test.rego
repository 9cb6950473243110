package tipstaff.autonomy_test

import data.tipstaff.autonomy
import data.tipstaff.testing

_as(class, team, local) := testing.with_facts(testing.change_under(team, local), {"/action/class": class})

_tier(class, team, local) := tier if {
	tier := autonomy.tier with input as _as(class, team, local)
}

_reads(class, team) := testing.with_facts(_as(class, team, null), {"/resource/files": []})

# METADATA
# custom:
#   req: [T-04]
test_tiers_without_a_file_are_built_in if {
	every class, tier in {
		"audit": "auto",
		"augment": "propose",
		"heal_additive": "propose",
		"heal_breaking": "propose",
		"heal_warning": "propose",
	} {
		_tier(class, null, null) == {"effective": tier, "ceiling": tier, "set_by": {"file": null, "key": "built in"}}
	}
}

# METADATA
# custom:
#   req: [T-04]
test_class_the_team_does_not_name_is_propose if {
	every team in [{}, {"autonomy": {}}, {"autonomy": null}, {"autonomy": {"augment": "off"}}] {
		every class in ["audit", "heal_additive", "heal_warning"] {
			_tier(class, team, null) == {
				"effective": "propose",
				"ceiling": "propose",
				"set_by": {"file": "tipstaff.yaml", "key": "autonomy (class not named)"},
			}
		}
	}
}

# METADATA
# custom:
#   req: [T-05]
test_auto_is_admissible_for_reading_only if {
	every class, tier in {
		"audit": "auto",
		"augment": "propose",
		"heal_additive": "auto-if-tests-pass",
		"heal_breaking": "propose",
		"heal_warning": "propose",
	} {
		_tier(class, {"autonomy": {class: "auto"}}, null).effective == tier
	}
}

# METADATA
# custom:
#   req: [T-01, T-11, T-13]
test_lowest_of_all_settings_is_effective if {
	ranks := ["off", "propose", "auto-if-tests-pass"]
	every team in numbers.range(0, 2) {
		every local in numbers.range(0, 2) {
			every remembered in numbers.range(0, 2) {
				lowest := ranks[min([team, local, remembered])]
				_tier("heal_additive", {"autonomy": {"heal_additive": ranks[team]}}, {
					"autonomy": {"heal_additive": ranks[local]},
					"remembered_choices": {"heal_additive": ranks[remembered]},
				}).effective == lowest
			}
		}
	}
}

# METADATA
# custom:
#   req: [T-11, T-13]
test_setting_that_decided_is_named if {
	team := {"autonomy": {"augment": "propose"}}
	every case in [
		[{}, "tipstaff.yaml", "autonomy.augment"],
		[{"autonomy": {"augment": "auto"}}, "tipstaff.yaml", "autonomy.augment"],
		[{"autonomy": {"augment": "off"}}, "tipstaff.local.yaml", "autonomy.augment"],
		[{"remembered_choices": {"augment": "off"}}, "tipstaff.local.yaml", "remembered_choices.augment"],
	] {
		[local, file, key] := case
		tier := _tier("augment", team, local)
		tier.set_by == {"file": file, "key": key}
		tier.ceiling == "propose"
	}
}

# METADATA
# custom:
#   req: [T-14]
test_invalid_tier_turns_every_class_off if {
	every files in [[{"autonomy": {"heal_additive": "propse"}}, null], [null, {"remembered_choices": {"augment": 1}}]] {
		every class in ["audit", "augment", "heal_additive", "heal_breaking", "heal_warning"] {
			document := _as(class, files[0], files[1])
			autonomy.tier.effective == "off" with input as document
			autonomy.tier.ceiling == "off" with input as document
			{"config.invalid", "tier.off"} - testing.codes(autonomy.deny) == set() with input as document
			testing.assert_codes(autonomy.grant, set()) with input as document
		}
	}
}

# METADATA
# custom:
#   req: [T-03]
test_unknown_class_is_refused_and_has_no_tier if {
	every class in ["heal_foo", "Audit", "audit ", "", true, 5, [], {}, ["audit"]] {
		document := _as(class, {"autonomy": {"audit": "auto"}}, null)
		testing.assert_codes(autonomy.deny, {"class.unknown"}) with input as document
		testing.assert_codes(autonomy.grant, set()) with input as document
		not autonomy.tier with input as document
	}
	testing.assert_codes(autonomy.deny, set()) with input as _as(null, null, null)
	testing.assert_codes(autonomy.deny, {"class.unknown", "config.invalid"}) with input as _as("x", {"autonomy": 1}, null)
}

# METADATA
# custom:
#   req: [T-09]
test_class_that_is_off_is_refused if {
	every class in ["augment", "heal_additive", "heal_breaking", "heal_warning"] {
		testing.assert_codes(autonomy.deny, {"tier.off"}) with input as _as(class, {"autonomy": {class: "off"}}, null)
		testing.assert_codes(autonomy.deny, set()) with input as _as(class, {"autonomy": {class: "propose"}}, null)
	}
}

# METADATA
# custom:
#   req: [T-05]
test_reading_class_with_files_is_refused if {
	every tier in ["propose", "auto-if-tests-pass", "auto"] {
		document := _as("audit", {"autonomy": {"audit": tier}}, null)
		testing.assert_codes(autonomy.deny, {"class.read_only"}) with input as document
		not "tier.auto" in testing.codes(autonomy.grant) with input as document
	}
}

# METADATA
# custom:
#   req: [T-05]
test_reading_class_without_files_is_granted if {
	testing.assert_codes(autonomy.grant, {"tier.auto"}) with input as _reads("audit", null)
	testing.assert_codes(autonomy.deny, set()) with input as _reads("audit", null)
	testing.assert_codes(autonomy.require_approval, set()) with input as _reads("audit", null)
	testing.assert_codes(autonomy.grant, set()) with input as _reads("audit", {"autonomy": {"audit": "propose"}})
	testing.assert_codes(autonomy.grant, set()) with input as _reads("heal_warning", {"autonomy": {"heal_warning": "auto"}})
}

test_writing_class_at_auto_is_not_granted if {
	# The bundle's own data says otherwise here, as an edit by mistake would.
	document := _reads("heal_breaking", {"autonomy": {"heal_breaking": "auto"}})
	testing.assert_codes(autonomy.grant, set()) with input as document
		with data.tipstaff.autonomy.classes.heal_breaking.where_auto as "auto"
}

# METADATA
# custom:
#   req: [T-08]
test_class_at_propose_is_asked_about if {
	document := _as("heal_warning", {"autonomy": {"heal_warning": "propose"}}, null)
	testing.assert_codes(autonomy.require_approval, {"tier.propose"}) with input as document
	testing.assert_codes(autonomy.grant, set()) with input as document
}

# METADATA
# custom:
#   req: [T-06]
test_green_additive_change_is_granted if {
	testing.assert_codes(autonomy.grant, {"tier.auto_if_tests_pass"}) with input as testing.change
	testing.assert_codes(autonomy.require_approval, set()) with input as testing.change
	testing.assert_codes(autonomy.deny, set()) with input as testing.change
}

# METADATA
# custom:
#   req: [T-06]
test_change_with_a_shortfall_is_asked_about if {
	every case in [
		[{"/evidence/tests/passed": 11, "/evidence/tests/failed": 1}, {"tests.failed"}],
		[{"/resource/files/0/status": "deleted"}, {"change.not_additive"}],
		[{"/evidence/tests": null}, {"tests.none"}],
	] {
		[facts, codes] := case
		document := testing.change_with(facts)
		testing.assert_codes(autonomy.require_approval, codes) with input as document
		testing.assert_codes(autonomy.grant, set()) with input as document
	}
}

# METADATA
# custom:
#   req: [T-08]
test_shortfall_is_not_reported_below_its_tier if {
	document := testing.with_facts(_as("heal_additive", {"autonomy": {"heal_additive": "propose"}}, null), {"/evidence/tests": null})
	testing.assert_codes(autonomy.require_approval, {"tier.propose"}) with input as document
}

test_tier_under_an_invalid_configuration_says_why_it_is_off if {
	_tier("augment", {"autonomy": {"augment": "highest"}}, null) == {
		"effective": "off",
		"ceiling": "off",
		"set_by": {"file": null, "key": "configuration is invalid"},
	}
}
