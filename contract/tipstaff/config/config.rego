# METADATA
# title: Configuration
# description: |
#   The team's file is the ceiling; the local file may only tighten it. Both arrive in the input as they are, and
#   here they become one. Lists of what is refused are united, lists of what is allowed must both match, switches
#   that restrict are on if either turns them on.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.config

# METADATA
# title: The team's file
# description: Empty when the project has none; `has_team` tells the difference.
default team := {}

team := input.context.config.team if is_object(input.context.config.team)

# METADATA
# title: Whether there is a team file
default has_team := false

has_team if is_object(input.context.config.team)

# METADATA
# title: The local file
# description: Empty when there is none.
default local := {}

local := input.context.config.local if is_object(input.context.config.local)

# METADATA
# title: Classes pinned to a person
# description: The team's list, or the built-in one where it has none, and whatever the local file adds.
pinned contains class if some class in of_team(["approval_gates", "require_human"], data.tipstaff.gates.require_human)

pinned contains class if some class in local.approval_gates.require_human

# METADATA
# title: Forbidden capabilities
# description: The built-in list cannot be shortened; team and local file may add to it.
forbidden contains capability if some capability in data.tipstaff.gates.forbid

forbidden contains capability if some capability in team.approval_gates.forbid

forbidden contains capability if some capability in local.approval_gates.forbid

# METADATA
# title: Whether the asker may not approve
default four_eyes := false

four_eyes if team.approvals.four_eyes == true

four_eyes if local.approvals.four_eyes == true

# METADATA
# title: Whether a pause also stops approved work
default hard_pause := false

hard_pause if team.pause.hard == true

hard_pause if local.pause.hard == true

hard_pause if input.context.pause.hard == true

# METADATA
# title: The weakest backend whose runs count as evidence
# description: The strongest of what bundle, team and local file ask for, as a rank.
minimum_backend_rank := max({rank |
	some name in {
		data.tipstaff.evidence.minimum_backend,
		object.get(team, ["sandbox", "minimum_backend"], null),
		object.get(local, ["sandbox", "minimum_backend"], null),
	}
	rank := data.tipstaff.evidence.backends[name]
})

# METADATA
# title: The sandbox profile
# description: Strict, unless the team chose another and the local file did not choose strict.
default profile := "strict"

profile := team.sandbox.profile if {
	is_string(team.sandbox.profile)
	object.get(local, ["sandbox", "profile"], null) != "strict"
}

# METADATA
# title: A setting of the team
# description: What the team's file says, or `otherwise` where it says nothing or null.
of_team(path, otherwise) := value if {
	value := object.get(team, path, null)
	not is_null(value)
} else := otherwise

# METADATA
# title: Whether the configuration can be trusted
# description: |
#   False when a file has a key that the bundle does not know, names an unknown tier, class, profile or backend, or
#   has a value of another shape than that of the setting.
default valid := true

valid := false if {
	some file in [team, local]
	some group, settings in file
	not understood(group, settings)
}
