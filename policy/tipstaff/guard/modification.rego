package tipstaff.guard

import data.tipstaff.shapes

_sound("artifact", value) if shapes.is_text(value)

_sound("modification", value) if shapes.is_text(value)

_sound("target", value) if shapes.is_text(value)

_sound("source_sha256", value) if shapes.is_sha256(value)

_sound("content_sha256", value) if shapes.is_sha256(value)

_sound("caller", value) if value in data.tipstaff.guard.callers

_sound("contaminated", value) if is_boolean(value)

_sound("conformal", value) if value in data.tipstaff.guard.trial_results

_sound("sequential", value) if value in data.tipstaff.guard.trial_results

_sound("risk", value) if _is_share(value)

_sound("deployment_risk", value) if _is_share(value)

_sound("supplied", supplied) if {
	every name in ["prover", "approval_store", "rollback"] {
		is_boolean(supplied[name])
	}
	_is_null_or_boolean(object.get(supplied, "pinned_store", null))
	_is_null_or_texts(object.get(supplied, "references", null))
}

_sound("static", static) if {
	_is_null_or_text(object.get(static, "language", null))
	is_string(static.syntax)
	_is_null_or_string(object.get(static, "error", null))
	shapes.are_texts(static.imports)
	shapes.are_texts(static.calls)
	shapes.are_texts(static.unresolved)
	shapes.are_capabilities(static.capabilities)
}

_sound("scores", scores) if {
	every name in ["before", "after"] {
		_are_scores(scores[name])
		shapes.is_sha256(scores[concat("_", [name, "sha256"])])
		_is_null_or_attestation(object.get(scores, concat("_", [name, "attestation"]), null))
	}
}

_sound("proof", proof) if {
	shapes.is_text(proof.status)
	is_string(proof.detail)
}

_sound("stored_approval", approval) if shapes.is_text(approval.status)

_sound("rehearsal", rehearsal) if {
	is_boolean(rehearsal.restored)
	is_string(rehearsal.detail)
}

_sound("asked", settings) if _are_settings_of_both(settings)

_sound("team", settings) if _are_settings_of_both(settings)

_are_settings_of_both(settings) if {
	is_object(settings)
	every group, values in object.filter(settings, ["gate", "rules"]) {
		data.tipstaff.guard.modification_settings[group]
		_are_settings(group, values)
	}
	_is_null_or_texts(object.get(settings, "allowed_suffixes", null))
	_is_null_or_boolean(object.get(settings, "require_attestation", null))
}

_are_settings(group, values) if {
	is_object(values)
	every name, value in values {
		_is_setting(data.tipstaff.guard.modification_settings[group][name], value)
	}
}

_is_setting(_, null)

_is_setting("share", value) if _is_share(value)

_is_setting("count", value) if shapes.are_counts([value])

_is_setting("switch", value) if is_boolean(value)

_is_setting("names", value) if shapes.are_texts(value)

_is_setting("capabilities", value) if shapes.are_capabilities(value)

_is_share(value) if {
	shapes.are_counts([value])
	value <= 1000000000
}

_is_null_or_texts(null)

_is_null_or_texts(value) if shapes.are_texts(value)

_is_null_or_attestation(null)

_is_null_or_attestation(value) if {
	shapes.is_text(value.producer)
	shapes.is_sha256(value.source_sha256)
}

# Whole numbers of either sign, asked about at once for the reason that `are_counts` gives.
_are_scores(scores) if {
	is_object(scores)
	count(scores) > 0
	numbers := json.marshal([score | some score in scores])
	regex.match(`^\[(0|-?[1-9][0-9]{0,14})(,(0|-?[1-9][0-9]{0,14}))*\]$`, numbers)
}
