"""Repeated runs of one command: in one warm sandbox where the profile allows it, else each in its own.

In a warm sandbox each run has a process tree, output and writable folders of its own, and the limits of the profile.
Shared are the namespaces, the private copy of the input, which nothing can write to, and an interpreter that has
loaded ``pytest`` and nothing of the input, with its seed for hashes. Other commands are started anew each time. What a
run could still tell the next one is how busy the machine was.
Whatever a warm sandbox does not deliver is run cold: one that is broken costs time and nothing else.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from tipstaff import declared
from tipstaff.documents.base import Contract, parse
from tipstaff.documents.sandbox import Refused, SandboxResult
from tipstaff.documents.strict_json import loads
from tipstaff.documents.text import visible
from tipstaff.errors import ContractError, SandboxError
from tipstaff.sandbox import layout
from tipstaff.sandbox.backend import RunSpec, SandboxBackend
from tipstaff.sandbox.collection import MAX_FILE_BYTES
from tipstaff.sandbox.toolchain import is_python, own_python

Outcome = tuple[SandboxResult, dict[str, bytes]]

_SPARE_S = 10
_OUTPUT_BYTES = 9 << 20
_LINE_BYTES = 1 << 16
# Interpreter options that stand alone; any other before the script means that the command is started anew.
_FLAGS = frozenset({"-I", "-S", "-B", "-s", "-E", "-P", "-u", "-O", "-OO"})
_MODULE = "pytest"
_NOT_FOR_THE_RUNNER = {"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME"}


class Answer(Contract):
    """What ``sandbox/warm/runner.py`` prints of one run; bytes are base64."""

    exit_code: int
    timed_out: bool
    duration_ms: int
    stdout: str
    stderr: str
    truncated: bool
    outputs: dict[str, str]
    refused: dict[str, str]


@dataclass(frozen=True)
class _Command:
    """How the runner begins a command: with a module of an interpreter that runs already, or anew.

    ``start`` is the runner's interpreter and its options, ``beside`` the folder that the interpreter would look in
    first, if that is not the input.
    """

    argv: tuple[str, ...]
    start: tuple[str, ...]
    module: str | None = None
    beside: str | None = None


def repeat(backend: SandboxBackend, spec: RunSpec, times: int) -> list[Outcome]:
    """Run a spec that many times; each result says whether it was ``warm``. Raises as ``backend.run`` does."""
    outcomes = _warm(backend, spec, times) if spec.profile.warm and times > 1 else []
    while len(outcomes) < times:
        outcomes.append(backend.run(spec))
    return outcomes


def _warm(backend: SandboxBackend, spec: RunSpec, times: int) -> list[Outcome]:
    try:
        shared, _ = backend.run(_runner(spec, times))
    except SandboxError:
        return []  # a cold run says what is wrong, if anything is
    lines = shared.stdout.splitlines(keepends=True)[:times]
    answers = [_answer(line) for line in lines if line.endswith("\n")]
    input_sha256 = spec.input_sha256
    outcomes = []
    for answer in answers:
        if answer is None:
            break
        outcomes.append(_outcome(answer, shared, spec, input_sha256))
    return outcomes


def _runner(spec: RunSpec, times: int) -> RunSpec:
    """One run that makes all the others, with limits that hold for all of them together."""
    command = _command(spec)
    limits = spec.profile.limits
    each = 2 * limits.output_bytes + _OUTPUT_BYTES * len(spec.outputs)
    together = limits.model_copy(
        update={
            "wall_s": times * (limits.wall_s + 1) + _SPARE_S,
            "cpu_s": times * (limits.cpu_s + 1) + _SPARE_S,
            "output_bytes": times * (each * 4 // 3 + _LINE_BYTES),
        }
    )
    environment = layout.environment(spec)
    job = {
        "module": command.module,
        "beside": command.beside,
        "argv": list(command.argv),
        "times": times,
        "limits": limits.model_dump(),
        "file_bytes": MAX_FILE_BYTES,
        "outputs": [path for path in spec.outputs if _is_plain(path)],
        "environment": environment,
    }
    source = (declared.folder("sandbox") / "warm/runner.py").read_text(encoding="utf-8")
    kept = {
        name: text for name, text in spec.environment.items() if name not in _NOT_FOR_THE_RUNNER
    }
    return replace(
        spec,
        argv=(*command.start, "-c", source, json.dumps(job)),
        profile=spec.profile.model_copy(update={"limits": together}),
        outputs=(),
        environment=kept,
        readonly=spec.readonly if command.module else (*spec.readonly, *own_python().readonly),
    )


def _command(spec: RunSpec) -> _Command:
    program, *words = spec.argv
    flags = 0
    while flags < len(words) and words[flags] in _FLAGS:
        flags += 1
    if is_python(program) and words[flags : flags + 2] == ["-m", _MODULE]:
        return _Command(tuple(words[flags + 1 :]), (program, *words[:flags]), _MODULE)
    python = _interpreter(program) if PurePosixPath(program).name == _MODULE else None
    if python is not None:
        beside = str(PurePosixPath(program).parent)
        return _Command((program, *words), (python,), _MODULE, beside)
    return _Command(spec.argv, (own_python().program, "-I", "-S", "-B"))


def _interpreter(script: str) -> str | None:
    """The Python that a script's first line names by its full path."""
    try:
        with open(script, "rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    name = line.removeprefix(b"#!").strip().decode("utf-8", "replace")
    is_path = line.startswith(b"#!/") and " " not in name
    return name if is_path and is_python(name) else None


def _is_plain(path: str) -> bool:
    return PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts


def _answer(line: str) -> Answer | None:
    try:
        return parse(Answer, loads(line.encode()))
    except ContractError:
        return None


def _outcome(answer: Answer, shared: SandboxResult, spec: RunSpec, input_sha256: str) -> Outcome:
    told: dict[str, Any] = answer.model_dump(exclude={"outputs", "refused"})
    for stream in ("stdout", "stderr"):
        told[stream] = base64.b64decode(told[stream]).decode("utf-8", "replace")
    refused = [
        Refused(path=visible(path), reason=reason) for path, reason in answer.refused.items()
    ]
    result = shared.model_copy(
        update={
            **told,
            "warm": True,
            "oom": None,
            "limits": spec.profile.limits,
            "spec_sha256": spec.spec_sha256,
            "input_sha256": input_sha256,
            "refused": refused,
        }
    )
    return result, {path: base64.b64decode(data) for path, data in answer.outputs.items()}
