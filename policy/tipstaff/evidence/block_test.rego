package tipstaff.evidence_test

import data.tipstaff.decision
import data.tipstaff.evidence
import data.tipstaff.testing

_block_lacks(facts) := codes if {
	codes := testing.codes(evidence.shortfalls) with input as testing.augment_with(facts)
}

_verdict(document) := verdict if {
	verdict := decision.verdict with input as document with data.tipstaff.bundle as testing.bundle
}

# METADATA
# custom:
#   req: [A-07]
test_replaced_block_is_low_risk_though_it_removes_prose if {
	_block_lacks({}) == set()
	evidence.low_risk with input as testing.augment
	evidence.purely_additive == false with input as testing.augment
}

# METADATA
# custom:
#   req: [A-07]
test_text_changed_beside_the_block_is_not_low_risk if {
	every facts in [
		{"/evidence/augment/outside/after_sha256": testing.digest("4")},
		{"/evidence/augment/outside": null},
		{"/evidence/augment/outside": {}},
		{"/evidence/augment/outside/before_sha256": null, "/evidence/augment/outside/after_sha256": null},
		{"/evidence/augment/block/path": "skills/weather/OTHER.md"},
		{"/action/class": "heal_additive"},
		{"/resource/files/0/status": "renamed"},
		{"/resource/files/0/status": "deleted"},
		{"/resource/files/0/mode_changed": true},
		{"/resource/files/1/status": "modified", "/resource/files/1/touches_existing_definition": true},
		{"/resource/files/1/touches_existing_definition": true},
		{"/resource/files": []},
		{"/resource/files": [testing.replaced_file, testing.replaced_file, object.union(testing.replaced_file, {"path": "b.md"})]},
	] {
		_block_lacks(facts) == {"change.not_additive"}
		evidence.low_risk == false with input as testing.augment_with(facts)
	}
}

# METADATA
# custom:
#   req: [A-07]
test_block_that_no_golden_test_covers_is_not_low_risk if {
	every control in [null, {}, {"passed": 2, "failed": 0, "skipped": 0}, {"passed": 0, "failed": "2", "skipped": 0}] {
		_block_lacks({"/evidence/augment/control": control}) == {"augment.uncovered"}
	}
	testing.assert_verdict(_verdict(testing.augment_with({"/evidence/augment/control/failed": 0})), "require_approval", "augment.uncovered")
}
