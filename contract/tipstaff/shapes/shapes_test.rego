package tipstaff.shapes_test

import data.tipstaff.shapes
import data.tipstaff.testing

# What has another type than the one that is asked for.
_others := [null, true, false, 0, 1, -1, 1.5, "", [], {}, [[]], {"a": 1}]

test_visible_text_is_text if {
	every text in ["a", "alice", "a b", "naïve", "日本", "a/b@c:d", "x\"y", "<&>"] {
		shapes.is_text(text)
	}
}

test_hidden_or_broken_text_is_no_text if {
	every text in array.concat(_others, ["a\n", "a\tb", "a\u0000", "a\u200b", "\u2028", "\u2029", "\ufeffa", "\u202ea"]) {
		not shapes.is_text(text)
	}
}

# METADATA
# custom:
#   req: [E-11]
test_written_digits_are_a_count if {
	shapes.are_counts([0, 1, 12, 999999999999999])
	not shapes.are_counts([])
}

# METADATA
# custom:
#   req: [E-11]
test_floats_and_strings_are_no_count if {
	every value in [null, "12", 12, {}, {"a": 12}] {
		not shapes.are_counts(value)
	}
	every value in ["0", "12", "", null, true, [], {}, -1, 0.5, 12.5, 12.0, 1.2e1, 1e309, 1000000000000000] {
		not shapes.are_counts([value])
		not shapes.are_counts([7, value])
	}
}

test_lower_case_hex_is_a_digest if {
	shapes.is_sha256(testing.digest("0"))
	shapes.is_sha256(testing.digest("f"))
}

test_other_text_is_no_digest if {
	every value in array.concat(_others, [
		testing.digest("F"),
		testing.digest("g"),
		substring(testing.digest("a"), 0, 63),
		concat("", [testing.digest("a"), "a"]),
		concat("", [testing.digest("a"), "\n"]),
	]) {
		not shapes.is_sha256(value)
	}
}

test_utc_time_is_a_point_in_time if {
	every time in ["2026-07-01T12:00:00Z", "2026-12-31T23:59:59.123456789Z", "2026-01-30T00:00:00.0Z", "1970-01-01T00:00:00Z", "2199-12-31T00:00:00Z"] {
		shapes.is_timestamp(time)
	}
}

test_other_times_are_no_point_in_time if {
	every value in array.concat(_others, [
		"2026-07-01 12:00:00Z",
		"1969-12-31T12:00:00Z",
		"2200-01-01T12:00:00Z",
		"9999-12-31T12:00:00Z",
		"2026-07-01T12:00:00",
		"2026-07-01T12:00:00+02:00",
		"2026-07-01T12:00:00z",
		"2026-13-01T12:00:00Z",
		"2026-00-01T12:00:00Z",
		"2026-07-32T12:00:00Z",
		"2026-07-00T12:00:00Z",
		"2026-07-01T24:00:00Z",
		"2026-07-01T12:60:00Z",
		"2026-07-01T12:00:60Z",
		"2026-07-01T12:00:00.Z",
		"2026-07-01T12:00:00Z\n",
		" 2026-07-01T12:00:00Z",
		"tomorrow",
	]) {
		not shapes.is_timestamp(value)
	}
}

test_lists_of_names_are_capabilities if {
	every list in [[], ["db_write"], ["a", "b2"]] {
		shapes.are_capabilities(list)
	}
}

test_other_lists_are_no_capabilities if {
	every value in [null, "db_write", {}, {"a": "db_write"}, [5], [null], [""], ["Db"], ["db write"], ["db\u200b"], ["a", "B"]] {
		not shapes.are_capabilities(value)
	}
}

test_lists_of_patterns_are_globs if {
	every list in [[], ["**"], ["skills/**/SKILL.md", "a?b"], ["[a-z]x", "[!a]"], ["{a,b}/**", "\\*"]] {
		shapes.are_globs(list)
	}
}

test_other_lists_are_no_globs if {
	every value in [null, "**", {}, {"a": "**"}, [5], [null], [""], ["["], ["a]"], ["{a"], ["a}"], ["a\\"], ["[]"], ["a\n"]] {
		not shapes.are_globs(value)
	}
}

test_lists_of_text_are_texts if {
	shapes.are_texts([])
	shapes.are_texts(["a", "b"])
}

test_other_lists_are_no_texts if {
	every value in [null, "a", {}, {"a": "b"}, [5], [null], [""], ["a", "b\n"]] {
		not shapes.are_texts(value)
	}
}
