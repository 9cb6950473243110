package tipstaff.testing

# METADATA
# title: A block that may be replaced
# description: Eight equal outputs on both sides for each of two golden inputs, 100 tokens before and 20 after.
augment := object.union(
	with_facts(change, {
		"/action/class": "augment",
		"/evidence/augment": augment_facts,
		"/resource/files": [replaced_file, object.union(file("skills/weather/scripts/total.py"), {"language": "python"})],
	}),
	{"context": object.union(change.context, {"config": {
		"team": {
			"schema_version": 1,
			"autonomy": {"augment": "auto-if-tests-pass"},
			"approval_gates": {"require_human": []},
		},
		"team_sha256": digest("c"),
		"local": null,
		"local_sha256": null,
		"local_tracked": false,
	}})},
)

# METADATA
# title: What was measured about it
augment_facts := {
	"block": {
		"path": "skills/weather/SKILL.md",
		"id": "add-up",
		"class": "deterministic-candidate",
		"confidence_permille": 900,
		"prose_sha256": digest("1"),
	},
	"script": {"path": "skills/weather/scripts/total.py", "sha256": digest("2")},
	"outside": {"before_sha256": digest("3"), "after_sha256": digest("3")},
	"tokens": {
		"tokenizer": "cl100k_base",
		"version": "tiktoken 0.12.0",
		"vocabulary_sha256": digest("4"),
		"before": 100,
		"after": 20,
	},
	"prose": {
		"source": "recording",
		"model": "m-1",
		"recorded_from": "2026-07-01T10:00:00Z",
		"recorded_until": "2026-07-01T11:00:00Z",
		"sha256": digest("5"),
	},
	"inputs": [measured("a.txt", "6"), measured("b.txt", "7")],
	"control": {"passed": 0, "failed": 2, "skipped": 0},
	"sandbox": {"backend": "bubblewrap", "profile": "strict", "isolated": true, "held": ["network", "write"]},
}

# METADATA
# title: The file whose block is replaced
replaced_file := object.union(file("skills/weather/SKILL.md"), {
	"status": "modified",
	"added": 2,
	"removed": 9,
	"additions_only": false,
	"touches_existing_definition": true,
})

# METADATA
# title: A golden input whose outputs are all as expected
measured(name, digit) := {
	"name": name,
	"input_sha256": digest("8"),
	"expected_sha256": digest(digit),
	"script_outputs": outputs(digit, 8),
	"prose_outputs": outputs(digit, 8),
}

# METADATA
# title: Equal outputs
outputs(digit, number) := [digest(digit) | some _ in numbers.range(1, number)]

# METADATA
# title: The block with facts changed
augment_with(facts) := with_facts(augment, facts)
