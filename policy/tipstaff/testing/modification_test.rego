package tipstaff.testing

# METADATA
# title: A modification that is promoted
# description: A calm one, whose two tasks got better by three and one hundredths.
modification := {
	"schema_version": 1,
	"kind": "modification",
	"subject": {"id": "alice@laptop"},
	"action": {"type": "run", "requested_capabilities": [], "risk": 50000000, "deployment_risk": 50000000},
	"resource": {
		"artifact_id": "harness-1",
		"modification_id": "m1",
		"target": "harness/f.py",
		"source_sha256": digest("5"),
		"content_sha256": digest("6"),
	},
	"evidence": {
		"caller": "cli",
		"asked": {"gate": {"max_risk": 500000000, "canary_risk": 200000000}, "rules": {"min_effect": 10000000}},
		"team": {"gate": {}, "rules": {}},
		"supplied": {"prover": false, "approval_store": false, "rollback": false},
		"static": {
			"language": "python",
			"syntax": "ok",
			"error": null,
			"imports": ["math"],
			"calls": ["math.sqrt"],
			"unresolved": [],
			"capabilities": [],
		},
		"proof": null,
		"approval": null,
		"contaminated": false,
		"scores": {
			"before": {"parse": 800000000, "plan": 700000000},
			"after": {"parse": 830000000, "plan": 710000000},
			"before_sha256": digest("7"),
			"after_sha256": digest("8"),
			"before_attestation": null,
			"after_attestation": null,
		},
		"conformal": null,
		"sequential": null,
		"rehearsal": null,
	},
	"context": _context,
}

# METADATA
# title: Somebody who measured the modification's source
attestation := {"producer": "eval@farm", "source_sha256": digest("5")}

# METADATA
# title: What the store holds where a person approved exactly the modification
stored_approval := {
	"key": digest("6"),
	"status": "approved",
	"digest": digest("6"),
	"requested_by": {"id": "alice@laptop", "type": "human"},
	"decided_by": {"id": "bob@desk", "type": "human"},
	"decided_at": "2026-07-01T11:00:00Z",
	"expires_at": "2026-07-01T13:00:00Z",
	"confirmations": 1,
	"note": null,
}

# METADATA
# title: The modification with facts changed
modification_with(facts) := with_facts(modification, facts)
