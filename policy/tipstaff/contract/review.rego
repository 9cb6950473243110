package tipstaff.contract

import data.tipstaff.reasons

# METADATA
# title: No baseline
# description: There is no committed snapshot; a person looks at the first one.
# custom:
#   code: contract.unbaselined
#   message: nothing is committed that the contract could be held against
#   solution: review the proposed snapshot and commit it
require_approval contains reasons.of(rego.metadata.chain()) if {
	input.evidence.status in data.tipstaff.contract.statuses.first_sight
}

# METADATA
# title: Breaking
# description: Callers may send less than before, may receive more, or something is gone.
# custom:
#   code: contract.breaking
#   message: the contract changed in a way that breaks callers
#   solution: look at the findings of severity error and repair what depends on them
#   order: 40
require_approval contains reasons.of(rego.metadata.chain()) if severity == "error"

# METADATA
# title: Warning
# description: Words that a model reads changed, a default, or a hint that lowers caution; or calls answer otherwise.
# custom:
#   code: contract.warning
#   message: the contract changed in what a model reads or assumes
#   solution: read the changed texts; they are instructions to a model
#   controls: [OWASP-LLM01:2025]
#   order: 41
require_approval contains reasons.of(rego.metadata.chain()) if severity == "warning"

# METADATA
# title: More than additions
# description: Nothing breaks, and something else than additions changed.
# custom:
#   code: contract.not_additive
#   message: the contract did not only gain something
#   solution: look at the findings; a person takes this change up
#   order: 42
require_approval contains reasons.of(rego.metadata.chain()) if {
	severity == "info"
	count(_not_additive) > 0
}

# METADATA
# title: Added something destructive
# description: What is new can destroy, by its words or by its own hint.
# custom:
#   code: contract.added_destructive
#   message: "{it} gained something destructive"
#   solution: a person decides whether agents get it
#   controls: [OWASP-LLM06:2025]
#   order: 43
require_approval contains reasons.on(rego.metadata.chain(), name) if some name in _destructive
