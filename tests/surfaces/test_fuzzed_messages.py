"""Messages that nobody would send do no harm: the server lives, grows little, and shows nothing of its inside."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from support.fuzzing import messages
from support.surface import Caller, memory_kib, message, port_of, process, stop, token
from support.workshop import Workshop

SEED = 119
WARM_UP = 200
GROWTH_KIB = 50 << 10
SIGNS = (b"Traceback (most", b'File "', b"site-packages", b"pydantic", b"0x7f")
Record = Callable[[str, str], None]


def demand_no_inside(answer: bytes) -> None:
    """An answer shows nothing of the program."""
    assert not [sign for sign in SIGNS if sign in answer], answer[:500]


def fuzz_http(root: Path, state: Path, count: int) -> int:
    """Send so many to a process over HTTP; by how much its memory grew, in KiB."""
    with process(root) as server:
        caller = Caller(port_of(server), token(state, "fuzzer"))
        caller.begin()
        before = 0
        for number, body in enumerate(messages(SEED, count)):
            if number == WARM_UP:
                before = memory_kib(server.pid)
            answer = caller.send(body)
            assert answer.status in (200, 202, 400, 404), (answer, body)
            demand_no_inside(answer.body)
            if answer.status == 404:
                caller.session = None
                caller.begin()
        caller.session = None
        caller.begin()
        grown = memory_kib(server.pid) - before
        code, said = stop(server)
        assert code == 0
        assert b"Traceback" not in said
    return grown


def fuzz_stdio(root: Path, count: int) -> int:
    """Send so many to a process on its standard input; by how much its memory grew, in KiB."""
    with process(root, transport="stdio") as server:
        said: list[bytes] = []
        quiet = threading.Thread(target=lambda: said.append(server.stderr.read()))  # type: ignore[union-attr]
        quiet.start()
        sizes = [_round(server, list(messages(SEED, WARM_UP)), "warm")]
        sizes.append(_round(server, list(messages(SEED + 1, count)), "last"))
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(120) == 0
        quiet.join()
        assert b"Traceback" not in said[0]
    return sizes[1] - sizes[0]


def _round(server: subprocess.Popen[bytes], lines: list[bytes], mark: str) -> int:
    """Send lines and then a question that has to be answered; the memory after it."""
    assert server.stdin is not None
    assert server.stdout is not None
    stdin = server.stdin
    end = json.dumps(message("ping", mark)).encode()

    def feed() -> None:
        stdin.write(b"\n".join([*lines, b"", end, b""]))
        stdin.flush()

    feeder = threading.Thread(target=feed)
    feeder.start()
    for line in server.stdout:
        demand_no_inside(line)
        if json.loads(line).get("id") == mark:
            break
    else:
        pytest.fail("the server ended")
    feeder.join()
    return memory_kib(server.pid)


@pytest.mark.promise("M7")
def test_fuzzed_messages_over_http_do_no_harm(workshop: Workshop, record_property: Record) -> None:
    grown = fuzz_http(workshop.root, workshop.state, 500)
    assert grown <= GROWTH_KIB
    assert workshop.is_sound()
    record_property("M7", f"500 messages over HTTP, seed {SEED}: {grown / 1024:.1f} MiB more")


@pytest.mark.promise("M7")
def test_fuzzed_messages_over_stdio_do_no_harm(workshop: Workshop, record_property: Record) -> None:
    grown = fuzz_stdio(workshop.root, 1500)
    assert grown <= GROWTH_KIB
    assert workshop.is_sound()
    record_property("M7", f"1,500 messages over stdio, seed {SEED}: {grown / 1024:.1f} MiB more")


@pytest.mark.nightly
@pytest.mark.promise("M7")
def test_fuzzed_messages_by_the_hundred_thousand_do_no_harm(
    workshop: Workshop, record_property: Record
) -> None:
    grown = (
        fuzz_http(workshop.root, workshop.state, 15_000),
        fuzz_stdio(workshop.root, 85_000),
    )
    assert max(grown) <= GROWTH_KIB
    assert workshop.is_sound()
    shown = " and ".join(f"{each / 1024:.1f} MiB" for each in grown)
    record_property("M7", f"15,000 messages over HTTP and 85,000 over stdio: {shown} more")
