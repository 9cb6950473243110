package tipstaff.testing

# METADATA
# title: A change that takes up an addition to a contract
# description: The pinned contract of one server with one tool more, as it was observed.
drift := with_facts(change, {
	"/resource/files": [pinned_file],
	"/evidence/drift": {"contracts": [pin]},
})

# METADATA
# title: What the change does to the pin
pin := {
	"server": "weather",
	"path": "contracts/weather.mcpc.json",
	"status": "compared",
	"old_digest": digest("d"),
	"new_digest": digest("e"),
	"observed_digest": digest("e"),
	"changes": contract.evidence.changes,
	"versions": [],
}

# METADATA
# title: The file of the pin
pinned_file := object.union(file("contracts/weather.mcpc.json"), {
	"status": "modified",
	"language": "json",
	"removed": 2,
	"additions_only": false,
	"touches_existing_definition": true,
})

# METADATA
# title: The change with other facts about the pin
drift_with(facts) := with_facts(drift, {"/evidence/drift": {"contracts": [with_facts(pin, facts)]}})
