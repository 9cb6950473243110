package tipstaff.guard

import data.tipstaff.shapes

_sound("server", value) if shapes.is_text(value)

_sound("status", value) if shapes.is_text(value)

_sound("changes", changes) if {
	is_array(changes)
	every change in changes {
		shapes.is_text(change.kind)
		_is_null_or_string(object.get(change, "tool", null))
		is_string(change.path)
	}
}
