# METADATA
# title: Paths
# description: |
#   Which files a proposal may touch, by their old and their new names. What is protected is matched without regard
#   to case, as some file systems do.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.paths

import data.tipstaff.config
import data.tipstaff.reasons

# METADATA
# title: Paths of a change
# description: Names before and after.
touched contains path if {
	some file in input.resource.files
	some name in ["path", "old_path"]
	path := file[name]
	is_string(path)
}

# METADATA
# title: Paths that no proposal may touch
# description: For whatever reason.
refused := ((_protected | _elsewhere) | _controlling) | _unclear

# METADATA
# title: Path is read-only
# description: The path matches a read-only glob of bundle, team or local file.
# custom:
#   code: path.read_only
#   message: "{it} is read-only"
#   solution: leave the file out of the proposal, or change paths.read_only in tipstaff.yaml
deny contains reasons.on(rego.metadata.chain(), path) if some path in _protected

_protected contains path if {
	some path in touched
	some pattern in _read_only
	_protects(pattern, folded(path))
}

_read_only contains folded(pattern) if {
	some pattern in config.of_team(["paths", "read_only"], data.tipstaff.paths.read_only)
}

_read_only contains folded(pattern) if some pattern in config.local.paths.read_only

# METADATA
# title: Path is not allowed
# description: The path matches no allowed glob of the team, or none of the local file.
# custom:
#   code: path.not_allowed
#   message: "{it} is not among the paths that proposals may touch"
#   solution: leave the file out of the proposal, or add a glob to paths.allowed in tipstaff.yaml
deny contains reasons.on(rego.metadata.chain(), path) if some path in _elsewhere

_elsewhere contains path if {
	some path in touched
	some patterns in _allowed
	not _any_matches(patterns, path)
}

_allowed contains config.of_team(["paths", "allowed"], data.tipstaff.paths.allowed)

_allowed contains config.local.paths.allowed if is_array(config.local.paths.allowed)

_any_matches(patterns, path) if {
	some pattern in patterns
	matches(pattern, path)
}

# METADATA
# title: Whether a glob matches a path
# description: |
#   `*` stays inside a folder, `**` does not, and a `**/` at the start or after a slash may stand for nothing.
matches(pattern, path) if {
	is_string(pattern)
	everywhere := regex.replace(concat("", ["/", pattern]), `/(\*\*/)+`, "/{**/,}")
	glob.match(substring(everywhere, 1, -1), ["/"], path)
}

# A folder of which all content is protected could be made a link to elsewhere, so its own name is too.
_protects(pattern, path) if matches(pattern, path)

_protects(pattern, path) if matches(trim_suffix(pattern, "/**"), path)

# METADATA
# title: A name in the one spelling in which protected names are compared
# description: Lower case, with letters that some file systems take for others replaced by those.
folded(text) := lower(text) if {
	_is_ascii(text)
} else := strings.replace_n(data.tipstaff.paths.folds, lower(text)) if is_string(text)

# Most paths; the table of look-alikes costs more than all else that is asked about one.
_is_ascii(text) if {
	is_string(text)
	regex.match(`^[\x00-\x7f]*$`, text)
}
