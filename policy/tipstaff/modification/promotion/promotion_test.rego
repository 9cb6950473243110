package tipstaff.modification.promotion_test

import data.tipstaff.modification.promotion
import data.tipstaff.testing

_said(facts) := said if {
	document := testing.modification_with(facts)
	denied := promotion.deny with input as document
	waiting := promotion.require_approval with input as document
	said := testing.codes(denied) | testing.codes(waiting)
}

_scores(before, after) := {"/evidence/scores/before": before, "/evidence/scores/after": after}

# METADATA
# custom:
#   req: [HP-10, HP-16]
test_mean_effect_must_reach_the_least_and_be_above_zero if {
	half := {"a": 500000000, "b": 500000000}
	every case in [
		[_scores(half, {"a": 520000000, "b": 500000000}), 10000000, set()],
		[_scores(half, {"a": 519999999, "b": 500000000}), 10000000, {"promotion.effect"}],
		[_scores(half, {"a": 500000001, "b": 500000000}), 0, set()],
		[_scores(half, half), 0, {"promotion.effect"}],
		[_scores(half, {"a": 600000000, "b": 400000000}), 0, {"promotion.effect"}],
		[_scores(half, {"a": 600000000}), 50000000, set()],
		[_scores(half, {"a": 600000000}), 50000001, {"promotion.effect"}],
	] {
		[facts, least, codes] := case
		print(facts, least)
		_said(object.union(facts, {"/evidence/asked/rules/min_effect": least})) == codes
	}
	floor := _said(_scores(half, {"a": 520000000, "b": 500000000})) with data.tipstaff.modification.settings.least as {"min_effect": 50000000, "min_tasks": 1}
	floor == {"promotion.effect"}
}

test_scores_must_be_of_enough_tasks if {
	_said({"/evidence/asked/rules/min_tasks": 2}) == set()
	_said({"/evidence/asked/rules/min_tasks": 3}) == {"promotion.tasks"}
	_said(_scores({}, {})) == {"promotion.effect", "promotion.tasks"}
	without := testing.without(testing.modification, ["/evidence/scores"])
	denied := promotion.deny with input as without
	testing.codes(denied) == {"promotion.effect", "promotion.tasks"}
}

# METADATA
# custom:
#   req: [HP-12]
test_trial_that_rejects_is_never_dropped_and_one_that_is_undecided_waits_where_it_is_asked_for if {
	every trial in ["conformal", "sequential"] {
		place := concat("/", ["/evidence", trial])
		asked := {sprintf("/evidence/asked/rules/require_%s", [trial]): true}
		rejected := {concat(":", ["promotion.trial_rejected", trial])}
		undecided := {concat(":", ["promotion.trial_undecided", trial])}
		_said({place: "reject"}) == rejected
		_said(object.union(asked, {place: "reject"})) == rejected
		_said({place: "undecided"}) == set()
		_said(object.union(asked, {place: "undecided"})) == undecided
		_said(asked) == undecided
		_said(object.union(asked, {place: "accept"})) == set()
		_said({place: "accept"}) == set()
	}
}

test_no_task_is_never_enough_and_one_is if {
	none := object.union(_scores({}, {}), {"/evidence/asked/rules/min_tasks": 0})
	said := _said(none) with data.tipstaff.modification.settings.least as {"min_effect": 0, "min_tasks": 0}
	said == {"promotion.effect", "promotion.tasks"}
	_said(_scores({"a": 500000000}, {"a": 600000000})) == set()
}
