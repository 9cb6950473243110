package tipstaff.guard

import data.tipstaff.shapes

_sound("server", value) if shapes.is_text(value)

_sound("status", value) if shapes.is_text(value)

_sound("changes", changes) if _are_changes(changes)

_are_changes(changes) if {
	is_array(changes)
	every change in changes {
		shapes.is_text(change.kind)
		_is_null_or_string(object.get(change, "tool", null))
		is_string(change.path)
		_is_told(object.get(change, "words", []), object.get(change, "stated", {}))
	}
}

# Words and hints tell what is destructive; one that is no word would tell nothing.
_is_told(words, stated) if {
	shapes.are_texts(words)
	is_object(stated)
	every hint in stated {
		is_boolean(hint)
	}
}

_sound("drift", drift) if {
	is_array(drift.contracts)
	every pin in drift.contracts {
		_is_pin(pin)
	}
}

_is_pin(pin) if {
	shapes.is_text(pin.server)
	shapes.is_text(pin.status)
	is_string(pin.path)
	_are_changes(pin.changes)
	is_array(pin.versions)
	_are_canaries(object.get(pin, "canaries", []))
	every name in ["old_digest", "new_digest", "observed_digest"] {
		_is_null_or_sha256(object.get(pin, name, null))
	}
}

_is_null_or_sha256(null)

_is_null_or_sha256(value) if shapes.is_sha256(value)

_sound("canaries", canaries) if _are_canaries(canaries)

_are_canaries(canaries) if {
	is_array(canaries)
	every canary in canaries {
		shapes.are_texts([canary.id, canary.outcome])
	}
}

_sound("canary", canary) if {
	shapes.are_texts([canary.id, canary.tool])
	_is_told(canary.words, canary.stated)
	is_boolean(canary.granted)
	_is_null_or_count(canary.runs)
	_is_null_or_count(canary.distinct)
}

_sound("candidate", candidate) if {
	shapes.is_sha256(candidate.digest)
	shapes.is_text(candidate.server)
	_is_null_or_text(candidate.seen_by)
}
