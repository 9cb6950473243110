# METADATA
# title: Access
# description: |
#   Tokens for the MCP surface: how far and how long one may reach when it is issued, and whether one that is presented
#   still counts; and which tools a scope has. Who may issue and revoke tokens is said by `tipstaff.control`.
# schemas:
#   - input: schema["control.schema"]
package tipstaff.access

import data.tipstaff.reasons
import data.tipstaff.shapes

_access := object.get(input, ["evidence", "access"], null)

# A member that is not there must not make a refusal undefined.
default _given(_) := null

_given(name) := _access[name]

_is_issued if input.action.type == data.tipstaff.access.acts.issue

_is_presented if input.action.type == data.tipstaff.access.acts.call

# METADATA
# title: Unknown scope
# description: A token is asked for, for a scope that does not exist.
# custom:
#   code: access.scope_unknown
#   message: "{it} is no scope of a token"
#   solution: ask for one of the scopes in policy/tipstaff/access/data.json
deny contains reasons.on(rego.metadata.chain(), _given("scope")) if {
	_is_issued
	not _is_scope
}

_is_scope if data.tipstaff.access.scopes[_given("scope")]

# METADATA
# title: Lifetime out of bounds
# description: A token that lives this long, or that ends before it can be used.
# custom:
#   code: access.lifetime
#   message: "a token may not live for {it} seconds"
#   solution: ask for a lifetime within the bounds of policy/tipstaff/access/data.json
#   controls: [OWASP-ASI03]
deny contains reasons.on(rego.metadata.chain(), _given("lifetime_s")) if {
	_is_issued
	not _lifetime
}

_lifetime := data.tipstaff.access.lifetime_s.usual if _given("lifetime_s") == null

_lifetime := asked if {
	asked := _access.lifetime_s
	shapes.are_counts([asked])
	asked >= data.tipstaff.access.lifetime_s.least
	asked <= data.tipstaff.access.lifetime_s.most
}

# METADATA
# title: Unknown token
# description: What was presented is no token that was issued here.
# custom:
#   code: access.unknown
#   message: the token is not one that was issued here
#   solution: a person runs `tipstaff mcp token issue`
#   controls: [OWASP-ASI03]
deny contains reasons.of(rego.metadata.chain()) if {
	_is_presented
	not is_object(_access)
}

# METADATA
# title: Revoked token
# description: Somebody has revoked the token.
# custom:
#   code: access.revoked
#   message: the token was revoked
#   solution: a person runs `tipstaff mcp token issue`
#   controls: [OWASP-ASI03]
deny contains reasons.of(rego.metadata.chain()) if {
	_is_presented
	is_object(_access)
	not _stands
}

_stands if _access.revoked_at == null

# METADATA
# title: Expired token
# description: The token's time is over, or cannot be told. Setting the clock back does not bring it back.
# custom:
#   code: access.expired
#   message: the token has expired
#   solution: a person runs `tipstaff mcp token issue`
#   controls: [OWASP-ASI03]
deny contains reasons.of(rego.metadata.chain()) if {
	_is_presented
	is_object(_access)
	not _in_time
}

_in_time if {
	every moment in _moments | {_access.issued_at, _access.expires_at} {
		shapes.is_timestamp(moment)
	}
	ends := time.parse_rfc3339_ns(_access.expires_at)
	every moment in _moments {
		time.parse_rfc3339_ns(moment) < ends
	}
}

_moments := {input.context.now} | {latest |
	latest := object.get(input, ["context", "latest"], null)
	latest != null
}

# METADATA
# title: More than is served
# description: The token's scope is wider than what this server was started to serve, or is none.
# custom:
#   code: access.scope
#   message: "the server does not serve tokens of the scope {it}"
#   solution: start it with a wider --scope, or issue a token of a narrower one
deny contains reasons.on(rego.metadata.chain(), _given("scope")) if {
	_is_presented
	is_object(_access)
	not _is_served
}

_is_served if _access.scope in data.tipstaff.access.scopes[_access.served]

# METADATA
# title: What is given
# description: How many seconds a token lives that is asked for; the tools of a scope that are asked for, by name.
report := {"lifetime_s": _lifetime} if {
	_is_issued
} else := {"tools": _tools} if {
	input.action.type == data.tipstaff.access.acts.list
} else := {}
