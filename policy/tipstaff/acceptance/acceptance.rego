# METADATA
# title: Acceptance
# description: |
#   Whether the committed snapshot of a server may become the one that was looked at. Only a person moves it, and only to
#   the very bytes whose digest was shown.
# schemas:
#   - input: schema["contract.schema"]
package tipstaff.acceptance

import data.tipstaff.approval
import data.tipstaff.config
import data.tipstaff.pause
import data.tipstaff.reasons

# METADATA
# title: Not for this kind of actor
# description: Agents and CI look at contracts; a person accepts one. An actor of no kind is a fact that the guard misses.
# custom:
#   code: accept.human_only
#   message: only a person may accept a contract
#   solution: "a person runs `tipstaff contracts accept` outside any agent or CI session"
#   controls: [OWASP-LLM06:2025, OWASP-ASI04]
deny contains reasons.of(rego.metadata.chain()) if {
	not is_null(object.get(input, ["context", "actor", "type"], null))
	not _is_person
}

_is_person if input.context.actor.type in data.tipstaff.acceptance.actors

# METADATA
# title: Other bytes than those that were shown
# description: No kept snapshot of this server has the digest that was given.
# custom:
#   code: accept.other_bytes
#   message: "no snapshot with the digest {it} was looked at here"
#   solution: run `tipstaff contracts check` or `snapshot`, look at what it shows, and give the digest that it names
deny contains reasons.on(rego.metadata.chain(), object.get(input, ["resource", "new_digest"], null)) if {
	not _is_as_shown
}

_is_as_shown if {
	is_string(input.resource.new_digest)
	input.evidence.candidate.digest == input.resource.new_digest
	input.evidence.candidate.server == input.resource.id
}

# METADATA
# title: No baseline to move
# description: |
#   The committed snapshot cannot be read, or is another server's. What stands in its place is nobody's decision yet.
# custom:
#   code: accept.baseline
#   message: "the committed snapshot is {it}, so it cannot be moved"
#   solution: restore the file from git, or remove it and accept the contract as a first one
deny contains reasons.on(rego.metadata.chain(), input.evidence.status) if not _is_movable

_is_movable if {
	input.evidence.status in data.tipstaff.acceptance.statuses.first
	is_null(object.get(input, ["resource", "old_digest"], null))
}

_is_movable if {
	input.evidence.status in data.tipstaff.acceptance.statuses.next
	is_string(input.resource.old_digest)
}

# METADATA
# title: Needs another person
# description: With four eyes, whoever had the contract observed does not accept it.
# custom:
#   code: accept.four_eyes
#   message: who had this contract observed may not accept it as well
#   solution: "another person accepts it, or reviews what `tipstaff contracts propose` makes"
#   controls: [OWASP-ASI09]
deny contains reasons.of(rego.metadata.chain()) if {
	config.four_eyes
	not _is_another_person
}

_is_another_person if approval.person(input.evidence.candidate.seen_by) != approval.person(input.context.actor.id)

# METADATA
# title: Hard pause
# description: A hard pause stops what people do as well.
# custom:
#   code: accept.paused
#   message: the project is paused, and the pause stops people's acts too
#   solution: a person runs `tipstaff resume`
deny contains reasons.of(rego.metadata.chain()) if count(pause.hold) > 0

# METADATA
# title: Acceptance is granted
# description: A person accepts the bytes that were shown.
# custom:
#   code: accept.granted
#   message: a person accepts the contract that was shown
#   solution: to withdraw this, change policy/tipstaff/acceptance/data.json
grant contains reasons.of(rego.metadata.chain()) if {
	_is_person
	_is_as_shown
	_is_movable
}
