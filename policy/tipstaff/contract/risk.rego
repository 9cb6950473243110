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
	some word in object.get(change, "words", [])
	some stem in data.tipstaff.contract.destructive_stems
	startswith(word, stem)
}

# A tool that itself says so is destructive whatever its words are.
_destructive contains _name(change) if {
	some change in input.evidence.changes
	some hint, value in data.tipstaff.contract.destructive_hints
	change.stated[hint] == value
}

_name(change) := change.tool if {
	is_string(change.tool)
} else := "the server"
