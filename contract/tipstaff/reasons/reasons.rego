# METADATA
# title: Reasons
# description: |
#   Builds the reason that a rule gives from the annotations of that rule, so that its code, words, remedy and
#   documentation are one text.
package tipstaff.reasons

# METADATA
# title: The reason of a rule
# description: |
#   `chain` is the rule's own `rego.metadata.chain()`. Its annotations give `custom.code`, `custom.message`,
#   `custom.solution` and, where one confirmation is not enough, `custom.confirmations`. Reasons of one strictness
#   are reported by `custom.order`, then by code.
of(chain) := {
	"code": custom.code,
	"message": custom.message,
	"rule": rule(chain),
	"solution": custom.solution,
	"confirmations": object.get(custom, "confirmations", 1),
	"order": object.get(custom, "order", 50),
} if {
	custom := chain[0].annotations.custom
}

# METADATA
# title: The reason of a rule, about one thing
# description: As `of`, with the thing in place of `{it}` in message and solution.
on(chain, it) := object.union(reason, {
	"message": replace(reason.message, "{it}", _text(it)),
	"solution": replace(reason.solution, "{it}", _text(it)),
}) if {
	reason := of(chain)
}

# METADATA
# title: The reason of a rule, with a parameter in its code
# description: As `on`, and the thing follows a colon in the code.
about(chain, it) := object.union(reason, {"code": concat(":", [reason.code, _text(it)])}) if {
	reason := on(chain, it)
}

# A reason must not get lost because what it is about is not a string.
_text(it) := sprintf("%v", [it])

# METADATA
# title: The name of a rule
# description: The rule's path and, since several rules may build one set, its code.
rule(chain) := concat("#", [concat(".", chain[0].path), chain[0].annotations.custom.code])
