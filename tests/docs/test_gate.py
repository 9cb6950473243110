"""What the gate runs, and that it runs it without a network."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys

import pytest

from support.readme import ROOT

OFFLINE = ROOT / ".ci" / "offline"
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
_TALK_TO_ONESELF = """
import os, socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), timeout=5)
print(os.getuid(), os.getgid(), *sorted(name for _, name in socket.if_nameindex()))
"""
_CONNECT = (
    "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=5)"
)


@pytest.mark.req("CI-05")
def test_offline_a_command_has_loopback_and_nothing_else_and_is_the_same_user() -> None:
    done = _offline(_TALK_TO_ONESELF)
    user, group, *interfaces = done.stdout.split()
    assert (user, group) == (str(os.getuid()), str(os.getgid())), done.stderr
    assert interfaces[0] == "lo"
    # Kernels with tunnels built in show their idle ends in every namespace.
    assert not [
        name for name in interfaces if name.startswith(("eth", "en", "wl", "docker", "veth"))
    ]


@pytest.mark.req("CI-05")
def test_offline_the_machines_own_servers_are_out_of_reach() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        subprocess.run([sys.executable, "-c", _CONNECT, port], check=True)
        done = _offline(_CONNECT, port)
    assert "ConnectionRefusedError" in done.stderr


def test_offline_the_exit_code_is_the_commands() -> None:
    assert _offline("raise SystemExit(7)").returncode == 7


@pytest.mark.req("CI-05")
def test_every_test_of_the_gate_runs_with_the_network_or_without() -> None:
    recipe = MAKEFILE.partition("\npytest: setup servers\n")[2].partition("\n\n")[0]
    calls = re.findall(r"^\t@(.*)\$\(BIN\)/pytest .* -m '([^']*)'", recipe, re.MULTILINE)
    assert calls == [
        ("", "not nightly and network"),
        ("$(OFFLINE) $(NO_DOCKER) ", "not nightly and not network"),
    ]


def _offline(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [OFFLINE, sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
