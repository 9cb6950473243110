"""Requests to the sidecar's own API: the few that are open, and many that must not be."""

from __future__ import annotations

PATH = "/v1/data/tipstaff/decision/verdict"
OPEN = [
    ("POST", PATH),
    ("POST", PATH + "s"),
    ("POST", PATH + "?provenance=true&strict-builtin-errors=true"),
    ("GET", "/health"),
    ("GET", "/health?bundles"),
]
CLOSED = [
    *[(method, PATH) for method in ("GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")],
    *[(method, PATH) for method in ("post", "Post", "POSTS", "PROPFIND", "CONNECT")],
    *[
        ("POST", PATH + tail)
        for tail in ("/", "/effect", "x", "%00", "%20", "%2F", "%2f..", ";a", ".")
    ],
    *[("POST", PATH + "?" + q) for q in ("explain=full", "metrics", "instrument=true", "pretty")],
    ("POST", "/v1/data/tipstaff%2Fdecision%2Fverdict"),
    ("POST", "/v1/data/tipstaff%2fdecision/verdict"),
    ("POST", "/v1/data/tipstaff//decision/verdict"),
    ("POST", "//v1/data/tipstaff/decision/verdict"),
    ("POST", "/v1/data/x/../tipstaff/decision/verdict"),
    ("POST", "/v1/data/./tipstaff/decision/verdict"),
    ("POST", "/v1/data/%2e%2e/data/tipstaff/decision/verdict"),
    ("POST", "/V1/data/tipstaff/decision/verdict"),
    ("POST", "/v0/data/tipstaff/decision/verdict"),
    ("POST", "/v1/data/tipstaff/decision/%2576erdict"),
    ("POST", "/v1/data/tipstaff/decision/verdict%"),
    ("POST", "/v1/data/tipstaff/decision"),
    ("POST", "/v1/data/tipstaff/sidecar/allow"),
    ("POST", "/v1/data/tipstaff/limits"),
    ("POST", "/v1/data/org"),
    ("POST", "/v1/data"),
    ("POST", "/"),
    ("GET", "/"),
    ("GET", "/v1/data"),
    ("GET", "/v1/data/tipstaff"),
    ("GET", "/v1/policies"),
    ("PUT", "/v1/policies/x"),
    ("DELETE", "/v1/policies/tipstaff"),
    ("PUT", "/v1/data/tipstaff/limits"),
    ("PATCH", "/v1/data/tipstaff/limits"),
    ("DELETE", "/v1/data/tipstaff"),
    ("POST", "/v1/query"),
    ("GET", "/v1/query?q=data"),
    ("POST", "/v1/compile"),
    ("GET", "/v1/config"),
    ("GET", "/v1/status"),
    ("GET", "/metrics"),
    ("GET", "/debug/pprof/"),
    ("POST", "/health"),
    ("HEAD", "/health"),
    ("GET", "/health/"),
    ("GET", "/health/live"),
    ("GET", "/Health"),
    ("GET", "/health%2Flive"),
]
