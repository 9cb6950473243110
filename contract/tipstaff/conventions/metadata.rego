package tipstaff.conventions

_at[note.file][note.row] contains note.annotations if some note in input.annotations

_about[concat(".", note.path)] contains note.annotations if some note in input.annotations

# METADATA
# title: Missing metadata
# description: A package, a public rule or a reason lacks a key of its annotation, so that the reference has a gap.
# custom:
#   code: convention.metadata
#   message: "the annotation lacks {it}"
#   solution: "write {it} into the METADATA block above it"
findings contains _finding(rego.metadata.chain(), place, concat(".", key)) if {
	some [place, key] in _lacking
}

_lacking contains [_spot(source), key] if {
	some source in _live
	some key in data.tipstaff.conventions.package_keys
	every note in object.get(_about, source.path, set()) { _lacks(note, key) }
}

_lacking contains [_spot(place), key] if {
	some place in _rules
	_gives_reason(place)
	some key in data.tipstaff.conventions.reason_keys
	every note in _notes(place) { _lacks(note, key) }
}

_lacking contains [_spot(place), ["title"]] if {
	some place in _rules
	name := place.name
	not startswith(name, "_")
	every note in object.get(_about, place.path, set()) { _lacks(note, ["title"]) }
}

# A note on the whole document speaks for each of its rules.
_notes(place) := object.get(_at, [place.file, place.row], set()) | {note |
	some note in object.get(_about, place.path, set())
	note.scope == "document"
}

_lacks(note, key) if not _words(object.get(note, key, null))

_words(text) if {
	is_string(text)
	text != ""
}

# METADATA
# title: Unknown metadata
# description: A key under custom that nothing reads; most often one that is misspelt.
# custom:
#   code: convention.unknown_key
#   message: "nothing reads the key custom.{it}"
#   solution: use code, message, solution, controls, order, confirmations or severity
findings contains _finding(rego.metadata.chain(), place, key) if {
	some note in _live_notes
	some key in (object.keys(object.get(note.annotations, "custom", {})) - _custom_keys)
	place := _noted(note)
}

_custom_keys := {key | some key in data.tipstaff.conventions.custom_keys}

_live_notes := [note | some source in _live; some note in input.annotations; note.file == source.file]

_noted(note) := {"file": note.file, "row": note.row, "path": concat(".", note.path)}

_coded contains [code, _noted(note)] if {
	some note in _live_notes
	code := note.annotations.custom.code
}

# A code that is written into the reason itself.
_coded contains [code, _spot(place)] if {
	some place in _rules
	_gives_reason(place)
	some [key, value] in place.rule.head.key.value
	key.value == "code"
	value.type == "string"
	code := value.value
}

# METADATA
# title: Code used twice
# description: Two rules give one code, or a rule gives one that the engine gives, so it does not say which one spoke.
# custom:
#   code: convention.code_twice
#   message: "the code {it} is given in more than one place"
#   solution: "give one of the rules another code than {it}"
findings contains _finding(rego.metadata.chain(), place, code) if {
	some [code, place] in _coded
	places := {other | some [same, other] in _coded; same == code}
	count(places) + count({code} & {taken | some taken in input.taken}) > 1
}

# METADATA
# title: Code outside its family
# description: |
#   A code is words in lower case, joined by dots. An overlay's begins with its package, so that it never passes for one
#   of ours, and ours leave alone what the engine says.
# custom:
#   code: convention.code_family
#   message: "the code {it} is not one that this package may give"
#   solution: use lower-case words joined by dots, in an overlay beginning with its package, org.<name>
findings contains _finding(rego.metadata.chain(), place, code) if {
	some [code, place] in _coded
	not _in_family(code, place)
}

_in_family(code, place) if {
	regex.match(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`, code)
	_belongs(code, place)
}

_belongs(code, place) if {
	parts := split(place.path, ".")
	startswith(concat("", [code, "."]), concat("", [parts[0], ".", parts[1], "."]))
}

_belongs(code, _) if {
	not _is_overlay
	every start in data.tipstaff.conventions.reserved_codes { not startswith(code, start) }
}
