# METADATA
# title: Fixtures
# description: Well-formed documents that are allowed, and helpers that change one fact and compare what comes out.
package tipstaff.testing

# METADATA
# title: The revision that the fixtures expect
bundle := {"revision": "example", "data_digest": "none"}

# METADATA
# title: A change that is allowed
# description: One new file, golden tests passed in isolation on this diff, a class that may then be applied.
change := {
	"schema_version": 1,
	"kind": "change",
	"subject": {"id": "alice"},
	"action": {"class": "heal_additive", "requested_capabilities": [], "found_capabilities": []},
	"resource": {
		"base": "2b7e151628aed2a6abf7158809cf4f3c762e7160",
		"diff_sha256": digest("d"),
		"files": [file("skills/weather/notes.md")],
	},
	"evidence": {
		"tests": {"passed": 12, "failed": 0, "skipped": 0, "diff_sha256": digest("d")},
		"sandbox": {"backend": "bubblewrap", "profile": "strict", "isolated": true, "held": ["network", "write"]},
		"drift": null,
	},
	"context": object.union(_context, {"config": {
		"team": {"schema_version": 1, "autonomy": {"heal_additive": "auto-if-tests-pass"}},
		"team_sha256": digest("c"),
		"local": null,
		"local_sha256": null,
		"local_tracked": false,
	}}),
}

# METADATA
# title: An act that is allowed
# description: A person approves a request.
control := {
	"schema_version": 1,
	"kind": "control",
	"subject": {"id": "alice"},
	"action": {"type": "approve"},
	"resource": {"id": digest("a")},
	"evidence": {},
	"context": _context,
}

# METADATA
# title: A contract that is allowed
# description: One tool more, and nothing destructive about it.
contract := {
	"schema_version": 1,
	"kind": "contract",
	"subject": {"id": "alice"},
	"action": {"type": "diff", "fail_on": "error", "fail_on_authority": null},
	"resource": {"id": "weather", "old_digest": digest("d"), "new_digest": digest("e")},
	"evidence": {
		"status": "compared",
		"changes": [{
			"kind": "tool_added",
			"tool": "list_radars",
			"path": "",
			"side": "about",
			"direction": "widens",
			"about": "tool",
			"words": ["list", "radars"],
			"stated": {},
		}],
		"versions": [],
		"canaries": [],
	},
	"context": _context,
}

# METADATA
# title: An acceptance that is allowed
# description: A person accepts a contract that they had observed themselves.
acceptance := with_facts(contract, {
	"/action/type": "accept",
	"/evidence/candidate": {"digest": digest("e"), "server": "weather", "seen_by": "alice@laptop"},
})

# METADATA
# title: A call that is allowed
# description: Of a tool that says it only reads, before it is recorded.
canary := with_facts(contract, {
	"/action/type": "canary",
	"/evidence/changes": [],
	"/evidence/canary": {
		"id": "c1",
		"tool": "get_forecast",
		"words": ["forecast", "get"],
		"stated": {"readOnlyHint": true},
		"granted": false,
		"runs": null,
		"distinct": null,
	},
})

# METADATA
# title: A person's approval of the change
# description: Asked for by alice, given by bob an hour ago, good for another hour.
approved := {
	"key": digest("a"),
	"digest": digest("b"),
	"status": "approved",
	"requested_by": {"id": "alice@laptop", "type": "human"},
	"decided_by": {"id": "bob@desk", "type": "human"},
	"decided_at": "2026-07-01T11:00:00Z",
	"expires_at": "2026-07-01T13:00:00Z",
	"confirmations": 1,
}

_context := {
	"decision_id": "01980000-0000-7000-8000-000000000000",
	"now": "2026-07-01T12:00:00.000000Z",
	"actor": {"id": "alice@laptop", "type": "human"},
	"pause": {"global": false, "user": false, "hard": false, "switches": {}},
	"config": {"team": null, "team_sha256": null, "local": null, "local_sha256": null, "local_tracked": false},
	"bundles": {"tipstaff": "example", "org": null},
	"has_overlay": false,
	"judged_sha256": digest("b"),
	"approval": null,
}

# METADATA
# title: A digest of one hexadecimal digit
digest(digit) := concat("", [digit | some _ in numbers.range(1, 64)])

# METADATA
# title: A new file
file(path) := {
	"path": path,
	"status": "added",
	"old_path": null,
	"mode_changed": false,
	"binary": false,
	"language": "markdown",
	"added": 3,
	"removed": 0,
	"additions_only": true,
	"touches_existing_definition": false,
}

# METADATA
# title: A document with facts changed
# description: |
#   `facts` maps a path, written `/resource/files/0/path`, to its value. Paths that do not exist are added at the end
#   of one that does.
with_facts(document, facts) := json.patch(document, [{"op": "add", "path": path, "value": value} |
	some path, value in facts
])

# METADATA
# title: The change with facts changed
change_with(facts) := with_facts(change, facts)

# METADATA
# title: The change with settings
# description: The team's file and the local one as given; null stands for no file.
change_under(team, local) := change_with({"/context/config": {
	"team": team,
	"team_sha256": _digest_of(team),
	"local": local,
	"local_sha256": _digest_of(local),
	"local_tracked": false,
}})

_digest_of(null) := null

_digest_of(file) := digest("c") if is_object(file)

# METADATA
# title: A document without some facts
without(document, paths) := json.remove(document, paths)

# METADATA
# title: Codes of reasons
codes(reasons) := {reason.code | some reason in reasons}

# METADATA
# title: Whether exactly these codes came out
# description: A test that fails shows both sides.
assert_codes(reasons, expected) if {
	print("expected codes", expected, "and got", codes(reasons))
	codes(reasons) == expected
}

# METADATA
# title: Whether a verdict is of an effect and gives a code
# description: A test that fails shows both sides. An empty code stands for any.
assert_verdict(verdict, effect, code) if {
	print("expected", effect, code, "and got", verdict.effect, verdict.codes)
	verdict.effect == effect
	_gives(verdict, code)
}

_gives(_, "")

_gives(verdict, code) if code in verdict.codes
