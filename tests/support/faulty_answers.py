"""Everything that an engine was ever seen or feared to answer, and the code that a client has for it."""

from __future__ import annotations

import json

from support import stub_engine as play
from support.stub_engine import GOOD, PROVENANCE, Play


def _json(value: object) -> Play:
    return play.answer(json.dumps(value).encode())


def _of(**changes: object) -> Play:
    whole = {"provenance": PROVENANCE, "result": {"effect": "allow"}} | changes
    return _json({key: value for key, value in whole.items() if value != "absent"})


def _chunked(data: bytes) -> Play:
    return play.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data)


def _ok(headers: bytes, body: bytes = GOOD) -> Play:
    return play.raw(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\n" + body)


LENGTH = b"Content-Length: %d" % len(GOOD)
FAULTS: list[tuple[str, Play, str]] = [
    ("empty object", _json({}), "undefined"),
    ("warning only", _json({"warning": {}, "provenance": PROVENANCE}), "undefined"),
    ("null", _json(None), "malformed"),
    ("bare true", _json(True), "malformed"),
    ("list", _json([]), "malformed"),
    ("bare string", _json("ALLOW"), "malformed"),
    ("number", _json(1), "malformed"),
    ("no body", play.answer(b""), "malformed"),
    ("html", play.answer(b"<html>allow</html>"), "malformed"),
    ("cut json", play.answer(GOOD[:-1]), "malformed"),
    ("two documents", play.answer(GOOD + GOOD), "malformed"),
    ("byte order mark", play.answer(b"\xef\xbb\xbf" + GOOD), "malformed"),
    ("utf-16", play.answer(GOOD.decode().encode("utf-16")), "malformed"),
    ("not utf-8", play.answer(GOOD.replace(b"allow", b"\xff")), "malformed"),
    ("nan", play.answer(GOOD.replace(b'"allow"', b"NaN")), "malformed"),
    ("infinity", play.answer(GOOD.replace(b'"allow"', b"-Infinity")), "malformed"),
    ("beyond float", play.answer(GOOD.replace(b'"allow"', b"1e999")), "malformed"),
    ("5000 digits", play.answer(GOOD.replace(b'"allow"', b"9" * 5000)), "malformed"),
    ("deep", play.answer(b"[" * 100_000), "malformed"),
    (
        "duplicate key",
        play.answer(GOOD[:-1] + b', "result": {"effect": "allow"}}'),
        "malformed",
    ),
    (
        "inner duplicate key",
        play.answer(GOOD.replace(b'"effect"', b'"effect": "deny", "effect"')),
        "malformed",
    ),
    ("version absent", _of(provenance={"bundles": PROVENANCE["bundles"]}), "malformed"),
    ("no provenance", _of(provenance="absent"), "revision"),
    ("provenance null", _of(provenance=None), "revision"),
    ("provenance without bundles", _of(provenance={"version": "1"}), "revision"),
    ("no bundle", _of(provenance={**PROVENANCE, "bundles": {}}), "revision"),
    (
        "wrong revision",
        _of(provenance={**PROVENANCE, "bundles": {"tipstaff": {"revision": "r0"}}}),
        "revision",
    ),
    (
        "revision of a wrong type",
        _of(provenance={**PROVENANCE, "bundles": {"tipstaff": "r1"}}),
        "revision",
    ),
    ("redirect", play.answer(b"", "301 Moved", "Location: /\r\n"), "http"),
    ("unauthorized", play.answer(GOOD, "401 Unauthorized"), "http"),
    ("not found", play.answer(GOOD, "404 Not Found"), "http"),
    ("too many", play.answer(GOOD, "429 Too Many Requests"), "http"),
    ("broken", play.answer(GOOD, "500 Internal Server Error"), "http"),
    ("no content", play.answer(b"", "204 No Content"), "http"),
    ("half then close", play.half_then(play.close), "unavailable"),
    ("half then reset", play.half_then(play.reset), "unavailable"),
    ("half then hang", play.half_then(play.hang), "timeout"),
    ("hang", play.hang, "timeout"),
    ("one byte at a time", play.drip, "timeout"),
    ("close at once", play.close, "unavailable"),
    ("reset at once", play.reset, "unavailable"),
    ("50 MB announced", _ok(b"Content-Length: 52428800", b""), "malformed"),
    ("50 MB in chunks", _chunked(b"3200000\r\n" + b"x" * 1000), "malformed"),
    ("endless head", play.raw(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 9000), "malformed"),
    ("not http", play.raw(b"SSH-2.0-x\r\n\r\n"), "malformed"),
    ("http/1.0", play.raw(b"HTTP/1.0 200 OK\r\n" + LENGTH + b"\r\n\r\n" + GOOD), "malformed"),
    ("continue", play.raw(b"HTTP/1.1 100 Continue\r\n\r\n"), "malformed"),
    ("odd status", play.raw(b"HTTP/1.1 2000 OK\r\n\r\n"), "malformed"),
    ("no length", _ok(b"X: y"), "malformed"),
    ("two lengths", _ok(LENGTH + b"\r\nContent-Length: 1"), "malformed"),
    ("length and chunks", _ok(LENGTH + b"\r\nTransfer-Encoding: chunked"), "malformed"),
    ("negative length", _ok(b"Content-Length: -1"), "malformed"),
    ("length in words", _ok(b"Content-Length: ten"), "malformed"),
    ("folded header", _ok(LENGTH + b"\r\n folded"), "malformed"),
    ("space in header name", _ok(b"Content-Length : 10"), "malformed"),
    ("gzip", _ok(LENGTH + b"\r\nContent-Encoding: gzip"), "malformed"),
    ("gzip and chunks", _ok(b"Transfer-Encoding: gzip, chunked"), "malformed"),
    ("bytes after the answer", _ok(LENGTH, GOOD + b"x"), "malformed"),
    ("chunk size in words", _chunked(b"zz\r\n"), "malformed"),
    ("negative chunk", _chunked(b"-1\r\n"), "malformed"),
    ("chunk extension", _chunked(b"1;a=b\r\nx\r\n0\r\n\r\n"), "malformed"),
    ("chunk without end", _chunked(b"1\r\nxyz\r\n"), "malformed"),
    ("trailer", _chunked(b"1\r\nx\r\n0\r\nA: b\r\n\r\n"), "malformed"),
    ("chunks cut short", _chunked(b"5\r\nx"), "timeout"),
]
