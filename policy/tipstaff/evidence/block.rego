package tipstaff.evidence

import data.tipstaff.reasons

# METADATA
# title: Whether the change replaces one block and only adds beside it
# description: |
#   Taking prose out is not adding. It is as harmless where the instruction text is the same apart from the replaced
#   block; that the golden tests cover the block is asked for apart from it.
default replaces_one_block := false

replaces_one_block if {
	input.action.class == "augment"
	_block.path in {file.path | some file in input.resource.files}
	every file in input.resource.files {
		_is_apart(file)
	}
}

_block := input.evidence.augment.block

_is_apart(file) if {
	file.path != _block.path
	_additive(file)
}

_is_apart(file) if {
	file.path == _block.path
	file.status == "modified"
	file.mode_changed == false
	outside := input.evidence.augment.outside
	is_string(outside.before_sha256)
	outside.before_sha256 == outside.after_sha256
}

# METADATA
# title: Block without coverage
# description: |
#   A script takes the place of prose, and the golden tests pass as well with a script that does nothing.
# custom:
#   code: augment.uncovered
#   message: the golden tests do not notice when the script does nothing
#   solution: add a golden test that runs the script, in a change of its own
#   controls: [OWASP-LLM06:2025]
shortfalls contains reasons.of(rego.metadata.chain()) if {
	is_object(input.evidence.augment)
	not _is_covered
}

_is_covered if {
	is_number(input.evidence.augment.control.failed)
	input.evidence.augment.control.failed > 0
}
