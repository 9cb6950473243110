package tipstaff.autonomy_test

import data.tipstaff.autonomy
import data.tipstaff.testing

# METADATA
# custom:
#   req: [T-11]
test_local_tier_above_the_ceiling_is_recorded if {
	every settings in ["autonomy", "remembered_choices"] {
		document := _as("augment", {"autonomy": {"augment": "propose"}}, {settings: {"augment": "auto"}})
		autonomy.tier.effective == "propose" with input as document
		testing.assert_codes(autonomy.advice, {"tier.blocked_by_ceiling"}) with input as document
		autonomy.obligations == {{
			"id": "record_clamp",
			"action_class": "augment",
			"requested": "auto",
			"ceiling": "propose",
		}} with input as document
	}
}

# METADATA
# custom:
#   req: [T-11]
test_auto_above_passing_tests_is_recorded if {
	document := _as("heal_additive", {"autonomy": {"heal_additive": "auto-if-tests-pass"}}, {"autonomy": {"heal_additive": "auto"}})
	{duty.requested | some duty in autonomy.obligations} == {"auto"} with input as document
}

# METADATA
# custom:
#   req: [T-13]
test_each_clamped_request_is_recorded if {
	document := _as("augment", {"autonomy": {"augment": "off"}}, {
		"autonomy": {"augment": "auto"},
		"remembered_choices": {"augment": "propose"},
	})
	{duty.requested | some duty in autonomy.obligations} == {"auto", "propose"} with input as document
}

# METADATA
# custom:
#   req: [T-11]
test_local_tier_within_the_ceiling_is_not_recorded if {
	every local in [null, {}, {"autonomy": {"augment": "propose"}}, {"autonomy": {"augment": "off"}}, {"autonomy": {"audit": "auto"}}] {
		document := _as("augment", {"autonomy": {"augment": "propose"}}, local)
		autonomy.obligations == set() with input as document
		testing.assert_codes(autonomy.advice, set()) with input as document
	}
}

# METADATA
# custom:
#   req: [T-05]
test_auto_for_a_writing_class_is_advised_against if {
	every class in ["augment", "heal_additive", "heal_breaking", "heal_warning"] {
		document := _as(class, {"autonomy": {class: "auto"}}, null)
		testing.assert_codes(autonomy.advice, {"tier.auto_not_readonly"}) with input as document
	}
	testing.assert_codes(autonomy.advice, set()) with input as _as("audit", {"autonomy": {"audit": "auto"}}, null)
	testing.assert_codes(autonomy.advice, set()) with input as _as("augment", {"autonomy": {"augment": "propose"}}, null)
}

# METADATA
# custom:
#   req: [T-10]
test_tracked_local_file_is_advised_against if {
	document := testing.change_with({"/context/config/local_tracked": true})
	testing.assert_codes(autonomy.advice, {"config.local_tracked"}) with input as document
	testing.assert_codes(autonomy.advice, set()) with input as testing.change
}

test_tier_in_another_group_of_the_local_file_is_no_clamp if {
	document := _as("augment", {"autonomy": {"augment": "propose"}}, {"sandbox": {"augment": "auto"}})
	autonomy.obligations == set() with input as document
}
