# METADATA
# title: Augment
# description: |
#   A script may take the place of a block of prose where the skill's golden tests pass in isolation, its outputs vary no
#   more than those of the prose, and the text becomes meaningfully shorter. All three, or nothing is proposed.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.augment

import data.tipstaff.reasons

_facts := input.evidence.augment

# METADATA
# title: Whether a block is replaced
default replaces_prose := false

replaces_prose if is_object(_facts)

# METADATA
# title: What a caller is told before it measures
# description: |
#   How many runs each side takes, and whether a recording of the prose has as many, where there is one.
terms := {"runs": data.tipstaff.augment.runs, "is_recorded": count(_recorded_too_seldom) == 0} if replaces_prose

_recorded_too_seldom contains measured.name if {
	is_object(_facts.prose)
	some measured in _facts.inputs
	not _is_enough(object.get(measured, "prose_outputs", null))
}

# METADATA
# title: Reasons that measuring may settle
pending contains reason if {
	some reason in deny
	split(reason.code, ".")[0] in data.tipstaff.augment.gating
}

pending contains reason if {
	some reason in deny
	reason.code in data.tipstaff.augment.measured
}

# METADATA
# title: Another kind of block
# description: Only blocks of one class are replaced; where judgment is required, none is.
# custom:
#   code: augment.class
#   message: "a block of the class {it} is not replaced by a script"
#   solution: leave it to the model, or mark the block anew if its task has one right answer for each input
#   controls: [OWASP-LLM06:2025]
deny contains reasons.on(rego.metadata.chain(), object.get(_facts, ["block", "class"], "none")) if {
	replaces_prose
	not _facts.block.class == data.tipstaff.augment.class
}

# METADATA
# title: Classified with too little confidence
# description: The marker's confidence that the block is what it says is below the threshold, or it states none.
# custom:
#   code: augment.confidence
#   message: the block is classified with too little confidence
#   solution: look at the block again, and raise the confidence in its marker only if it is higher
deny contains reasons.of(rego.metadata.chain()) if {
	replaces_prose
	not _is_confident
}

_is_confident if {
	is_number(_facts.block.confidence_permille)
	_facts.block.confidence_permille >= data.tipstaff.augment.confidence_permille
}

# METADATA
# title: Too few tokens saved
# description: What replaces the prose is not shorter by the share that is asked for, counted in tokens.
# custom:
#   code: augment.tokens
#   message: the replacement does not save enough tokens
#   solution: replace longer prose, or leave it as it is
deny contains reasons.of(rego.metadata.chain()) if {
	_tokens_are_counted
	not _is_shorter
}

# Cross-multiplied, so that no fraction decides.
_is_shorter if {
	saved := _facts.tokens.before - _facts.tokens.after
	saved > 0
	saved * 100 >= _facts.tokens.before * data.tipstaff.augment.reduction_percent
}

_tokens_are_counted if {
	is_number(_facts.tokens.before)
	is_number(_facts.tokens.after)
}

_is_enough(outputs) if {
	is_array(outputs)
	count(outputs) >= data.tipstaff.augment.runs
}
