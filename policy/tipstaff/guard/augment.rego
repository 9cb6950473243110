package tipstaff.guard

import data.tipstaff.shapes

_sound("augment", facts) if {
	_is_block(facts.block)
	shapes.is_text(facts.script.path)
	shapes.is_sha256(facts.script.sha256)
	every part in ["outside", "tokens", "prose", "control", "sandbox"] {
		_is_null_or(part, object.get(facts, part, null))
	}
	is_array(facts.inputs)
	every measured in facts.inputs {
		_is_measured(measured)
	}
}

_is_null_or(_, null)

_is_null_or("outside", value) if {
	shapes.is_sha256(value.before_sha256)
	shapes.is_sha256(value.after_sha256)
}

_is_null_or("tokens", value) if {
	shapes.is_text(value.tokenizer)
	shapes.is_text(value.version)
	shapes.is_sha256(value.vocabulary_sha256)
	shapes.are_counts([value.before, value.after])
}

_is_null_or("prose", value) if {
	shapes.is_text(value.source)
	shapes.is_text(value.model)
	shapes.is_timestamp(value.recorded_from)
	shapes.is_timestamp(value.recorded_until)
	shapes.is_sha256(value.sha256)
}

_is_null_or("control", value) if shapes.are_counts([value.passed, value.failed, value.skipped])

_is_null_or("sandbox", value) if _is_sandbox(value)

_is_block(block) if {
	shapes.is_text(block.path)
	shapes.is_text(block.id)
	_is_null_or_text(object.get(block, "class", null))
	_is_null_or_count(object.get(block, "confidence_permille", null))
	shapes.is_sha256(block.prose_sha256)
}

_is_null_or_count(null)

_is_null_or_count(value) if shapes.are_counts([value])

_is_measured(measured) if {
	shapes.is_text(measured.name)
	shapes.is_sha256(measured.input_sha256)
	shapes.is_sha256(measured.expected_sha256)
	_are_outputs(object.get(measured, "script_outputs", null), {null})
	_are_outputs(object.get(measured, "prose_outputs", null), set())
}

_are_outputs(null, _)

_are_outputs(values, others) if {
	is_array(values)
	every value in values {
		_is_output(value, others)
	}
}

_is_output(value, others) if value in others

_is_output(value, _) if shapes.is_sha256(value)
