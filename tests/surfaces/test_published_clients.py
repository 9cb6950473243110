"""Clients and a conformance suite that others published find in this server what the protocol promises."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from support.published import Published, node
from support.surface import serving, token
from support.workshop import Workshop

NODE = Path(__file__).parent / "node"
BASELINE = Path(__file__).parent / "conformance.yml"
# Of 32 scenarios, those that a server with tools and nothing else has to pass.
PASSED = {
    "server-initialize",
    "ping",
    "tools-list",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
}
_PATIENCE_S = 120
STDIO = (sys.executable, "-c", "from tipstaff.cli import main; main(['mcp', 'serve'])")


def run_node(*words: str | Path, at: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A program of JavaScript, run to its end."""
    argv = [str(node()), *map(str, words)]
    how = {"capture_output": True, "text": True, "timeout": _PATIENCE_S}
    return subprocess.run(argv, check=False, cwd=at, **how)  # type: ignore[call-overload, no-any-return]


@pytest.mark.req("M-06")
@pytest.mark.promise("M6")
def test_conformance_suite_finds_what_the_baseline_says_and_nothing_else(
    workshop: Workshop, suite: Published, tmp_path: Path, record_property: Callable[..., None]
) -> None:
    program = suite.folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    preload = ("--import", (NODE / "node22.mjs").as_uri())
    with serving(workshop.root) as port:
        words = [str(node()), str(NODE / "bearer.mjs"), str(port), token(workshop.state, "suite")]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as proxy:
            assert proxy.stdout is not None
            url = f"http://127.0.0.1:{int(proxy.stdout.readline())}/mcp"
            asked = ("server", "--url", url, "--suite", "all", "--expected-failures", BASELINE)
            done = run_node(*preload, program, *asked, "-o", tmp_path / "results")
            proxy.kill()
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = {
        line[2:].partition(":")[0] for line in summary.splitlines() if line.startswith("\u2713")
    }
    assert passed == PASSED, summary
    scenarios = summary.count("\u2713 ") + summary.count("\u2717 ")
    record_property("MCP", f"{len(passed)} of {scenarios} scenarios pass, the others need fixtures")


def demand_what_a_bearer_gets(found: Any) -> None:
    """The tools of the wide scope, a result, and an error for a tool that is not there."""
    assert found["tools"] == ["governed_harness", "propose_action"]
    assert found["found"]["ok"] in (True, False)
    assert found["refused"] == -32602


@pytest.mark.req("M-07")
def test_client_of_the_typescript_sdk_works_over_http(workshop: Workshop, suite: Published) -> None:
    with serving(workshop.root) as port:
        url, text = f"http://127.0.0.1:{port}/mcp", token(workshop.state, "typescript")
        done = run_node(NODE / "client.mjs", suite.folder, "http", url, text)
        assert done.returncode == 0, done.stderr
        demand_what_a_bearer_gets(json.loads(done.stdout))
        wrong = run_node(NODE / "client.mjs", suite.folder, "http", url, "wrong")
        assert wrong.returncode != 0
        assert "access.unknown" in wrong.stderr
    called = [each for each in workshop.records() if each["decision"] == "called"]
    assert [each["actor"]["id"] for each in called] == ["typescript"]


def test_client_of_the_typescript_sdk_works_over_stdio(
    workshop: Workshop, suite: Published
) -> None:
    done = run_node(NODE / "client.mjs", suite.folder, "stdio", *STDIO, at=workshop.root)
    assert done.returncode == 0, done.stderr
    demand_what_a_bearer_gets(json.loads(done.stdout))


@pytest.mark.req("M-07")
def test_client_of_the_python_sdk_works_over_http(workshop: Workshop) -> None:
    found: dict[str, Any] = {}

    async def use(url: str, text: str) -> None:
        import httpx2

        headers = {"Authorization": f"Bearer {text}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=_PATIENCE_S) as client,
            streamable_http_client(url, http_client=client) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            found["tools"] = [tool.name for tool in (await session.list_tools()).tools]
            arguments = {"action": {"type": "send_reply"}}
            called = await session.call_tool("propose_action", arguments)
            found["found"] = called.structured_content
            try:
                await session.call_tool("approve", {})
            except Exception as error:
                found["refused"] = getattr(error, "code", None) or error.error.code  # type: ignore[attr-defined]

    with serving(workshop.root) as port:
        anyio.run(use, f"http://127.0.0.1:{port}/mcp", token(workshop.state, "python"))
    demand_what_a_bearer_gets(found)
