"""A server started in the sandbox, together with the driver that speaks to it; what the driver left is handed back."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import tipstaff
from tipstaff import declared
from tipstaff.documents import strict_json
from tipstaff.documents.base import Json
from tipstaff.documents.sandbox import SandboxProfile, SandboxResult
from tipstaff.documents.text import visible
from tipstaff.drift.observing import limits
from tipstaff.drift.observing.origin import Origin
from tipstaff.drift.observing.reading import Heard
from tipstaff.drift.observing.target import Call, Target
from tipstaff.errors import SandboxError, UnobservedError
from tipstaff.sandbox import identity, toolchain
from tipstaff.sandbox.backend import SCRATCH, RunSpec, SandboxBackend
from tipstaff.sandbox.folder import temporary_folder

OUT = f"{SCRATCH}/observed"
_INDEX = f"{OUT}/index.json"
INDEX_BYTES = 8 << 20
_TAIL = 400
_FIX = "see what the server needs to start, and call it with less at once"


class Isolating(Protocol):
    """A profile with the backends that may run it, as ``evidence.isolation.Isolation`` is."""

    @property
    def profile(self) -> SandboxProfile:
        """The profile."""
        ...

    def strongest(self) -> SandboxBackend:
        """The strongest backend that works."""
        ...


def observe_inside(
    target: Target,
    origin: Origin,
    isolation: Isolating,
    values: Mapping[str, str],
    calls: Sequence[Call],
) -> Heard:
    """Run the server and the driver; raises ``SandboxError``, or ``UnobservedError`` where the driver left nothing."""
    backend = isolation.strongest()
    if not isolation.profile.isolated and backend.name == "none":
        raise SandboxError(
            "sandbox.unavailable",
            "a server is started in a sandbox only, whatever the profile",
            fix="run `tipstaff doctor` to see what is missing",
        )
    with temporary_folder() as private:
        work = origin.workdir(private)
        folder = private / "job"
        folder.mkdir(mode=0o755)
        spec = _spec(target, origin, isolation.profile, work, folder)
        job = _job(target, origin, spec, values, calls)
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        if identity.is_real_root():
            identity.hand_over(folder)
        result, outputs = backend.run(spec)
    return _heard(result, outputs)


def _spec(
    target: Target, origin: Origin, profile: SandboxProfile, work: Path, folder: Path
) -> RunSpec:
    own = toolchain.find(sys.executable, toolchain.Host.current(Path.cwd()))
    driver = declared.folder("sandbox") / limits.FOLDER
    package = Path(tipstaff.__file__).parent
    return RunSpec(
        argv=(
            *(own.program, "-I", "-B", str(driver / "driver.py")),
            *(str(folder / "job.json"), str(package.parent)),
        ),
        workdir=work,
        profile=profile,
        outputs=(OUT,),
        readonly=(*origin.readonly, *own.readonly, driver, package, folder),
        identity=f"mcp server {target.name}",
    )


def _job(
    target: Target, origin: Origin, spec: RunSpec, values: Mapping[str, str], calls: Sequence[Call]
) -> Json:
    """What the driver reads. Values of variables stand in no argument, which other users could see."""
    return {
        "command": origin.command_in(spec.work),
        "environment": {
            **spec.profile.environment,
            **origin.variables(spec.profile.environment.get("PATH", "")),
            **values,
        },
        "client_capabilities": list(target.client_capabilities),
        "calls": [call_fact(call) for call in calls],
        "limits": limits.as_job(limits.load()),
        "not_in": os.readlink("/proc/self/ns/pid"),
    }


def call_fact(call: Call) -> Json:
    """A call as the driver reads it."""
    return {
        "id": call.id,
        "tool": call.tool,
        "arguments": call.arguments,
        "definition_sha256": call.definition_sha256,
        "times": call.times,
    }


def heard(index: bytes, file: Callable[[str], bytes | None], result: SandboxResult | None) -> Heard:
    """What a driver left: its index, and the files of answers by name, as long as there is a next one."""
    answers: list[list[bytes]] = []
    while (data := file(f"answers-{len(answers)}")) is not None:
        answers.append(data.split(b"\n"))
    return Heard(strict_json.loads(index, max_bytes=INDEX_BYTES, any_form=True), answers, result)


def _heard(result: SandboxResult, outputs: Mapping[str, bytes]) -> Heard:
    index = outputs.get(_INDEX)
    if index is None:
        raise UnobservedError("contract.unreachable", _why(result), fix=_FIX)
    if result.refused:
        left = "; ".join(f"{one.path} {one.reason}" for one in result.refused[:3])
        raise UnobservedError(
            "contract.incomplete", f"not all that was seen can be taken: {left}", fix=_FIX
        )
    return heard(index, lambda name: outputs.get(f"{OUT}/{name}"), result)


def _why(result: SandboxResult) -> str:
    if result.limit is not None:
        limit = getattr(result.limits, result.limit)
        return f"the server used more than it may: {result.limit} is {limit}"
    said = visible(" ".join(result.stderr.split())[-_TAIL:])
    return f"the run ended with {result.exit_code} and left no observation: {said or 'no output'}"
