package tipstaff.augment

import data.tipstaff.evidence
import data.tipstaff.reasons

# METADATA
# title: Golden tests and isolation
# description: What the evidence lacks about the golden tests and the sandbox is enough to propose nothing.
deny contains reason if {
	replaces_prose
	some reason in (evidence.shortfalls | _shortfalls_of_runs)
	split(reason.code, ".")[0] in data.tipstaff.augment.gating
}

# The script's own runs are held to the same isolation as the tests.
_shortfalls_of_runs := shortfalls if {
	is_object(_facts.sandbox)
	shortfalls := evidence.shortfalls with input.evidence.sandbox as _facts.sandbox
} else := set()

# METADATA
# title: Not measured
# description: One of the measurements that a proposal rests on is missing or incomplete.
# custom:
#   code: augment.unmeasured
#   message: "not measured: {it}"
#   solution: give --prose-runs or --prose-cmd, a folder of golden cases, and let the script run
deny contains reasons.on(rego.metadata.chain(), what) if {
	replaces_prose
	some what in _missing
}

_missing contains "golden inputs" if not _some_input

_some_input if count(_facts.inputs) > 0

_missing contains "runs of the prose" if not _prose_is_known

_prose_is_known if is_object(_facts.prose)

_missing contains "where the script ran" if not _sandbox_is_known

_sandbox_is_known if is_object(_facts.sandbox)

_missing contains "tokens" if not _tokens_are_counted

_missing contains sprintf("the script on %v", [measured.name]) if {
	some measured in _facts.inputs
	not _is_enough(object.get(measured, "script_outputs", null))
}

_missing contains sprintf("the prose on %v", [measured.name]) if {
	some measured in _facts.inputs
	not _is_enough(object.get(measured, "prose_outputs", null))
}

# METADATA
# title: A run without an output
# description: The script ended with an error, did not end in time, or printed what is no text or too much.
# custom:
#   code: augment.failed
#   message: "the script failed on {it}"
#   solution: correct the script until each run on each golden input ends well
deny contains reasons.on(rego.metadata.chain(), measured.name) if {
	some measured in _facts.inputs
	some output in measured.script_outputs
	not is_string(output)
}

# METADATA
# title: Another output than expected
# description: |
#   A run of the script on a golden input printed something else than the base commit expects. These runs are compared
#   outside the sandbox, and see no expected output.
# custom:
#   code: augment.golden
#   message: "the script does not print what is expected for {it}"
#   solution: correct the script, or the expected output in a change of its own
deny contains reasons.on(rego.metadata.chain(), measured.name) if {
	some measured in _facts.inputs
	some output in measured.script_outputs
	is_string(output)
	output != measured.expected_sha256
}

# METADATA
# title: More variance than the prose
# description: |
#   On one golden input at least, the outputs of the script differ more than those of the prose. Variance is
#   (distinct - 1) / (runs - 1).
# custom:
#   code: augment.variance
#   message: "the script's outputs vary more than those of the prose on {it}"
#   solution: make the script's output depend on its input alone
deny contains reasons.on(rego.metadata.chain(), measured.name) if {
	some measured in _facts.inputs
	_is_enough(measured.script_outputs)
	_is_enough(measured.prose_outputs)
	not _varies_no_more(measured)
}

_varies_no_more(measured) if {
	script := measured.script_outputs
	prose := measured.prose_outputs
	_others(script) * (count(prose) - 1) <= _others(prose) * (count(script) - 1)
}

_others(outputs) := count({output | some output in outputs}) - 1
