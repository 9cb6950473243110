package tipstaff.evidence

import data.tipstaff.reasons

# METADATA
# title: Whether the change only adds
# description: |
#   True when every file is new, or has only additions that touch no existing definition and keeps its name and mode.
default purely_additive := false

purely_additive if {
	count(input.resource.files) > 0
	every file in input.resource.files {
		_additive(file)
	}
}

_additive(file) if {
	file.status == "added"
	is_string(file.language)
}

_additive(file) if {
	file.status == "modified"
	file.additions_only == true
	file.mode_changed == false
	file.touches_existing_definition == false
}

# METADATA
# title: Change is not additive
# description: Something that exists is changed, removed, renamed, or cannot be told to be untouched.
# custom:
#   code: change.not_additive
#   message: the change does more than add, or its language cannot be read well enough to tell
#   solution: split what only adds into a change of its own
#   controls: [OWASP-LLM06:2025]
shortfalls contains reasons.of(rego.metadata.chain()) if not purely_additive
