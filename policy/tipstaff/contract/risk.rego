package tipstaff.contract

# METADATA
# title: Whether it is low risk
# description: Of the lowest severity, only adding, and nothing destructive among what is new.
default low_risk := false

low_risk if {
	drift
	severity == "info"
	count(_not_additive) == 0
	count(_destructive) == 0
	count(_unproved) == 0
}

_unproved contains canary.id if {
	some canary in _canaries
	not object.get(canary, "outcome", null) in data.tipstaff.contract.outcomes.proved
}

_not_additive contains change.path if {
	some change in input.evidence.changes
	not _is_additive(change)
}

_is_additive(change) if {
	some case in data.tipstaff.contract.additive
	_has(change, case)
}

_destructive contains _name(change) if {
	some change in input.evidence.changes
	is_destructive(object.get(change, "words", []), object.get(change, "stated", {}))
}

# METADATA
# title: Whether a tool is shaped as one that destroys
# description: By a word of its name, description or schema, or because it says so itself, whatever its words are.
is_destructive(words, _) if {
	some word in words
	some stem in data.tipstaff.contract.destructive_stems
	startswith(lower(word), stem)
}

is_destructive(_, stated) if {
	some hint, value in data.tipstaff.contract.destructive_hints
	stated[hint] == value
}

_name(change) := change.tool if {
	is_string(change.tool)
} else := "the server"
