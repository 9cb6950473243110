"""Running cases under a backend, and judging each by what the host saw, and by its own word where that counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

from tipstaff.documents.base import parse
from tipstaff.documents.sandbox import Kernel, RunLimits, SandboxProfile
from tipstaff.documents.text import visible
from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import RunSpec, SandboxBackend
from tipstaff.sandbox.escape import cases
from tipstaff.sandbox.escape.cases import Case
from tipstaff.sandbox.escape.ground import Ground, Ran
from tipstaff.sandbox.escape.traps import COLLECTED, Trap, laid
from tipstaff.sandbox.folder import temporary_folder
from tipstaff.sandbox.toolchain import own_python

Outcome = Literal["held", "contained", "escaped", "unjudged"]
_SHOWN = 300


@dataclass(frozen=True)
class Finding:
    """What became of one case. ``contained`` is a freedom inside a kernel of the sandbox's own."""

    case: str
    outcome: Outcome
    said: str


@dataclass
class _Word:
    """A program's own report."""

    started: bool = False
    ended: bool = False
    done: list[str] = field(default_factory=list)
    said: str = ""


def run(
    backend: SandboxBackend, profile: SandboxProfile, chosen: Sequence[Case]
) -> Iterator[Finding]:
    """Run the cases, those that need no run of their own in one; a backend that does not start leaves them unjudged."""
    kernel = backend.probe().kernel
    for group in _groups(chosen):
        try:
            yield from _judged(group, kernel, *_run(backend, profile, group))
        except SandboxError as error:
            for case in group:
                yield Finding(case.id, "unjudged", f"{error.code}: {error.message}")


def _groups(chosen: Sequence[Case]) -> list[list[Case]]:
    together = [case for case in chosen if not case.alone]
    return [*([together] if together else []), *([case] for case in chosen if case.alone)]


def _run(
    backend: SandboxBackend, profile: SandboxProfile, group: Sequence[Case]
) -> tuple[Ran, dict[str, list[str]]]:
    """The run, and what the host saw, by case."""
    limits = _limits(group)
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        ground = Ground.lay(folder, group)
        traps = {case.id: stack.enter_context(laid(case, ground)) for case in group}
        ground.describe({name: trap.address for name, trap in traps.items()}, limits)
        ran = Ran(*backend.run(_spec(ground, profile, limits, group)))
        return ran, _evidence(group, ground, traps, ran)


def _limits(group: Sequence[Case]) -> RunLimits:
    limits = cases.suite().limits.model_dump()
    for case in group:
        limits |= case.limits
    return parse(RunLimits, limits)


def _spec(
    ground: Ground, profile: SandboxProfile, limits: RunLimits, group: Sequence[Case]
) -> RunSpec:
    python = own_python()
    lowered = profile.model_copy(update={"limits": limits})
    empty = RunSpec((), ground.input, lowered, readonly=python.readonly)
    line = (python.program, "-I", "-S", "-B", *ground.arguments(empty.work, group))
    outputs = COLLECTED if any(case.trap == "collected" for case in group) else ()
    return RunSpec(line, ground.input, lowered, outputs=outputs, readonly=python.readonly)


def _words(stdout: str) -> dict[str, _Word]:
    found: dict[str, _Word] = {}
    for line in stdout.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if not isinstance(value, dict) or not isinstance(value.get("case"), str):
            continue
        word = found.setdefault(value["case"], _Word())
        word.started = True
        if "done" in value:
            word.ended = True
            word.done = [str(item) for item in _list(value["done"])]
            word.said = str(value.get("said", ""))
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _evidence(
    group: Sequence[Case], ground: Ground, traps: dict[str, Trap], ran: Ran
) -> dict[str, list[str]]:
    evidence = {case.id: list(traps[case.id].seen(ran)) for case in group}
    for name, canary in ground.canaries.items():
        for teller in _tellers(canary, name, ran):
            evidence[teller].append("a secret of the host came out")
    for change in ground.changes():
        for name in _answerable(change, group):
            evidence[name].append(f"changed: {change}")
    kept = ran.result.limits.output_bytes
    if max(len(ran.result.stdout), len(ran.result.stderr)) > kept:
        evidence[group[-1].id].append(f"more than {kept} bytes of output were kept")
    return evidence


def _tellers(canary: str, owner: str, ran: Ran) -> set[str]:
    """The cases whose report holds a secret; where it came out another way, the one that it was laid for."""
    reports = [line for line in ran.result.stdout.splitlines() if canary in line]
    tellers = {name for line in reports for name in _words(line)}
    return tellers or ({owner} if ran.holds(canary) else set())


def _answerable(change: str, group: Sequence[Case]) -> Iterable[str]:
    """The case below whose folder something changed; where it is nobody's, all."""
    place = change.split("/")[1]
    found = [case.id for case in group if f"{place}.".startswith(f"{case.id}.")]
    return found or [case.id for case in group]


def _judged(
    group: Sequence[Case],
    kernel: Kernel,
    ran: Ran,
    evidence: dict[str, list[str]],
) -> Iterator[Finding]:
    words = _words(ran.result.stdout)
    for case in group:
        outcome, said = _judge(case, kernel, words.get(case.id, _Word()), evidence[case.id])
        if outcome == "unjudged":
            said += (
                f"; the run ended with {ran.result.exit_code}: {ran.result.stderr.strip()[-200:]}"
            )
        yield Finding(case.id, outcome, visible(said, limit=_SHOWN))


def _judge(case: Case, kernel: Kernel, word: _Word, evidence: list[str]) -> tuple[Outcome, str]:
    if evidence:
        return "escaped", "; ".join(evidence)
    if word.done:
        own = case.own_kernel and kernel != "host"
        return ("contained" if own else "escaped"), ", ".join(word.done)
    if not word.started or not (word.ended or case.alone):
        return "unjudged", "the program did not run to its end"
    return "held", word.said if word.ended else "the sandbox ended it"
