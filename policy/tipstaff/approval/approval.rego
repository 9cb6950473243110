# METADATA
# title: Approval
# description: |
#   When a person's decision on an earlier request lifts `require_approval`. It must be about exactly what is judged
#   now, by somebody who may decide, in time, and unused. It never lifts `escalate` or `deny`.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.approval

import data.tipstaff.config
import data.tipstaff.reasons
import data.tipstaff.shapes

_approval := input.context.approval

# METADATA
# title: Whether an approval is presented
default presented := false

presented if is_object(_approval)

# METADATA
# title: Whether the presented approval counts
default valid := false

valid if {
	presented
	count(require_approval) == 0
}

# METADATA
# title: Approved
# description: A person approved exactly this.
# custom:
#   code: approval.granted
#   message: a person approved exactly this change
#   solution: to undo it, close the pull request
grant contains reasons.of(rego.metadata.chain()) if valid

# METADATA
# title: Approval of something else
# description: Content, evidence, configuration or policy changed since the request was made.
# custom:
#   code: approval.stale
#   message: what is judged now is not what the approval was asked for
#   solution: propose the change again and have the new request approved
require_approval contains reasons.of(rego.metadata.chain()) if {
	presented
	not _approval.digest == input.context.judged_sha256
}

# METADATA
# title: Approval used or undone
# description: The status of the request is not approved.
# custom:
#   code: approval.consumed
#   message: the approval was used before, or is not an approval
#   solution: propose the change again
require_approval contains reasons.of(rego.metadata.chain()) if {
	presented
	not _approval.status == "approved"
}

# METADATA
# title: Approval out of time
# description: The decision came, or is used, when the request had expired.
# custom:
#   code: approval.expired
#   message: the request had expired
#   solution: propose the change again and approve it in time
require_approval contains reasons.of(rego.metadata.chain()) if {
	presented
	not _in_time
}

_in_time if {
	shapes.is_timestamp(_approval.expires_at)
	shapes.is_timestamp(_approval.decided_at)
	shapes.is_timestamp(input.context.now)
	expires := time.parse_rfc3339_ns(_approval.expires_at)
	time.parse_rfc3339_ns(_approval.decided_at) < expires
	time.parse_rfc3339_ns(input.context.now) < expires
}

# METADATA
# title: Approver is no person
# description: Agents and CI never approve.
# custom:
#   code: approval.human_only
#   message: only a person approves
#   solution: a person runs `tipstaff approvals approve` outside any agent or CI session
#   controls: [OWASP-LLM06:2025, OWASP-ASI09]
require_approval contains reasons.of(rego.metadata.chain()) if {
	presented
	not _approval.decided_by.type == "human"
}

# METADATA
# title: Asker approves
# description: The configuration demands four eyes, and two of them are missing.
# custom:
#   code: approval.four_eyes
#   message: who asked may not approve
#   solution: have another person approve
#   controls: [OWASP-ASI09]
require_approval contains reasons.of(rego.metadata.chain()) if {
	presented
	config.four_eyes
	not _another_person
}

_another_person if person(_approval.requested_by.id) != person(_approval.decided_by.id)

# METADATA
# title: The person behind an id
# description: The same user on another host is the same person.
person(id) := lower(trim_space(split(id, "@")[0])) if is_string(id)
