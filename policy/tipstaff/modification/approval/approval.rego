# METADATA
# title: Approval of a modification
# description: |
#   A person's decision on exactly this content, as the store holds it. It never makes up for another stage.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification.approval

import data.tipstaff.approval
import data.tipstaff.config
import data.tipstaff.modification.settings
import data.tipstaff.reasons

_approval := input.evidence.approval

# METADATA
# title: Whether a person has to agree
default required := false

required if "require_approval" in settings.required

# METADATA
# title: Whether the store has to be asked
default is_open := false

is_open if {
	required
	_has_store
	not _approval.status
}

_has_store if input.evidence.supplied.approval_store == true

_has_store if input.evidence.supplied.pinned_store == true

# METADATA
# title: Whether a person is asked
# description: The store holds no decision that counts, and no request that waits for one.
default asks := false

asks if {
	required
	_approval.status in {"none", "expired", "consumed"}
}

asks if count(_doubts) > 0

# METADATA
# title: No store
# description: A person has to agree, and neither the proposal nor the operator names a store for the decision.
# custom:
#   code: approval.no_store
#   message: a person has to agree, and there is no store for the decision
#   solution: name an approval_store in the specification; over MCP the operator sets TIPSTAFF_APPROVAL_STORE
require_approval contains reasons.of(rego.metadata.chain()) if {
	required
	not _has_store
}

# METADATA
# title: Not decided
# description: No person has decided on exactly this yet.
# custom:
#   code: approval.pending
#   message: a person has not decided on exactly this yet
#   solution: "a person runs `tipstaff governed-harness approvals`, and then `approve` or `reject`"
require_approval contains reasons.of(rego.metadata.chain()) if {
	required
	_has_store
	not _is_decided
}

_is_decided if _approval.status in {"approved", "rejected"}

# METADATA
# title: Rejected
# description: A person said no.
# custom:
#   code: approval.rejected
#   message: a person rejected exactly this
#   solution: propose something else
deny contains reasons.of(rego.metadata.chain()) if {
	required
	_approval.status == "rejected"
}

# METADATA
# title: Approved by who measured
# description: The configuration demands four eyes, and who approved also stands for the scores.
# custom:
#   code: approval.measurer
#   message: who measured may not approve
#   solution: have another person approve, or another one measure
#   controls: [OWASP-ASI09]
require_approval contains reasons.of(rego.metadata.chain()) if {
	required
	config.four_eyes
	some side in ["before_attestation", "after_attestation"]
	approval.person(input.evidence.scores[side].producer) == approval.person(_approval.decided_by.id)
}

# What counts against a person's approval of a change counts here.
require_approval contains reason if some reason in _doubts

_doubts contains reason if {
	required
	_approval.status == "approved"
	context := object.union(input.context, {"approval": _approval, "judged_sha256": input.resource.content_sha256})
	some reason in approval.require_approval with input.context as context
}
