package tipstaff.modification.rollback_test

import data.tipstaff.modification.rollback
import data.tipstaff.testing

_said(facts) := said if {
	document := testing.modification_with(facts)
	denied := rollback.deny with input as document
	waiting := rollback.require_approval with input as document
	said := testing.codes(denied) | testing.codes(waiting)
}

_asked := {"/evidence/asked/rules/require_rehearsal": true}

_supplied := object.union(_asked, {"/evidence/supplied/rollback": true})

test_nothing_is_said_where_no_rehearsal_is_asked_for if {
	_said({}) == set()
	_said({"/evidence/rehearsal": {"restored": false, "detail": ""}}) == set()
}

test_rehearsal_must_have_restored_everything if {
	_said(object.union(_supplied, {"/evidence/rehearsal": {"restored": true, "detail": ""}})) == set()
	_said(object.union(_supplied, {"/evidence/rehearsal": {"restored": false, "detail": "f.py"}})) == {"rollback.rehearsal"}
	_said(object.union(_supplied, {"/evidence/rehearsal": {"detail": "f.py"}})) == {"rollback.rehearsal"}
	_said(_supplied) == {"rollback.pending"}
	_said(object.union(_supplied, {"/evidence/rehearsal": "restored"})) == {"rollback.pending"}
}

test_rehearsal_takes_both_sides if _said(_asked) == {"rollback.missing"}

test_both_sides_alone_ask_for_no_rehearsal if _said({"/evidence/supplied/rollback": true}) == set()

test_failed_rehearsal_says_what_was_not_restored_where_it_is_told if {
	every rehearsal, message in {
		{"restored": false, "detail": "f.py"}: "the rollback did not restore everything: f.py",
		{"restored": false}: "the rollback did not restore everything: ",
	} {
		said := rollback.deny with input as testing.modification_with(object.union(_supplied, {"/evidence/rehearsal": rehearsal}))
		print(said)
		{reason.message | some reason in said} == {message}
	}
}
