# METADATA
# title: Capabilities of one class
# description: What only changes of one class may do; for all others it is denied.
# schemas:
#   - input: schema["change.schema"]
package org.capabilities

# METADATA
# title: Capabilities and the one class that may have each
only := {"mail": "augment"}

# METADATA
# title: Capability of another class
# description: The change asks for, or its added code was found to use, what only another class may.
# custom:
#   code: org.capabilities
#   message: this capability is for another class of change
#   solution: write the change without it, or propose it under the class that may have it
deny contains object.union(rego.metadata.rule().custom, {"message": message}) if {
	input.kind == "change"
	some capability in _wanted
	class := only[capability]
	object.get(input, ["action", "class"], "none") != class
	message := sprintf("%s is for changes of the class %s", [capability, class])
}

_wanted contains capability if some capability in input.action.requested_capabilities

_wanted contains capability if some capability in input.action.found_capabilities
