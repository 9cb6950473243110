"""An approval file with a line that is not what was written, or that is no file at all, decides nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.ledger_parts import BOB, SetClock, asked, refused
from tipstaff.documents.strict_json import canonical
from tipstaff.ledger.approval_file import ApprovalFile

A, B = "a" * 64, "b" * 64


def _uses(store: ApprovalFile, key: str) -> list[Callable[[], object]]:
    """Everything that a store can be asked."""
    return [
        store.list,
        store.counts,
        store.sweep,
        lambda: store.get(key),
        lambda: store.request(asked("c" * 64)),
        lambda: store.approve(key, BOB),
        lambda: store.reject(key, BOB),
        lambda: store.confirm_first(key, BOB),
        lambda: store.consume(key),
    ]


def _with(line: bytes, **changes: Any) -> bytes:
    return canonical({**json.loads(line), **changes}) + b"\n"


@pytest.mark.req("AP-01")
def test_store_with_another_status_is_corrupt(store: ApprovalFile, path: Path) -> None:
    store.request(asked(A))
    store.request(asked(B))
    store.approve(A, BOB)
    path.write_bytes(path.read_bytes().replace(b'"approved"', b'"denied"'))
    before = path.read_bytes()
    for use in _uses(store, B):
        with refused("store.corrupt", 3, 3):
            use()
    assert path.read_bytes() == before


def _damages() -> dict[str, Callable[[list[bytes]], list[bytes]]]:
    """What may become of the lines: a request for A, its approval, a request for B, its rejection."""

    def line(number: int, make: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
        return lambda lines: [make(text) if at == number else text for at, text in enumerate(lines)]

    def change(number: int, **changes: Any) -> Callable[[list[bytes]], list[bytes]]:
        return line(number, lambda text: _with(text, **changes))

    late, early = "2026-03-01T12:15:00.000000Z", "2026-03-01T11:59:59.999999Z"
    return {
        "blank line": lambda lines: [*lines[:2], b"\n", *lines[2:]],
        "white space": line(0, lambda text: text.replace(b'":', b'": ', 1)),
        "carriage return": line(0, lambda text: text[:-1] + b"\r\n"),
        "byte order mark": line(0, lambda text: b"\xef\xbb\xbf" + text),
        "not UTF-8": line(1, lambda text: text.replace(b"bob", b"b\xffb")),
        "duplicate key": line(1, lambda text: text.replace(b"{", b'{"at":"x",', 1)),
        "two statuses": line(
            1, lambda text: text.replace(b'"status":', b'"status":"rejected","status":')
        ),
        "duplicate in evidence": line(
            0, lambda text: text.replace(b'{"passed":3}', b'{"passed":0,"passed":3}')
        ),
        "other order": line(
            1, lambda text: json.dumps(dict(reversed(json.loads(text).items()))).encode() + b"\n"
        ),
        "other order in evidence": line(
            0, lambda text: text.replace(b'{"passed":3}', b'{"b":1,"a":1}')
        ),
        "escaped letter": line(1, lambda text: text.replace(b"bob", b"\\u0062ob")),
        "NaN": line(0, lambda text: text.replace(b'{"passed":3}', b'{"passed":NaN}')),
        "fraction": line(0, lambda text: text.replace(b'{"passed":3}', b'{"passed":3.0}')),
        "exponent": line(0, lambda text: text.replace(b'{"passed":3}', b'{"passed":1e21}')),
        "huge integer": line(
            0, lambda text: text.replace(b'{"passed":3}', b'{"passed":9007199254740993}')
        ),
        "lone surrogate": line(0, lambda text: text.replace(b"adds", b"\\ud800")),
        "two events in a line": lambda lines: [lines[0][:-1] + lines[1], *lines[2:]],
        "an array": line(0, lambda text: b"[" + text[:-1] + b"]\n"),
        "a number": line(0, lambda _text: b"1\n"),
        "foreign JSON": line(0, lambda _text: b'{"a":1}\n'),
        "no JSON": line(0, lambda _text: b"hello\n"),
        "null byte": line(0, lambda _text: b"\0\n"),
        "unknown member": change(1, extra=1),
        "unknown event": change(1, event="approve"),
        "request called decision": change(0, event="decision"),
        "later schema": change(1, schema_version=2),
        "schema as a text": change(1, schema_version="1"),
        "schema true": change(1, schema_version=True),
        "pending by decision": change(1, status="pending"),
        "upper case": change(1, status="Approved"),
        "by nobody": change(1, by=None),
        "unknown kind of actor": change(1, by={"id": "bob", "type": "robot"}),
        "decided late": change(1, at=late),
        "decided early": change(1, at=early),
        "time of another width": change(1, at="2026-03-01T12:00:00Z"),
        "decision for nobody": change(1, key="c" * 64),
        "decision with a short key": change(1, key="a" * 63),
        "used without approval": change(3, status="consumed", by=None),
        "expired in time": change(3, status="expired", by=None),
        "key of another digest": change(0, digest="c" * 64),
        "expires at once": change(0, expires_at="2026-03-01T12:00:00.000000Z"),
        "no alternatives": change(0, alternatives=[]),
        "no reason": change(0, why=[]),
        "no confirmation": change(0, confirmations=0),
        "confirmations true": change(0, confirmations=True),
        "three confirmations": change(0, confirmations=3),
        "approved without its pair": change(0, confirmations=2),
        "unknown urgency": change(0, urgency="soon"),
        "decision first": lambda lines: [lines[1], lines[0], *lines[2:]],
        "decided twice": lambda lines: [*lines[:2], lines[1], *lines[2:]],
        "asked twice": lambda lines: [lines[0], *lines],
        "asked again while approved": lambda lines: [*lines, lines[0]],
        "asked again after a rejection": lambda lines: [*lines, lines[2]],
        "rejection made approval by a second line": lambda lines: [
            *lines,
            _with(lines[3], status="approved"),
        ],
    }


@pytest.mark.req("AP-02")
@pytest.mark.promise("BR-10", "BR-17")
@pytest.mark.parametrize("damage", _damages())
def test_damaged_line_leaves_everything_undecided(
    store: ApprovalFile, path: Path, damage: str
) -> None:
    store.request(asked(A))
    store.approve(A, BOB)
    store.request(asked(B))
    store.reject(B, BOB)
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = _damages()[damage](lines)
    assert damaged != lines
    path.write_bytes(b"".join(damaged))
    for use in _uses(store, A):
        with refused("store.corrupt", 3) as caught:
            use()
        assert str(caught.value.field).startswith("line ")
    assert path.read_bytes() == b"".join(damaged)


@pytest.mark.req("AP-02")
def test_store_cut_at_any_byte_is_undecided_and_names_the_torn_line(
    store: ApprovalFile, path: Path
) -> None:
    store.request(asked(A))
    store.approve(A, BOB)
    store.request(asked(B, confirmations=2))
    token = store.confirm_first(B, BOB)
    store.approve(B, BOB, token=token)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        whole, line = data[:size].endswith(b"\n") or size == 0, data[:size].count(b"\n") + 1
        if whole:
            assert len(store.list()) == (0, 1, 1, 2, 2)[line - 1]
            continue
        for use in (store.counts, lambda: store.approve(B, BOB)):
            with refused("store.corrupt", 3, line):
                use()
        assert path.stat().st_size == size


@pytest.mark.parametrize("place", ["link", "dangling link", "pipe", "device", "folder", "socket"])
def test_store_that_is_no_plain_file_is_refused_and_left_alone(tmp_path: Path, place: str) -> None:
    path, outside = tmp_path / "approvals.jsonl", tmp_path / "outside"
    if place == "link":
        outside.write_bytes(b"")
        path.symlink_to(outside)
    elif place == "dangling link":
        path.symlink_to(outside)
    elif place == "pipe":
        os.mkfifo(path)
    elif place == "device":
        path = Path("/dev/zero")
    elif place == "folder":
        path.mkdir()
    else:
        import socket

        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    store = ApprovalFile(path, SetClock())
    for use in _uses(store, A):
        with refused("store.unreadable", 3):
            use()
    assert not outside.exists() or outside.read_bytes() == b""
