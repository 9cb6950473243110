package tipstaff.evidence

import data.tipstaff.drift
import data.tipstaff.reasons

# METADATA
# title: Whether the change only adds
# description: |
#   True when every file is new and takes no existing module's name, or keeps its name and mode and only gains what
#   touches no existing definition. Where a language has keys, gaining a key may put a comma on the line before it, so
#   its lines say nothing.
default purely_additive := false

purely_additive if {
	is_array(input.resource.files)
	input.resource.files != []
	every file in input.resource.files {
		_additive(file)
	}
}

_additive(file) if {
	file.status == "added"
	not file.touches_existing_definition == true
}

_additive(file) if {
	file.status == "modified"
	file.mode_changed == false
	file.touches_existing_definition == false
	_only_gains(file)
}

_only_gains(file) if file.additions_only == true

_only_gains(file) if file.language in data.tipstaff.evidence.keyed_languages

# METADATA
# title: Change is not additive
# description: Something that exists is changed, removed, renamed, or cannot be told to be untouched.
# custom:
#   code: change.not_additive
#   message: the change does more than add, or its language cannot be read well enough to tell
#   solution: split what only adds into a change of its own
#   controls: [OWASP-LLM06:2025]
shortfalls contains reasons.of(rego.metadata.chain()) if {
	not purely_additive
	not replaces_one_block
	not takes_up_additions
}

# METADATA
# title: Whether the change takes up contracts that only gained something, and only adds beside them
default takes_up_additions := false

takes_up_additions if {
	count(drift.additions) > 0
	every file in input.resource.files {
		_adds_or_takes_up(file)
	}
}

_adds_or_takes_up(file) if _additive(file)

_adds_or_takes_up(file) if {
	file.path in drift.additions
	file.status == "modified"
	file.mode_changed == false
}

# What a person has to look at in a contract is as much a shortfall as anything else.
shortfalls contains reason if some reason in drift.require_approval

# METADATA
# title: New file of an unknown language
# description: A new file is of no language that is read, so nobody looked at what it does.
# custom:
#   code: change.unread
#   message: "{it} is new and of a language that is not read"
#   solution: have a person approve, or leave the file out
#   controls: [OWASP-LLM06:2025]
shortfalls contains reasons.on(rego.metadata.chain(), file.path) if {
	some file in input.resource.files
	file.status == "added"
	not is_string(object.get(file, "language", null))
}
