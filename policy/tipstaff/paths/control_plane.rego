package tipstaff.paths

import data.tipstaff.config
import data.tipstaff.reasons

# METADATA
# title: Path is part of the control plane
# description: |
#   Policy, configuration, state and CI decide over proposals, and what starts by itself on a person's machine would
#   run before anybody has looked; all of it is out of their reach.
# custom:
#   code: path.control_plane
#   message: "{it} judges changes or starts by itself, and no proposal may touch it"
#   solution: leave the file out of the proposal; a person changes it by hand
#   controls: [OWASP-LLM06:2025, OWASP-ASI03]
deny contains reasons.on(rego.metadata.chain(), path) if some path in _controlling

_controlling contains path if {
	some path in touched
	governs(path)
}

# METADATA
# title: Whether a path is of the control plane
# description: However some system reads it, and also where it is a folder that holds such a place.
governs(path) if _judges(_as_some_system_reads(path))

# Elsewhere a backslash is a slash, and dots and space around a name do not count; to a reader, letters that look alike
# are alike.
_as_some_system_reads(path) := concat("/", [trim_left(trim_right(name, ". \t\r\n"), " \t\r\n") |
	some name in split(replace(folded(path), "\\", "/"), "/")
])

_judges(path) if {
	some name in split(path, "/")
	name in data.tipstaff.paths.control_plane.anywhere
}

# The second match is of a folder that holds such a place: it could be made a link to elsewhere.
_judges(path) if {
	some places in [_bundled, _of_team]
	_meet(concat("", [path, "/"]), places)
}

_meet(path, places) if strings.any_prefix_match(path, places)

_meet(path, places) if strings.any_prefix_match(places, path)

# Each place with a slash at its end, put there in one go: there are many, and this runs for every decision.
_bundled := split(concat("", [concat("/\n", data.tipstaff.paths.control_plane.at_root), "/"]), "\n")

_of_team contains concat("", [folded(concat("/", names)), suffix]) if {
	is_string(config.team.policy.overlay)
	names := [name |
		some name in split(config.team.policy.overlay, "/")
		not name in {"", "."}
	]
	some suffix in ["/", ".tar.gz/"]
}

# METADATA
# title: Path is not plain
# description: |
#   The path is empty or absolute, climbs, has characters that are not seen or that reorder what is seen, or is spelt so
#   that some system reads another path: backslashes, encoded dots and slashes, a name that ends with a dot or a space.
# custom:
#   code: path.unclear
#   message: a path can be read as another one than it shows
#   solution: rename the file, so that its path has only plain names
#   controls: [OWASP-LLM06:2025]
deny contains reasons.of(rego.metadata.chain()) if count(_unclear) > 0

_unclear contains path if {
	some path in touched
	not _is_plain(path)
}

_is_plain(path) if {
	regex.match(data.tipstaff.paths.plain, path)
	not regex.match(data.tipstaff.paths.encoded, path)
	every name in split(path, "/") {
		trim_right(name, ". ") == name
		name != ""
	}
}
