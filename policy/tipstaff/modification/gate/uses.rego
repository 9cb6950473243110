package tipstaff.modification.gate

import data.tipstaff.modification.settings
import data.tipstaff.reasons

# METADATA
# title: Import not allowed
# description: A module is imported that is denied, or that is not on a list of those that are allowed.
# custom:
#   code: gate.import
#   message: "the source may not import {it}"
#   solution: write it without that module
#   controls: [OWASP-LLM06:2025, OWASP-ASI05]
deny contains reasons.on(rego.metadata.chain(), name) if {
	some name in _static.imports
	_is_refused(name)
}

_is_refused(name) if _lies_under_any(name, settings.denied_imports)

_is_refused(name) if {
	some allowed in settings.allowed_imports
	not _lies_under_any(name, allowed)
}

# METADATA
# title: Call not allowed
# description: Something is called, or may be, that is denied, or that cannot be told before it runs.
# custom:
#   code: gate.call
#   message: "the source may not call {it}"
#   solution: call what you mean by its own name, and nothing that runs text as code
#   controls: [OWASP-LLM06:2025, OWASP-ASI05]
deny contains reasons.on(rego.metadata.chain(), call) if some call in _refused_calls

_refused_calls contains name if {
	some name in _static.calls
	_lies_under_any(name, settings.denied_calls | settings.denied_imports)
}

_refused_calls contains place if some place in _static.unresolved

_lies_under_any(name, names) if {
	some other in names
	startswith(concat("", [name, "."]), concat("", [other, "."]))
}
