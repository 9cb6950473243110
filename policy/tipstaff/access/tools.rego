package tipstaff.access

import data.tipstaff.paths
import data.tipstaff.reasons

_is_used if input.action.type == data.tipstaff.access.acts.use

_tools := data.tipstaff.access.tools[_given("scope")]

_tool := _tools[_given("tool")]

# METADATA
# title: No tool of the scope
# description: The caller's scope has no tool of this name, whether there is one or not.
# custom:
#   code: access.tool
#   message: "{it} is no tool of this caller"
#   solution: call one of the tools that are listed
#   controls: [OWASP-ASI02, OWASP-ASI03]
deny contains reasons.on(rego.metadata.chain(), _given("tool")) if {
	_is_used
	not _tool
}

# METADATA
# title: More than planning
# description: The scope has the tool for planning only. A run leaves requests for approval and starts provers.
# custom:
#   code: access.plan_only
#   message: this caller may only plan
#   solution: call it with dry_run, or have the operator give the scope propose
#   controls: [OWASP-ASI02, OWASP-ASI03]
deny contains reasons.of(rego.metadata.chain()) if {
	_is_used
	_tool
	not _may_run
}

_may_run if _tool.plans_only == false

_may_run if _access.dry_run == true

# METADATA
# title: No place for a receipt
# description: |
#   A receipt would be written over what governs the project, or what its tools read by themselves. Places outside the
#   project are not told here: the operator lists them.
# custom:
#   code: access.place
#   message: "{it} is no place for a receipt"
#   solution: name a JSON file in a folder that holds nothing else
#   controls: [OWASP-ASI02]
deny contains reasons.on(rego.metadata.chain(), _given("out")) if {
	_is_used
	_given("out") != null
	not _holds_receipts
}

_holds_receipts if {
	path := paths.folded(_access.out)
	paths.matches(data.tipstaff.access.receipts.named, path)
	not paths.governs(path)
	not _is_never(path)
}

_is_never(path) if {
	some pattern in data.tipstaff.access.receipts.never
	paths.matches(pattern, path)
}
