package tipstaff.paths_test

import data.tipstaff.paths

# Each letter, or letters, with those that are taken for it.
_alike := {
	"-": "\uff0d\u2010\u2011\u2013\u2212",
	".": "\uff0e\u2024",
	"/": "\uff0f\u2215\u2044",
	"_": "\uff3f",
	"a": "\u0430\u0251\u03b1\uff41",
	"b": "\uff42",
	"c": "\u0441\u03f2\uff43\u217d",
	"d": "\u0501\uff44\u217e",
	"e": "\u0435\uff45\u212e",
	"f": "\uff46",
	"ff": "\ufb00",
	"ffi": "\ufb03",
	"ffl": "\ufb04",
	"fi": "\ufb01",
	"fl": "\ufb02",
	"g": "\u0261\uff47",
	"h": "\u04bb\uff48",
	"i": "\u0456\u0131\u03b9\uff49\u2170",
	"j": "\u0458\u03f3\uff4a",
	"k": "\u043a\u03ba\uff4b",
	"l": "\u04cf\uff4c\u217c",
	"m": "\uff4d\u217f",
	"n": "\u0578\uff4e",
	"o": "\u043e\u03bf\u0585\uff4f",
	"p": "\u0440\u03c1\uff50",
	"q": "\u051b\uff51",
	"r": "\u0433\uff52",
	"s": "\u017f\u0455\uff53",
	"ss": "\u00df",
	"st": "\ufb05\ufb06",
	"t": "\u0442\u03c4\uff54",
	"u": "\u057d\u03c5\uff55",
	"v": "\u03bd\u0475\uff56\u2174",
	"w": "\u0461\uff57",
	"x": "\u0445\u03c7\uff58\u2179",
	"y": "\u0443\u03b3\uff59",
	"z": "\uff5a",
}

# METADATA
# custom:
#   promise: [A8]
test_letter_that_looks_like_another_is_read_as_it if {
	every letter, others in _alike {
		every other in split(others, "") {
			paths.folded(other) == letter
		}
	}
}

# METADATA
# custom:
#   req: [G-07]
#   promise: [A8]
test_every_letter_of_a_protected_name_has_its_look_alikes if {
	places := data.tipstaff.paths.control_plane
	every letter in split(lower(concat("", array.concat(places.at_root, places.anywhere))), "") {
		_alike[letter] != ""
	}
}
