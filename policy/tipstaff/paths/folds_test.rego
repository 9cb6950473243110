package tipstaff.paths_test

import data.tipstaff.paths

_alike := {
	"-": "\uff0d\u2010\u2011\u2013\u2212",
	".": "\uff0e\u2024",
	"/": "\uff0f\u2215\u2044",
	"_": "\uff3f",
	"a": "аɑαａ",
	"b": "ｂ",
	"c": "сϲｃ\u217d",
	"d": "ԁｄ\u217e",
	"e": "еｅ\u212e",
	"f": "ｆ",
	"g": "ɡｇ",
	"h": "һｈ",
	"i": "іıιｉ\u2170",
	"j": "јϳｊ",
	"k": "кκｋ",
	"l": "ӏｌ\u217c",
	"m": "ｍ\u217f",
	"n": "ոｎ",
	"o": "оοօｏ",
	"p": "рρｐ",
	"q": "ԛｑ",
	"r": "гｒ",
	"s": "ſѕｓ",
	"t": "тτｔ",
	"u": "սυｕ",
	"v": "νѵｖ\u2174",
	"w": "ѡｗ",
	"x": "хχｘ\u2179",
	"y": "уγｙ",
	"z": "ｚ",
}

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
