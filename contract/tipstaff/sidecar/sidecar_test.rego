package tipstaff.sidecar_test

import data.tipstaff.sidecar

_verdict := {
	"method": "POST",
	"path": ["v1", "data", "tipstaff", "decision", "verdict"],
	"params": {"provenance": ["true"], "strict-builtin-errors": ["true"]},
	"headers": {"Content-Type": ["application/json"]},
}

_with(changes) := object.union(_verdict, changes)

test_decision_paths_are_open if {
	sidecar.allow with input as _verdict
	sidecar.allow with input as _with({"path": ["v1", "data", "tipstaff", "decision", "verdicts"]})
	sidecar.allow with input as object.remove(_verdict, ["headers"])
}

test_health_is_open if {
	sidecar.allow with input as {"method": "GET", "path": ["health"], "params": {}, "headers": {}}
	sidecar.allow with input as {"method": "GET", "path": ["health"], "params": {"bundles": [""]}, "headers": {}}
}

test_other_methods_are_refused if {
	every method in ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "post", "Post", "", null] {
		not sidecar.allow with input as _with({"method": method})
	}
	every method in ["POST", "PUT", "HEAD", "DELETE", "get", ""] {
		not sidecar.allow with input as _with({"method": method, "path": ["health"]})
	}
}

test_other_paths_are_refused if {
	every path in [
		[],
		[""],
		["v1"],
		["v1", "data"],
		["v1", "data", ""],
		["v1", "data", "tipstaff"],
		["v1", "data", "tipstaff", "decision"],
		["v1", "data", "tipstaff", "decision", ""],
		["v1", "data", "tipstaff", "decision", "verdict", ""],
		["v1", "data", "tipstaff", "decision", "verdict", "effect"],
		["v1", "data", "tipstaff", "decision", "Verdict"],
		["v1", "data", "tipstaff", "decision", "verdict "],
		["v1", "data", "tipstaff", "decision", "verdict\u0000"],
		["v1", "data", "tipstaff", "decision", "%76erdict"],
		["v1", "data", "tipstaff", "decision", "verdict;x"],
		["v1", "data", "tipstaff/decision", "verdict"],
		["v1", "data", "tipstaff/decision/verdict"],
		["v1", "data", "tipstaff", "", "decision", "verdict"],
		["v1", "data", "tipstaff", ".", "decision", "verdict"],
		["v1", "data", "tipstaff", "x", "..", "decision", "verdict"],
		["", "v1", "data", "tipstaff", "decision", "verdict"],
		["v0", "data", "tipstaff", "decision", "verdict"],
		["V1", "data", "tipstaff", "decision", "verdict"],
		["v1", "policies"],
		["v1", "policies", "x"],
		["v1", "data", "tipstaff", "sidecar", "allow"],
		["v1", "query"],
		["v1", "compile"],
		["v1", "config"],
		["v1", "status"],
		["metrics"],
		["debug", "pprof"],
		["health"],
		["health", "live"],
		"/v1/data/tipstaff/decision/verdict",
		{"0": "v1"},
		null,
	] {
		not sidecar.allow with input as _with({"path": path})
	}
}

test_health_under_another_path_is_refused if {
	every path in [["health", ""], ["health", "live"], ["Health"], ["", "health"], "health"] {
		not sidecar.allow with input as _with({"method": "GET", "path": path})
	}
}

test_unknown_parameters_are_refused if {
	every name in ["explain", "metrics", "instrument", "pretty", "Provenance", ""] {
		not sidecar.allow with input as _with({"params": {name: ["true"]}})
	}
}

test_yaml_body_is_refused if {
	every kind in ["application/yaml", "application/x-yaml", "text/yaml; charset=utf-8"] {
		not sidecar.allow with input as _with({"headers": {"Content-Type": [kind]}})
	}
}

test_request_without_facts_is_refused if {
	not sidecar.allow with input as {}
	not sidecar.allow with input as null
	every key in ["method", "path", "params"] {
		not sidecar.allow with input as object.remove(_verdict, [key])
	}
}

_access := {"identity_sha256": crypto.sha256("the token")}

test_configured_identity_is_let_in if {
	sidecar.allow with input as _with({"identity": "the token"}) with data["tipstaff-access"] as _access
	sidecar.allow with input as {"method": "GET", "path": ["health"], "params": {}, "identity": "the token"}
		with data["tipstaff-access"] as _access
}

# METADATA
# custom:
#   req: [E-09]
test_any_other_identity_is_refused_where_one_is_configured if {
	every identity in ["", "The token", "the token ", "other", crypto.sha256("the token"), null, true, ["the token"]] {
		not sidecar.allow with input as _with({"identity": identity}) with data["tipstaff-access"] as _access
	}
	not sidecar.allow with input as _verdict with data["tipstaff-access"] as _access
	not sidecar.allow with input as {"method": "GET", "path": ["health"]} with data["tipstaff-access"] as _access
}

test_access_list_that_names_nobody_lets_nobody_in if {
	every access in [{}, null, false, [], "", {"identity_sha256": null}, {"identity_sha256": ""}] {
		not sidecar.allow with input as _with({"identity": "the token"}) with data["tipstaff-access"] as access
		not sidecar.allow with input as _verdict with data["tipstaff-access"] as access
	}
}

test_identity_opens_no_other_path if {
	every path in [["v1", "policies", "x"], ["v1", "data", "tipstaff-access"], ["v1", "data"]] {
		every method in ["GET", "PUT", "POST"] {
			not sidecar.allow with input as _with({"identity": "the token", "path": path, "method": method})
				with data["tipstaff-access"] as _access
		}
	}
}

test_refusal_is_an_answer if {
	every request in [{}, null, _with({"method": "PUT"})] {
		sidecar.allow == false with input as request
	}
}

test_yaml_beside_another_type_is_refused if {
	not sidecar.allow with input as _with({"headers": {"Content-Type": ["application/json", "text/yaml"]}})
}
