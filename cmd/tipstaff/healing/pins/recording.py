"""A canary recorded: its call is granted by policy, made often enough, and kept in a candidate of the snapshot."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tipstaff.documents.base import Json, parse
from tipstaff.documents.canary import Canary
from tipstaff.documents.contract import Snapshot, altered
from tipstaff.documents.contract_facts import ContractEvidence
from tipstaff.documents.input import ContractInput
from tipstaff.documents.strict_json import canonical
from tipstaff.documents.verdict import Verdict
from tipstaff.drift.candidates import Candidates
from tipstaff.drift.masking import differences, fingerprint, masked
from tipstaff.drift.observing.target import Target
from tipstaff.engine import Engine
from tipstaff.errors import ActionDenied, ContractError
from tipstaff.healing.contracts import ask_about
from tipstaff.healing.pins.baseline import Baseline, read_baseline, server
from tipstaff.healing.pins.canaries import call_facts, call_of, tool_of
from tipstaff.healing.pins.checking import Observe

_NO_FINGERPRINT = "0" * 64


@dataclass(frozen=True)
class Wish:
    """The call to record. ``id`` None names it after its tool and arguments; ``granted`` is a person's grant."""

    tool: str
    arguments: Json
    masks: Sequence[str] = ()
    granted: bool = False
    id: str | None = None


@dataclass(frozen=True)
class Recorded:
    """What came of it.

    ``digest`` is that of the candidate that holds the canary, None where policy let none be kept; ``differences`` are
    pointers at which the answers differ from each other.
    """

    verdict: Verdict
    canary: Canary | None = None
    digest: str | None = None
    runs: int = 0
    distinct: int = 0
    differences: tuple[str, ...] = ()


def record(engine: Engine, name: str, wish: Wish, observe: Observe) -> Recorded:
    """Ask policy whether the call may be made, make it, ask whether its answers are settled, and keep the canary.

    Raises ``ContractError`` for a server without a snapshot, an unknown tool, a mask that finds nothing, and a failing
    call; ``ActionDenied`` where the tool is another one now; and what observing raises.
    """
    pin = _pin(read_baseline(engine.project.root, name))
    target = Target.configured(name, server(engine.project, name))
    tool = tool_of(pin, wish.tool)
    if tool is None:
        raise ContractError(
            "contract.tool_unknown",
            f"the snapshot has no tool {wish.tool[:100]!r}",
            field="--tool",
            fix="name a tool of the committed snapshot",
        )
    canary = _named(wish)
    verdict = engine.decide(_asked(engine, pin, canary, tool))
    if not verdict.is_allowed:
        return Recorded(verdict)
    engine.redeem(verdict)
    seen = observe(target, [call_of(canary, tool, verdict.facts["runs"])])
    answers = list(seen.answers.get(canary.id, ()))
    _demand_answers(answers, canary)
    prints = [fingerprint(answer, canary.masks) for answer in answers]
    runs, distinct = len(prints), len(set(prints))
    verdict = engine.decide(_asked(engine, pin, canary, tool, runs=runs, distinct=distinct))
    if not verdict.is_allowed:
        where = tuple(differences(answers, canary.masks))
        return Recorded(verdict, runs=runs, distinct=distinct, differences=where)
    engine.redeem(verdict)
    settled = canary.model_copy(update={"fingerprint": prints[0], "runs": runs})
    kept = sorted(
        [one for one in pin.canaries if one.id != settled.id] + [settled], key=lambda one: one.id
    )
    new = altered(pin, canaries=kept)
    if new.digest != pin.digest:
        Candidates(engine.project.state).keep(new, engine.actor)
    return Recorded(verdict, settled, new.digest, runs, distinct)


def _pin(baseline: Baseline) -> Snapshot:
    pin = baseline.relied_on()
    if pin is None:
        raise ContractError(
            "contract.no_snapshot",
            "there is no snapshot that could hold a canary",
            file=str(baseline.path),
            fix="run `tipstaff contracts snapshot` first",
        )
    return pin


def _named(wish: Wish) -> Canary:
    digest = hashlib.sha256(canonical(wish.arguments)).hexdigest()
    return parse(
        Canary,
        {
            "id": wish.id or f"{wish.tool}-{digest[:8]}",
            "tool": wish.tool,
            "arguments": wish.arguments,
            "masks": sorted(set(wish.masks)),
            "fingerprint": _NO_FINGERPRINT,
            "runs": 1,
            "granted": wish.granted,
        },
    )


def _asked(
    engine: Engine, pin: Snapshot, canary: Canary, tool: Json, **measured: int
) -> ContractInput:
    facts = ContractEvidence(
        status="compared", changes=[], canary=call_facts(canary, tool, **measured)
    )
    return ask_about(engine, pin, "canary", facts)


def _demand_answers(answers: Sequence[Json], canary: Canary) -> None:
    """Raise for answers that are no baseline: none, a refusal, an error, or one without what is to be masked."""
    refused = next((answer["refused"] for answer in answers if "refused" in answer), None)
    if refused is not None or not answers:
        raise ActionDenied(
            "contract.canary_refused",
            f"the tool was not called: {refused or 'it gave no answer'}",
            fix="run `tipstaff contracts check`, and let a person accept what changed first",
        )
    for answer in answers:
        result = answer.get("result")
        if not isinstance(result, dict) or result.get("isError") is True:
            raise ContractError(
                "contract.canary_failed",
                f"the tool answered with an error: {_said(answer)}",
                field="--arguments",
                fix="give arguments that the tool answers",
            )
        missed = sorted(set(canary.masks) - masked(answer, canary.masks)[1])
        if missed:
            raise ContractError(
                "contract.canary_mask",
                f"the answer has nothing at {missed[0]}",
                field="--mask",
                fix="give a JSON pointer into the result, or into what its texts or structured content hold",
            )


def _said(answer: Json) -> str:
    error = answer.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    result = answer.get("result")
    content = result.get("content") if isinstance(result, dict) else None
    listed = content if isinstance(content, list) else []
    texts = [item.get("text", "") for item in listed if isinstance(item, dict)]
    return str(message or " ".join(map(str, texts)) or "no text")[:200]
