package tipstaff.guard_test

import data.tipstaff.guard
import data.tipstaff.testing

# METADATA
# custom:
#   req: [A-03, E-11]
test_measurement_of_another_shape_is_invalid if {
	numbers_of_no_thing := [-1, 1.5, 12.0, 1e3, "12", null, true, [], {}]
	texts_of_no_kind := ["", 5, true, null, [], {}, "a\u202e"]
	digests_of_no_kind := ["", "d", 5, true, [], {}, upper(testing.digest("d"))]
	every case in [
		["block/path", texts_of_no_kind],
		["block/id", texts_of_no_kind],
		["block/class", ["", 5, true, [], {}]],
		["block/confidence_permille", [-1, 0.75, "900", true, [], {}]],
		["block/prose_sha256", digests_of_no_kind],
		["script/path", texts_of_no_kind],
		["script/sha256", digests_of_no_kind],
		["outside", ["", 5, true, [], {}]],
		["outside/before_sha256", digests_of_no_kind],
		["outside/after_sha256", digests_of_no_kind],
		["tokens", ["", 5, true, [], {}]],
		["tokens/tokenizer", texts_of_no_kind],
		["tokens/version", texts_of_no_kind],
		["tokens/vocabulary_sha256", digests_of_no_kind],
		["tokens/before", numbers_of_no_thing],
		["tokens/after", numbers_of_no_thing],
		["prose", ["", 5, true, [], {}]],
		["prose/source", texts_of_no_kind],
		["prose/model", texts_of_no_kind],
		["prose/recorded_from", ["", "now", 5, null]],
		["prose/recorded_until", ["", "now", 5, null]],
		["prose/sha256", digests_of_no_kind],
		["control", ["", 5, true, [], {}]],
		["control/passed", numbers_of_no_thing],
		["control/failed", numbers_of_no_thing],
		["control/skipped", numbers_of_no_thing],
		["sandbox", ["", 5, true, [], {}]],
		["sandbox/held", ["network", null]],
		["inputs", ["", 5, true, null, {}, [5], [null]]],
		["inputs/0/name", texts_of_no_kind],
		["inputs/0/input_sha256", digests_of_no_kind],
		["inputs/0/expected_sha256", digests_of_no_kind],
		["inputs/0/script_outputs", ["", 5, true, {}, [5], ["d"]]],
		["inputs/0/prose_outputs", ["", 5, true, {}, [5], ["d"], [null]]],
	] {
		[place, values] := case
		every value in values {
			print(place, value)
			_invalid(testing.augment, concat("/", ["/evidence/augment", place]), value) == {"augment"}
		}
	}
	_invalid(testing.augment, "/evidence/augment", "facts") == {"augment"}
}

test_measurement_that_is_absent_is_not_invalid if {
	every part in ["outside", "tokens", "prose", "control", "sandbox", "block/class", "block/confidence_permille"] {
		_invalid(testing.augment, concat("/", ["/evidence/augment", part]), null) == set()
		without := testing.without(testing.augment, [concat("/", ["/evidence/augment", part])])
		guard.invalid == set() with input as without
	}
	_invalid(testing.augment, "/evidence/augment/inputs/0/script_outputs", [null, testing.digest("a")]) == set()
	_invalid(testing.augment, "/evidence/augment/inputs/0/script_outputs", null) == set()
	_invalid(testing.augment, "/evidence/augment/inputs/0/prose_outputs", null) == set()
	_invalid(testing.augment, "/evidence/augment", null) == set()
}
