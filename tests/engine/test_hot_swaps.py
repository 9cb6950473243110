"""A bundle that is swapped while people ask: every answer is wholly the old policy's or wholly the new one's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from support.documents import a_change
from support.workshop import Workshop
from tipstaff.documents.verdict import Verdict
from tipstaff.pdp.issuing import Issuer
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.sidecar import stop

OUTCOMES = 50
# Each swap starts a sidecar, which ends only some time after its last use; the machine need not hold a thousand.
SIDECARS = 40


def _rego(number: int) -> str:
    """An overlay with 50 rules, each with a reason of its own for a subject of its own; ``all`` meets every one."""
    rules = (
        f'deny contains "word {number}, rule {rule}" if input.subject.id in ["{rule}", "all"]'
        for rule in range(OUTCOMES)
    )
    return "\n\n".join(("package org.house", *rules)) + "\n"


def _asked(subject: str) -> dict[str, Any]:
    return a_change(subject__id=subject)


def _words(verdict: Verdict) -> set[str]:
    """What the overlay said; empty where the answer was refused."""
    return {one.message for one in verdict.reasons if one.message.startswith("word ")}


@pytest.mark.promise("B5", "B2")
@pytest.mark.parametrize(
    ("swaps", "clients"), [(8, 3), pytest.param(1000, 16, marks=[pytest.mark.nightly])]
)
def test_no_answer_mixes_two_revisions(
    workshop: Workshop, opa: Opa, swaps: int, clients: int
) -> None:
    issuer = Issuer(
        opa, workshop.root / "policy", "org", workshop.state / "keys/team.pem", workshop.state
    )
    words: dict[str, str] = {}
    answers: list[list[tuple[str, set[str]]]] = []
    done = Event()

    def swap(number: int) -> None:
        file = workshop.root / "policy/org/house/house.rego"
        file.parent.mkdir(exist_ok=True)
        file.write_text(_rego(number))
        bundle, _ = issuer.sign(None)
        words[bundle.revision] = f"word {number}"

    def client(_: int) -> None:
        subjects = [str(rule) for rule in range(OUTCOMES)]
        with workshop.engine() as engine:
            while not done.is_set():
                verdicts = engine.decide_many([_asked(subject) for subject in subjects])
                answers.append([(one.decision_id, _words(one)) for one in verdicts])
                alone = engine.decide(_asked("all"))
                answers.append([(alone.decision_id, _words(alone))])

    swap(0)
    workshop.decide(a_change())
    with ThreadPoolExecutor(clients) as pool:
        asking = [pool.submit(client, number) for number in range(clients)]
        try:
            for number in range(1, swaps + 1):
                swap(number)
                workshop.decide(a_change())
                if number % SIDECARS == 0:
                    stop(workshop.state)
        finally:
            done.set()
        for one in asking:
            one.result()
    revisions: dict[str, Any] = {
        record["decision_id"]: record["detail"]["preferences"]["bundles"]["org"]
        for record in workshop.records()
        if record["decision"] == "deny"
    }
    spoken = 0
    for answer in answers:
        assert len({message.partition(",")[0] for _, said in answer for message in said}) <= 1
        for place, (decision, said) in enumerate(answer):
            rules = range(OUTCOMES) if len(answer) == 1 else [place]
            if said:
                spoken += 1
                assert said == {f"{words[revisions[decision]]}, rule {rule}" for rule in rules}
    print(f"{swaps} swaps, {clients} clients, {spoken} answers of the overlay")
    assert spoken > 0
