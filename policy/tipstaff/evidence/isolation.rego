package tipstaff.evidence

import data.tipstaff.config
import data.tipstaff.reasons

_sandbox := input.evidence.sandbox

_backends := data.tipstaff.evidence.backends

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
# description: The tests ran in a weaker backend than the configuration asks for, of all changes or of this class.
# custom:
#   code: sandbox.minimum
#   message: "the tests ran on {it}, which is weaker than the configured minimum"
#   solution: install a stronger backend, or lower sandbox.minimum_backend or sandbox.require in tipstaff.yaml
shortfalls contains reasons.on(rego.metadata.chain(), object.get(input, _backend_path, "no backend")) if {
	_some_test_counts
	not _strong_enough
}

_backend_path := ["evidence", "sandbox", "backend"]

_strong_enough if _backends[_sandbox.backend] >= config.minimum_backend_rank

# METADATA
# title: Backend left out
# description: The tests ran in a backend that a configuration file leaves out.
# custom:
#   code: sandbox.left_out
#   message: "the tests ran on {it}, which sandbox.backends leaves out"
#   solution: run them on a backend that sandbox.backends names in both files
shortfalls contains reasons.on(rego.metadata.chain(), backend) if {
	_some_test_counts
	some names in config.backend_lists
	backend := object.get(input, _backend_path, "no backend")
	not backend in names
}

# METADATA
# title: Another kernel than the backend's
# description: A probe inside the sandbox reached a kernel that this backend does not run commands on.
# custom:
#   code: sandbox.kernel
#   message: "the backend is said to be {it}, but the kernel inside was another one"
#   solution: run `tipstaff doctor`, and remove what stands in for the backend
#   controls: [OWASP-ASI05]
shortfalls contains reasons.on(rego.metadata.chain(), _sandbox.backend) if {
	_some_test_counts
	_sandbox.kernel != null
	_sandbox.kernel != data.tipstaff.evidence.kernels[_sandbox.backend]
}

# METADATA
# title: Protection not held
# description: The probe inside the sandbox saw a protection fail that counts here, or that the configuration asks for.
# custom:
#   code: sandbox.not_held
#   message: "the sandbox did not hold: {it}"
#   solution: run `tipstaff doctor` to see which primitive is missing
shortfalls contains reasons.about(rego.metadata.chain(), protection) if {
	_some_test_counts
	some protection in config.required_protections
	not _holds(protection)
}

_holds(protection) if protection in _sandbox.held
