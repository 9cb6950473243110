package tipstaff.modification.proof_test

import data.tipstaff.modification.proof
import data.tipstaff.testing

_said(facts) := said if {
	document := testing.modification_with(facts)
	refused := proof.deny with input as document
	waiting := proof.require_approval with input as document
	said := testing.codes(refused) | testing.codes(waiting)
}

_supplied := {"/evidence/supplied/prover": true}

_answered(status) := object.union(_supplied, {"/evidence/proof": {"status": status, "detail": "because"}})

# METADATA
# custom:
#   req: [HP-05]
test_only_a_proof_is_one if {
	_said(_answered("proved")) == set()
	_said(_answered("failed")) == {"proof.failed"}
	every status in ["unknown", "error", "timeout", "Proved", "passed", "none"] {
		_said(_answered(status)) == {"proof.error"}
	}
	every answer in [null, {}, {"detail": ""}, {"status": null}, {"status": 1}] {
		_said(object.union(_supplied, {"/evidence/proof": answer})) == {"proof.pending"}
	}
}

test_nothing_is_said_where_no_proof_is_asked_for if {
	_said({}) == set()
	_said({"/evidence/proof": {"status": "failed", "detail": ""}}) == set()
}

test_proof_that_is_asked_for_takes_a_prover if {
	asked := {"/evidence/asked/rules/require_proof": true}
	_said(asked) == {"proof.missing"}
	open := proof.is_open with input as testing.modification_with(asked)
	open == false
	supplied := proof.is_open with input as testing.modification_with(object.union(asked, _supplied))
	supplied == true
}

test_refutation_says_why if {
	refused := proof.deny with input as testing.modification_with(_answered("failed"))
	{reason.message | some reason in refused} == {"the prover refutes the modification: because"}
}

test_answer_without_a_word_of_why_says_none if {
	every status, message in {
		"failed": "the prover refutes the modification: ",
		"unknown": "the prover gave no proof: ",
	} {
		said := proof.deny with input as testing.modification_with(object.union(_supplied, {"/evidence/proof": {"status": status}}))
		print(said)
		{reason.message | some reason in said} == {message}
	}
	said := proof.deny with input as testing.modification_with(_answered("unknown"))
	{reason.message | some reason in said} == {"the prover gave no proof: because"}
}

test_answer_that_nobody_asked_for_says_nothing if {
	_said({"/evidence/proof": {"status": "unknown", "detail": ""}}) == set()
	_said({"/evidence/asked/rules/require_proof": true, "/evidence/proof": {"status": "proved"}}) == set()
}
