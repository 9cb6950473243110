# METADATA
# title: Evidence
# description: |
#   What the measured facts lack for a change to be applied without a person: passing golden tests on this very diff,
#   an isolated run, a change that only adds, and added code that does nothing surprising.
# schemas:
#   - input: schema["change.schema"]
package tipstaff.evidence

import data.tipstaff.config
import data.tipstaff.reasons

_tests := input.evidence.tests

_sandbox := input.evidence.sandbox

_backends := data.tipstaff.evidence.backends

# METADATA
# title: Whether nothing stands in the way of applying it unattended
default low_risk := false

low_risk if count(shortfalls) == 0

# METADATA
# title: No tests
# description: No golden test ran, or its result did not arrive.
# custom:
#   code: tests.none
#   message: no golden test has passed on this change
#   solution: give --tests a command that runs at least one test and writes JUnit XML to $TIPSTAFF_JUNIT
shortfalls contains reasons.of(rego.metadata.chain()) if not _some_test_counts

_some_test_counts if {
	is_number(_tests.passed)
	_tests.passed > 0
}

_some_test_counts if {
	is_number(_tests.failed)
	_tests.failed > 0
}

# METADATA
# title: Failed tests
# description: At least one golden test failed.
# custom:
#   code: tests.failed
#   message: a golden test fails on this change
#   solution: correct the change until all golden tests pass
shortfalls contains reasons.of(rego.metadata.chain()) if {
	_tests.failed != 0
	_tests.failed != null
}

# METADATA
# title: Tests of another diff
# description: The test results belong to other content.
# custom:
#   code: tests.stale
#   message: the test results belong to another diff
#   solution: run the tests on the diff that is proposed
shortfalls contains reasons.of(rego.metadata.chain()) if {
	_some_test_counts
	not _tests.diff_sha256 == input.resource.diff_sha256
}

# METADATA
# title: Tests by another command
# description: |
#   The team names the command whose results count, and another one ran; or the team names none, and an agent chose.
# custom:
#   code: tests.command
#   message: the tests ran by a command that the team did not name
#   solution: name the command in tests.command of tipstaff.yaml, and propose with that one
#   controls: [OWASP-LLM06:2025]
shortfalls contains reasons.of(rego.metadata.chain()) if {
	_some_test_counts
	not _command_is_trusted
}

_command_is_trusted if _tests.command == config.team.tests.command

_command_is_trusted if {
	is_null(config.of_team(["tests", "command"], null))
	input.context.actor.type in data.tipstaff.evidence.may_choose_tests
}

# METADATA
# title: Not isolated
# description: The tests did not run in an isolating backend.
# custom:
#   code: sandbox.unisolated
#   message: the tests did not run isolated, so their result is no evidence
#   solution: run `tipstaff doctor` to see which isolation is missing
shortfalls contains reasons.of(rego.metadata.chain()) if {
	_some_test_counts
	not _isolated
}

_isolated if {
	_sandbox.isolated == true
	_sandbox.profile == "strict"
	config.profile == "strict"
}

# METADATA
# title: Backend too weak
# description: The tests ran in a weaker backend than the configuration asks for.
# custom:
#   code: sandbox.minimum
#   message: "the tests ran on {it}, which is weaker than the configured minimum"
#   solution: install a stronger backend, or lower sandbox.minimum_backend in tipstaff.yaml
shortfalls contains reasons.on(rego.metadata.chain(), object.get(input, _backend_path, "no backend")) if {
	_some_test_counts
	not _strong_enough
}

_backend_path := ["evidence", "sandbox", "backend"]

_strong_enough if _backends[_sandbox.backend] >= config.minimum_backend_rank

# METADATA
# title: Protection not held
# description: The probe inside the sandbox saw a protection fail.
# custom:
#   code: sandbox.not_held
#   message: "the sandbox did not hold: {it}"
#   solution: run `tipstaff doctor` to see which primitive is missing
shortfalls contains reasons.about(rego.metadata.chain(), protection) if {
	_some_test_counts
	some protection in data.tipstaff.evidence.protections
	not _holds(protection)
}

_holds(protection) if protection in _sandbox.held

# METADATA
# title: Code that wants a look
# description: The added code uses something that is not forbidden, and not for a machine to wave through.
# custom:
#   code: capability.caution
#   message: "the added code uses {it}"
#   solution: have a person approve, or write the change without it
#   controls: [OWASP-LLM06:2025, OWASP-ASI05]
shortfalls contains reasons.about(rego.metadata.chain(), capability) if {
	some capability in data.tipstaff.gates.caution
	capability in input.action.found_capabilities
}
