# METADATA
# title: Approval gates
# description: Classes that always go to a person, and capabilities that nobody gets.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.gates

import data.tipstaff.config
import data.tipstaff.reasons

# METADATA
# title: Class is pinned to a person
# description: Whatever its tier, a person approves each change of this class.
# custom:
#   code: gate.require_human
#   message: "changes of the class {it} are pinned to a person"
#   solution: approve the request, or take the class out of approval_gates.require_human in tipstaff.yaml
#   controls: [OWASP-LLM06:2025, OWASP-ASI09]
require_approval contains reasons.on(rego.metadata.chain(), input.action.class) if {
	input.action.class in config.pinned
}

# METADATA
# title: Forbidden capability
# description: The change asks for, or its added code was found to use, a capability on the forbid list.
# custom:
#   code: forbid
#   message: "the capability {it} is forbidden at every tier and with every approval"
#   solution: "write the change without {it}"
#   controls: [OWASP-LLM06:2025, OWASP-ASI02, OWASP-ASI05]
deny contains reasons.about(rego.metadata.chain(), capability) if {
	some capability in config.forbidden
	capability in _wanted
}

_wanted contains capability if some capability in input.action.requested_capabilities

_wanted contains capability if some capability in input.action.found_capabilities
