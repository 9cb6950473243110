# METADATA
# title: Paths
# description: |
#   Which files a proposal may touch, its old and its new names. A glob's `**/` also stands for no folder at all,
#   and what is protected is matched without regard to case, as some file systems do.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.paths

import data.tipstaff.config
import data.tipstaff.reasons

# METADATA
# title: Paths of a change
# description: Names before and after.
touched contains file.path if some file in input.resource.files

touched contains file.old_path if {
	some file in input.resource.files
	is_string(file.old_path)
}

# METADATA
# title: Path is part of the control plane
# description: Policy, configuration, state and CI decide over proposals and are out of their reach.
# custom:
#   code: path.control_plane
#   message: "{it} belongs to what judges changes, and no proposal may touch it"
#   solution: leave the file out of the proposal; a person changes it by hand
#   controls: [OWASP-LLM06:2025, OWASP-ASI03]
deny contains reasons.on(rego.metadata.chain(), path) if {
	some path in touched
	some pattern in _control_plane
	matches(lower(pattern), lower(path))
}

_control_plane contains pattern if some pattern in data.tipstaff.paths.control_plane

_control_plane contains concat("/", [trim_suffix(config.team.policy.overlay, "/"), "**"]) if {
	is_string(config.team.policy.overlay)
}

# METADATA
# title: Path is read-only
# description: The path matches a read-only glob of bundle, team or local file.
# custom:
#   code: path.read_only
#   message: "{it} is read-only"
#   solution: leave the file out of the proposal, or change paths.read_only in tipstaff.yaml
deny contains reasons.on(rego.metadata.chain(), path) if {
	some path in touched
	some pattern in _read_only
	matches(lower(pattern), lower(path))
}

_read_only contains pattern if some pattern in object.get(config.team, ["paths", "read_only"], data.tipstaff.paths.read_only)

_read_only contains pattern if some pattern in config.local.paths.read_only

# METADATA
# title: Path is not allowed
# description: The path matches no allowed glob of the team, or none of the local file.
# custom:
#   code: path.not_allowed
#   message: "{it} is not among the paths that proposals may touch"
#   solution: leave the file out of the proposal, or add a glob to paths.allowed in tipstaff.yaml
deny contains reasons.on(rego.metadata.chain(), path) if {
	some path in touched
	some patterns in _allowed
	not _any_matches(patterns, path)
}

_allowed contains object.get(config.team, ["paths", "allowed"], data.tipstaff.paths.allowed)

_allowed contains config.local.paths.allowed if is_array(config.local.paths.allowed)

_any_matches(patterns, path) if {
	some pattern in patterns
	matches(pattern, path)
}

# METADATA
# title: Whether a glob matches a path
# description: |
#   `*` stays inside a folder, `**` does not, and `**/` may stand for nothing.
matches(pattern, path) if glob.match(pattern, ["/"], path)

matches(pattern, path) if {
	contains(pattern, "**/")
	some variant in _without_folders(pattern)
	glob.match(variant, ["/"], path)
}

# Each `**/` is taken out alone and all together; a path seldom needs another mixture, and a glob can name it.
_without_folders(pattern) := {replace(pattern, "**/", "")} | {variant |
	parts := split(pattern, "**/")
	some place in numbers.range(1, count(parts) - 1)
	before := concat("**/", array.slice(parts, 0, place))
	after := concat("**/", array.slice(parts, place, count(parts)))
	variant := concat("", [before, after])
}
