package org.capabilities_test

import data.org.capabilities

_change(class, requested, found) := {"kind": "change", "action": {
	"class": class,
	"requested_capabilities": requested,
	"found_capabilities": found,
}}

test_capability_is_denied_to_another_class if {
	every given in [_change("heal_warning", ["mail"], []), _change("heal_warning", [], ["mail"])] {
		{reason.message | some reason in capabilities.deny} == {"mail is for changes of the class augment"} with input as given
	}
}

test_capability_is_denied_to_a_change_without_a_class if {
	count(capabilities.deny) == 1 with input as {"kind": "change", "action": {"found_capabilities": ["mail"]}}
}

test_capability_is_not_denied_to_its_class if {
	count(capabilities.deny) == 0 with input as _change("augment", ["mail"], ["mail"])
}

test_other_capability_is_not_denied if {
	count(capabilities.deny) == 0 with input as _change("heal_warning", ["db_write"], [])
}
