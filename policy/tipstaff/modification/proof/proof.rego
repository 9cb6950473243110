# METADATA
# title: Proof of a modification
# description: What a prover said of the modification, in isolation. Anything but a proof is none.
# schemas:
#   - input: schema["modification.schema"]
package tipstaff.modification.proof

import data.tipstaff.modification.settings
import data.tipstaff.reasons

_proof := input.evidence.proof

# METADATA
# title: Whether a proof is asked for
default required := false

required if "require_proof" in settings.required

# METADATA
# title: Whether the prover has to be run
default is_open := false

is_open if {
	input.evidence.supplied.prover == true
	not _has_answered
}

_has_answered if is_string(_proof.status)

# METADATA
# title: No prover
# description: A rule asks for a proof, and the proposal names nothing that could give one.
# custom:
#   code: proof.missing
#   message: a proof is asked for and nobody is named to give it
#   solution: name a prover in the specification
deny contains reasons.of(rego.metadata.chain()) if {
	required
	not input.evidence.supplied.prover == true
	not _has_answered
}

# METADATA
# title: Proof failed
# description: The prover says that what must hold does not.
# custom:
#   code: proof.failed
#   message: "the prover refutes the modification: {it}"
#   solution: correct the source
deny contains reasons.on(rego.metadata.chain(), object.get(_proof, "detail", "")) if {
	required
	_proof.status in data.tipstaff.modification.proof.refuted
}

# METADATA
# title: No proof
# description: The prover broke off, ran out of time, or could not tell. None of that is a proof.
# custom:
#   code: proof.error
#   message: "the prover gave no proof: {it}"
#   solution: look at what the prover printed, and run it again
deny contains reasons.on(rego.metadata.chain(), object.get(_proof, "detail", "")) if {
	required
	_has_answered
	not _is_an_answer
}

_is_an_answer if _proof.status in data.tipstaff.modification.proof.holds

_is_an_answer if _proof.status in data.tipstaff.modification.proof.refuted

# METADATA
# title: Not run
# description: The prover has not been run yet.
# custom:
#   code: proof.pending
#   message: the prover has not been run
#   solution: run `tipstaff governed-harness run`
require_approval contains reasons.of(rego.metadata.chain()) if is_open
