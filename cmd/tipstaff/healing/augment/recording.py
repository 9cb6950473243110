"""Runs of the prose: read from a recording, or made by a command that a person names.

A model needs the network, so its runs cannot take place in a sandbox. The command is the person's own program, named on
the command line and nowhere else; it gets two paths, of the prose and of an input, and prints what the model answers.
"""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff.documents import strict_json
from tipstaff.documents.augment import ProseFacts, ProseRun, ProseRuns, ProseRunsOnInput
from tipstaff.documents.base import parse
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.evidence import command as commands
from tipstaff.files import read_regular
from tipstaff.healing.augment.blocks import Block
from tipstaff.healing.augment.skill import Case
from tipstaff.project import timestamp

MAX_BYTES = 8 << 20
_MAX_OUTPUT_BYTES = 1 << 20
_TIMEOUT_S = 300.0
_CHUNK_BYTES = 1 << 16
_NAME_CHARACTERS = 256
_DOMAIN = "tipstaff.augment.prose.v1"


@dataclass(frozen=True)
class Prose:
    """Runs of the prose that are known to belong to this block and these inputs."""

    facts: ProseFacts
    outputs: dict[str, list[str]]


def read(file: Path, block: Block, cases: Sequence[Case]) -> Prose:
    """Read a recording; raises ``ContractError`` (``augment.recording``, ``document.invalid``, ``json.*``).

    Each digest must be that of its output, the prose must be the block's, and each input a golden one.
    """
    try:
        data = read_regular(file, limit=MAX_BYTES)
    except OSError as error:
        fix = f"name a regular file of at most {MAX_BYTES} bytes that is no link"
        raise ContractError(
            "file.unreadable", error.strerror or str(error), file=str(file), fix=fix
        ) from error
    plain = strict_json.loads(data, file=str(file), max_bytes=MAX_BYTES)
    runs = parse(ProseRuns, plain, file=str(file))
    try:
        _demand_same(runs, block, cases)
    except ContractError as error:
        error.file = str(file)
        raise
    return _known(runs, "recording")


def record(
    command: str,
    block: Block,
    cases: Sequence[Case],
    *,
    runs: int,
    model: str,
    say: Callable[[str], None],
) -> ProseRuns:
    """Run a person's command, as that person and outside any sandbox, ``runs`` times on each input.

    Raises ``ContractError`` for a command line that is none, ``EvidenceError`` (``augment.prose_failed``) where the
    program fails or prints what is no text.
    """
    arguments = parse_command(command)
    times = runs * len(cases)
    say(f"running your own command {times} times, with your rights and in no sandbox: {command}")
    with TemporaryDirectory(prefix="tipstaff-prose-") as name:
        prose, given = Path(name, "prose.md"), Path(name, "input")
        prose.write_bytes(block.prose)
        measured = []
        for case in cases:
            given.write_bytes(case.given)
            line = [*arguments, str(prose), str(given)]
            made = [_one(line) for _ in range(runs)]
            measured.append(
                ProseRunsOnInput(name=case.name, input_sha256=case.input_sha256, runs=made)
            )
    return parse(
        ProseRuns,
        {
            "schema_version": 1,
            "block": block.id,
            "prose_sha256": block.prose_sha256,
            "model": model,
            "inputs": [each.model_dump() for each in measured],
        },
    )


def parse_command(command: str) -> tuple[str, ...]:
    """Split a command line; no shell reads it. Raises ``ContractError`` (``augment.prose_command``)."""
    try:
        return commands.parse(command).arguments
    except ContractError as error:
        complaint = error.message.removeprefix("the test command ")
        fix = (
            "write one plain command; it is given two more arguments: the prose's file, the input's"
        )
        raise ContractError(
            "augment.prose_command", f"it {complaint}", field="--prose-cmd", fix=fix
        ) from error


def demand_model(name: str) -> None:
    """Raise ``ContractError`` for a name of a model that no recording could hold."""
    if not (0 < len(name) <= _NAME_CHARACTERS and name.isprintable()):
        raise ContractError(
            "document.invalid",
            f"a model's name is 1 to {_NAME_CHARACTERS} characters that print",
            field="--model",
            fix="name the model that --prose-cmd asks, or leave the option out",
        )


def known(runs: ProseRuns) -> Prose:
    """What is known by runs that were made just now."""
    return _known(runs, "command")


def _known(runs: ProseRuns, source: str) -> Prose:
    times = sorted(run.recorded_at for each in runs.inputs for run in each.runs)
    plain = runs.model_dump()
    facts = {
        "source": source,
        "model": runs.model,
        "recorded_from": times[0],
        "recorded_until": times[-1],
        "sha256": strict_json.digest(plain, domain=_DOMAIN),
    }
    outputs = {each.name: [run.output_sha256 for run in each.runs] for each in runs.inputs}
    return Prose(parse(ProseFacts, facts), outputs)


def _demand_same(runs: ProseRuns, block: Block, cases: Sequence[Case]) -> None:
    if (runs.block, runs.prose_sha256) != (block.id, block.prose_sha256):
        fix = "record the prose that the block has now"
        _refuse("prose_sha256", "the runs are of another block or of another text", fix)
    golden = {case.name: case.input_sha256 for case in cases}
    seen: set[str] = set()
    for number, each in enumerate(runs.inputs):
        place = f"inputs.{number}"
        if golden.get(each.name) != each.input_sha256:
            _refuse(place, f"{each.name!r} is no golden input", "record the inputs of the folder")
        if each.name in seen:
            _refuse(place, f"{each.name!r} stands twice", "put all its runs together")
        seen.add(each.name)
        for position, run in enumerate(each.runs):
            if hashlib.sha256(run.output.encode("utf-8")).hexdigest() != run.output_sha256:
                where = f"{place}.runs.{position}.output_sha256"
                _refuse(where, "is not the digest of the output", "record the run again")
    if not any(each.runs for each in runs.inputs):
        _refuse("inputs", "there is no run", "record runs of the prose")


def _one(line: list[str]) -> ProseRun:
    try:
        output, exit_code = _printed(line)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise _failed(str(error)) from error
    if len(output) > _MAX_OUTPUT_BYTES:
        raise _failed(f"it printed more than {_MAX_OUTPUT_BYTES} bytes")
    if exit_code:
        raise _failed(f"it ended with {exit_code}")
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _failed("what it printed is not UTF-8") from error
    digest = hashlib.sha256(output).hexdigest()
    return ProseRun(output=text, output_sha256=digest, recorded_at=timestamp())


def _printed(line: list[str]) -> tuple[bytes, int]:
    """What a command prints, up to one byte more than it may, and how it ends; it is ended where that is too much."""
    deadline = time.monotonic() + _TIMEOUT_S
    output = bytearray()
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None  # noqa: S101 (it is a pipe)
            while len(output) <= _MAX_OUTPUT_BYTES:
                left = max(deadline - time.monotonic(), 0.0)
                if not select.select([process.stdout], [], [], left)[0]:
                    raise subprocess.TimeoutExpired(line, _TIMEOUT_S)
                chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
                if not chunk:
                    return bytes(output), process.wait(max(deadline - time.monotonic(), 0.0))
                output += chunk
        finally:
            process.kill()
    return bytes(output), process.returncode


def _failed(complaint: str) -> EvidenceError:
    message = f"the command that runs the prose failed: {complaint}"
    return EvidenceError("augment.prose_failed", message, fix="run it by hand with two files")


def _refuse(field: str, complaint: str, fix: str) -> None:
    raise ContractError("augment.recording", complaint, field=field, fix=fix)
