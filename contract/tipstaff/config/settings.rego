package tipstaff.config

import data.tipstaff.shapes

# METADATA
# title: Whether a group of settings can be understood
# description: Null is the same as leaving it out, except for a tier.
understood(group, settings) if {
	data.tipstaff.config.groups[group]
	is_object(settings)
	every name, value in settings {
		_sound(group, name, value)
	}
}

understood(group, null) if data.tipstaff.config.groups[group]

understood("schema_version", 1)

_sound(group, class, tier) if {
	group in {"autonomy", "remembered_choices"}
	data.tipstaff.autonomy.classes[class]
	is_number(data.tipstaff.autonomy.ranks[tier])
}

_sound(group, name, null) if {
	name in data.tipstaff.config.groups[group]
}

_sound("approval_gates", "require_human", classes) if {
	is_array(classes)
	every class in classes {
		data.tipstaff.autonomy.classes[class]
	}
}

_sound("approval_gates", "forbid", names) if shapes.are_capabilities(names)

_sound("paths", "allowed", globs) if shapes.are_globs(globs)

_sound("paths", "read_only", globs) if shapes.are_globs(globs)

_sound("sandbox", "profile", name) if name in data.tipstaff.evidence.profiles

_sound("sandbox", "minimum_backend", name) if is_number(data.tipstaff.evidence.backends[name])

_sound("sandbox", "limits", limits) if is_object(limits)

_sound("approvals", "four_eyes", switch) if is_boolean(switch)

_sound("pause", "hard", switch) if is_boolean(switch)

_sound("tests", "command", command) if shapes.is_text(command)

_sound("tests", "paths", paths) if shapes.are_texts(paths)

# The folder protects itself by its name, so the name must be the one that paths have.
_sound("policy", "overlay", folder) if {
	shapes.is_text(folder)
	not startswith(folder, "/")
	every name in split(folder, "/") {
		name != ".."
	}
}

_sound("policy", "public_key", key) if is_string(key)

_sound("contracts", "servers", servers) if is_object(servers)
