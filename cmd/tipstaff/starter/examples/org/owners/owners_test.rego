package org.owners_test

import data.org.owners

_change(who, path, old) := {
	"kind": "change",
	"subject": {"id": who},
	"resource": {"files": [{"path": path, "old_path": old}]},
}

test_change_by_somebody_else_needs_approval if {
	{reason.message | some reason in owners.require_approval} == {"billing/ belongs to alice, bob"} with input as _change("mallory", "billing/tax.py", null)
}

test_file_that_is_moved_out_needs_approval if {
	count(owners.require_approval) == 1 with input as _change("mallory", "tax.py", "billing/tax.py")
}

test_change_for_nobody_needs_approval if {
	count(owners.require_approval) == 1 with input as object.remove(_change("", "billing/tax.py", null), ["subject"])
}

test_change_by_the_team_needs_none if {
	count(owners.require_approval) == 0 with input as _change("alice", "billing/tax.py", null)
}

test_change_elsewhere_needs_none if {
	count(owners.require_approval) == 0 with input as _change("mallory", "docs/tax.md", null)
}
