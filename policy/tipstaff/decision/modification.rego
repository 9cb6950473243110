package tipstaff.decision

import data.tipstaff.modification
import data.tipstaff.pause

_judges_modification if input.kind == "modification"

_said.deny contains reason if {
	_judges_modification
	some reason in modification.deny
}

# While work is paused nothing is promoted by itself; what a person approved is.
_said.require_approval contains reason if {
	_judges_modification
	some reason in pause.require_approval
}

_said.hold contains reason if {
	_judges_modification
	some reason in pause.hold
}

# The store's own approval is one of the stages, and makes up for none of the others.
_said.hold contains reason if {
	_judges_modification
	some reason in modification.require_approval
}

_said.grant contains reason if {
	_judges_modification
	some reason in modification.grant
}
