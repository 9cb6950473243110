"""A bundle that is swapped while people ask: every answer is wholly the old policy's or wholly the new one's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from support.documents import a_change
from support.workshop import Workshop
from tipstaff.pdp.issuing import Issuer
from tipstaff.pdp.opa import Opa

RULE = 'package org.house\n\ndeny contains "word {0}" if input.kind == "change"\n'
OUTCOMES = 50


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
    answers: list[list[tuple[str, str]]] = []
    done = Event()

    def swap(number: int) -> None:
        file = workshop.root / "policy/org/house/house.rego"
        file.parent.mkdir(exist_ok=True)
        file.write_text(RULE.format(number))
        bundle, _ = issuer.sign(None)
        words[bundle.revision] = f"word {number}"

    def client(_: int) -> None:
        with workshop.engine() as engine:
            while not done.is_set():
                verdicts = engine.decide_many([a_change() for _ in range(OUTCOMES)])
                answers.append([(v.decision_id, v.reasons[0].message) for v in verdicts])

    swap(0)
    workshop.decide(a_change())
    with ThreadPoolExecutor(clients) as pool:
        asking = [pool.submit(client, number) for number in range(clients)]
        try:
            for number in range(1, swaps + 1):
                swap(number)
                workshop.decide(a_change())
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
    for batch in answers:
        said = {message for _, message in batch if message.startswith("word ")}
        assert len(said) <= 1
        for decision, message in batch:
            if message.startswith("word "):
                spoken += 1
                assert words[revisions[decision]] == message
    assert spoken > 0
