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

_sound("sandbox", "backends", names) if {
	is_array(names)
	every place, name in names {
		rank := data.tipstaff.evidence.backends[name]
		not _follows_a_weaker(names, place, rank)
	}
}

_sound("sandbox", "require", classes) if {
	is_object(classes)
	every class, wanted in classes {
		data.tipstaff.autonomy.classes[class]
		_is_requirement(wanted)
	}
}

_sound("sandbox", "limits", limits) if {
	is_object(limits)
	every name, value in limits {
		name in data.tipstaff.config.limits
		_is_null_or_positive(value)
	}
}

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

_sound("contracts", "dependents", folders) if shapes.are_texts(folders)

_sound("harness", "granted_capabilities", names) if shapes.are_capabilities(names)

_sound("harness", name, names) if {
	name in {"allowed_imports", "denied_imports", "denied_calls", "allowed_suffixes"}
	shapes.are_texts(names)
}

_sound("harness", name, value) if {
	name in {"max_risk", "canary_risk", "tolerance", "min_effect", "min_tasks"}
	is_number(value)
	value >= 0
}

_sound("harness", name, switch) if {
	startswith(name, "require_")
	is_boolean(switch)
}

# A list leaves backends out; their order, the strongest first, is not for a file to change.
_follows_a_weaker(names, place, rank) if {
	some before, other in names
	before < place
	data.tipstaff.evidence.backends[other] <= rank
}

_is_requirement(null)

_is_requirement(wanted) if {
	is_object(wanted)
	every name, value in wanted {
		_is_required(name, value)
	}
}

_is_required(name, null) if name in {"minimum_backend", "held"}

_is_required("minimum_backend", name) if is_number(data.tipstaff.evidence.backends[name])

_is_required("held", names) if {
	is_array(names)
	every name in names {
		name in data.tipstaff.evidence.protections_known
	}
}

_is_null_or_positive(null)

_is_null_or_positive(value) if {
	shapes.are_counts([value])
	value > 0
}
