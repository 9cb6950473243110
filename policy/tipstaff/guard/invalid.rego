package tipstaff.guard

import data.tipstaff.shapes

# METADATA
# title: Names of the facts that are not of their shape
# description: A fact that is absent is not named here.
invalid contains name if {
	some facts in [data.tipstaff.guard.needed, data.tipstaff.guard.optional]
	some group in ["every", input.kind]
	some name, path in facts[group]
	value := object.get(input, path, null)
	not is_null(value)
	not _sound(name, value)
}

_sound("subject", value) if shapes.is_text(value)

_sound("actor", value) if value in data.tipstaff.guard.actors

_sound("actor_id", value) if shapes.is_text(value)

_sound("now", value) if shapes.is_timestamp(value)

_sound("latest", value) if shapes.is_timestamp(value)

_sound("has_overlay", value) if is_boolean(value)

_sound("decision_id", value) if shapes.is_text(value)

_sound("judged_sha256", value) if shapes.is_sha256(value)

_sound("class", value) if shapes.is_text(value)

_sound("requested_capabilities", value) if shapes.are_capabilities(value)

_sound("found_capabilities", value) if shapes.are_capabilities(value)

_sound("base", value) if shapes.is_text(value)

_sound("diff_sha256", value) if shapes.is_sha256(value)

_sound("act", value) if shapes.is_text(value)

_sound("resource", value) if shapes.is_text(value)

_sound("evidence", value) if is_object(value)

_sound("pause", pause) if {
	is_boolean(pause.hard)
	_is_null_or_boolean(pause.global)
	_is_null_or_boolean(pause.user)
	is_object(pause.switches)
	every word in pause.switches {
		is_string(word)
	}
}

_sound("config", config) if {
	_comes_with_digest(config.team, config.team_sha256)
	_comes_with_digest(config.local, config.local_sha256)
	is_boolean(config.local_tracked)
}

_sound("approval", approval) if {
	shapes.is_sha256(approval.digest)
	shapes.is_text(approval.status)
	shapes.is_text(approval.requested_by.id)
	shapes.is_text(approval.decided_by.id)
	shapes.is_timestamp(approval.decided_at)
	shapes.is_timestamp(approval.expires_at)
	shapes.are_counts([approval.confirmations])
}

_sound("tests", tests) if {
	shapes.are_counts([tests.passed, tests.failed, tests.skipped])
	shapes.is_sha256(tests.diff_sha256)
	_is_null_or_text(object.get(tests, "command", null))
}

_sound("sandbox", sandbox) if _is_sandbox(sandbox)

_is_sandbox(sandbox) if {
	shapes.is_text(sandbox.backend)
	shapes.is_text(sandbox.profile)
	is_boolean(sandbox.isolated)
	shapes.are_texts(sandbox.held)
	_is_null_or_text(object.get(sandbox, "backend_version", null))
	_is_null_or_text(object.get(sandbox, "kernel", null))
	every digest in [digest | some name in {"spec_sha256", "input_sha256"}; digest := sandbox[name]; digest != null] {
		shapes.is_sha256(digest)
	}
}

_sound("files", files) if {
	is_array(files)
	every file in files {
		is_string(file.path)
		_is_named(file)
		is_boolean(file.additions_only)
		is_boolean(file.mode_changed)
		is_boolean(file.binary)
		shapes.are_counts([file.added, file.removed])
		_is_null_or_boolean(file.touches_existing_definition)
		_is_null_or_text(file.language)
	}
}

_is_named(file) if {
	file.status in data.tipstaff.guard.statuses.one_name
	_is_null_or_string(object.get(file, "old_path", null))
}

# A rename would hide where a file came from if it did not say so.
_is_named(file) if {
	file.status in data.tipstaff.guard.statuses.two_names
	is_string(file.old_path)
}

# A file that got lost on the way would look like none.
_comes_with_digest(null, null)

_comes_with_digest(file, digest) if {
	is_object(file)
	shapes.is_sha256(digest)
}

_is_null_or_string(null)

_is_null_or_string(value) if is_string(value)

_is_null_or_boolean(null)

_is_null_or_boolean(value) if is_boolean(value)

_is_null_or_text(null)

_is_null_or_text(value) if shapes.is_text(value)
