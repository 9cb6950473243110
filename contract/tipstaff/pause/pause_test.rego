package tipstaff.pause_test

import data.tipstaff.pause
import data.tipstaff.testing

_state := {"global": false, "user": false, "hard": false, "switches": {}}

_waits(state, team) := codes if {
	document := testing.with_facts(testing.change_under(team, null), {"/context/pause": state})
	codes := testing.codes(pause.require_approval) with input as document
}

_holds(state, team, local) := codes if {
	document := testing.with_facts(testing.change_under(team, local), {"/context/pause": state})
	codes := testing.codes(pause.hold) with input as document
}

test_no_pause_is_nothing_to_wait_for if {
	_waits(_state, null) == set()
	_holds(_state, null, null) == set()
}

# METADATA
# custom:
#   req: [PA-01, PA-03]
test_either_pause_is_enough if {
	_waits(object.union(_state, {"global": true}), null) == {"pause.global"}
	_waits(object.union(_state, {"user": true}), null) == {"pause.user"}
	_waits(object.union(_state, {"global": true, "user": true}), null) == {"pause.global", "pause.user"}
}

# METADATA
# custom:
#   req: [PA-05]
test_words_that_are_clearly_off_do_not_pause if {
	every word in ["", " ", "0", "false", "no", "off", "FALSE", "No", " off ", "Off\n", "\t0"] {
		_waits(object.union(_state, {"switches": {"TIPSTAFF_AUTO_EXECUTE_DISABLED": word}}), null) == set()
	}
}

# METADATA
# custom:
#   req: [PA-05]
test_any_other_word_pauses if {
	every word in ["TRUE", "1", "yes", "treu", "true", "on", "00", "0.0", "no!", "off\u200b", "null", "０", true, null, 0, [], {}] {
		_waits(object.union(_state, {"switches": {"TIPSTAFF_AUTO_EXECUTE_DISABLED": word}}), null) == {"pause.global"}
	}
}

# METADATA
# custom:
#   req: [PA-01]
test_any_switch_of_several_pauses if {
	_waits(object.union(_state, {"switches": {"ONE": "off", "OTHER": "true"}}), null) == {"pause.global"}
}

# METADATA
# custom:
#   req: [PA-05]
test_unreadable_state_pauses if {
	every facts in [{"global": null}, {"user": null}, {"global": "false"}, {"user": 0}, {"switches": null}, {"switches": []}] {
		_waits(object.union(_state, facts), null) == {"pause.unknown"}
	}
	every name in ["global", "user", "switches"] {
		_waits(object.remove(_state, [name]), null) == {"pause.unknown"}
	}
	every state in [null, [], "on", {}] {
		_waits(state, null) == {"pause.unknown"}
	}
}

# METADATA
# custom:
#   req: [PA-02]
test_global_pause_is_ordered_before_user_pause if {
	document := testing.change_with({"/context/pause": object.union(_state, {"global": true, "user": true})})
	reasons := pause.require_approval with input as document
	[code | some [_, code] in sort([[reason.order, reason.code] | some reason in reasons])] == ["pause.global", "pause.user"]
}

test_soft_pause_holds_nothing_approved if {
	_holds(object.union(_state, {"global": true, "user": true}), {"pause": {"hard": false}}, {"pause": {"hard": false}}) == set()
}

test_hard_pause_holds_what_is_approved if {
	paused := object.union(_state, {"global": true})
	_holds(paused, {"pause": {"hard": true}}, null) == {"pause.global"}
	_holds(paused, null, {"pause": {"hard": true}}) == {"pause.global"}
	_holds(object.union(paused, {"hard": true}), null, null) == {"pause.global"}
	_holds(object.union(_state, {"hard": true}), null, null) == set()
}
