"""Who starts programs: sandboxes, and a few modules that start what nobody proposes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tipstaff

SOURCE = Path(tipstaff.__file__).parent
# Outside of `sandbox/`, each module that starts a program, and which.
STARTERS = {
    "authoring/opa_server.py": "OPA, found or installed",
    "drift/observing/outside.py": "our own client of a server at a URL, bounded",
    "git.py": "git, with hooks and drivers of the repository off",
    "healing/augment/recording.py": "the command that a person gives as --prose-cmd",
    "pdp/gobuild.py": "Go, for a pinned module",
    "pdp/keeper.py": "OPA, in namespaces of its own",
    "pdp/opa.py": "OPA, found or installed",
    "pdp/sidecar.py": "OPA, found or installed",
}
CALLS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput"},
    "os": {"system", "popen", "posix_spawn", "posix_spawnp", "startfile", "fork", "forkpty"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "pty": {"spawn", "fork"},
}


def starters() -> Iterator[str]:
    """The path of each module outside of `sandbox/` that can start a program."""
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        if not path.startswith("sandbox/") and any(
            map(starts, ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        ):
            yield path


def starts(node: ast.AST) -> bool:
    """Whether a node names a function that starts a program, or takes one out of its module."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        module, name = node.value.id, node.attr
        return name in CALLS.get(module, ()) or (
            module == "os" and name.startswith(("exec", "spawn"))
        )
    if isinstance(node, ast.ImportFrom):
        return any(alias.name in CALLS.get(node.module or "", ()) for alias in node.names)
    return False


@pytest.mark.req("S-01")
def test_outside_of_sandboxes_only_these_modules_start_programs() -> None:
    assert list(starters()) == sorted(STARTERS)


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['sh'])",
        "from subprocess import Popen",
        "import os\nos.execv('/bin/sh', [])",
        "import os\nos.posix_spawn('/bin/sh', [], {})",
    ],
)
def test_a_module_that_starts_a_program_is_seen(code: str) -> None:
    assert any(map(starts, ast.walk(ast.parse(code))))
