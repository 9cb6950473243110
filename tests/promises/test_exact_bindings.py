"""An approval is for one exact thing, in time, shown as it is; and no look-alike of a name passes for it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from support.corruption import dump, some_mutants
from support.documents import a_change, a_file
from support.figures import dice, figure
from support.ledger_parts import BOB, NOON, SetClock, asked
from support.refused_documents import APPROVAL, CHANGE
from support.rego import evaluate
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents.input import parse_input
from tipstaff.documents.markdown import code
from tipstaff.documents.text import visible
from tipstaff.engine.question import complete
from tipstaff.errors import ContractError
from tipstaff.ledger.approvals import Approvals, Material
from tipstaff.ledger.database import open_database
from tipstaff.pdp.opa import Opa

Record = Callable[[str, object], None]
EFFECTS = "[verdict.effect | some verdict in data.tipstaff.decision.verdicts]"
BATCH = 2500


def approved_actions() -> list[dict[str, Any]]:
    """Forty changes that a person has approved, none of which goes through without that."""
    context = json.loads(json.dumps(CHANGE["context"]))
    context["config"]["team"]["autonomy"]["heal_additive"] = "propose"
    context["config"]["team"]["tests"] = {"command": "python -m pytest"}
    found = []
    for number in range(40):
        names = ["augment", "heal_additive", "heal_breaking", "heal_warning"]
        files = [a_file(f"skills/{number}-{place}.md") for place in range(1 + number % 5)]
        document = {key: CHANGE[key] for key in ("schema_version", "kind", "subject")}
        action = {**CHANGE["action"], "class": names[number % 4]}
        resource = {"base": f"{number:040x}", "diff_sha256": f"{number:064x}", "files": files}
        whole = {**document, "action": action, "resource": resource, "evidence": CHANGE["evidence"]}
        found.append({**whole, "context": context})
    return found


def question(document: dict[str, Any], digest: str | None) -> Any:
    """The document as the engine would ask it, with an approval of this digest, or of its own."""
    context = {**document["context"], "approval": None}
    done = complete(parse_input({**document, "context": None}), context)
    approval = {**APPROVAL, "digest": digest or done.judged_sha256}
    return complete(parse_input({**document, "context": None}), {**context, "approval": approval})


@pytest.mark.promise("A1", "BR-10", "BR-11")
@figure("mutations", commit=1_000, full=20_000)
def test_approval_is_for_no_action_that_differs_in_one_field(
    opa: Opa, tmp_path: Path, mutations: int, record_property: Record
) -> None:
    chance, cases, refused, wanted = dice(), [], 0, mutations // 40
    for base in approved_actions():
        own = question(base, None)
        cases.append(("as approved", own.document))
        plain = {key: value for key, value in base.items() if key != "context"}
        for case in some_mutants("approved", plain, wanted, chance):
            try:
                asked_for = question(
                    {**case.document, "context": base["context"]}, own.judged_sha256
                )
            except (ContractError, KeyError):
                refused += 1
                continue
            if asked_for.judged_sha256 != own.judged_sha256:
                cases.append((f"{case.place} {case.how}", asked_for.document))
            else:
                # To leave out what has a default is to say the same.
                same = {**asked_for.document, "context": None} == {**own.document, "context": None}
                assert same, (case.place, case.how)
    effects: list[str] = []
    for start in range(0, len(cases), BATCH):
        batch = [document for _, document in cases[start : start + BATCH]]
        effects += evaluate(opa, EFFECTS, dump(batch), tmp_path)
    sound = [
        effect for (name, _), effect in zip(cases, effects, strict=True) if name == "as approved"
    ]
    assert sound == ["allow"] * 40
    used = [
        name
        for (name, _), effect in zip(cases, effects, strict=True)
        if effect == "allow" and name != "as approved"
    ]
    assert used == []
    record_property(
        "A1",
        f"{len(cases) - 40 + refused:,} single-field mutations of 40 approved actions: {refused:,} "
        "refused by shape, 0 of the others carried out",
    )


@pytest.mark.promise("A4")
@figure("cases", commit=250, full=1_000)
def test_answer_around_the_very_end_counts_only_before_it(
    tmp_path: Path, cases: int, record_property: Record
) -> None:
    clock, chance = SetClock(), dice()
    approvals = Approvals(open_database(tmp_path), clock)
    late = 0
    for number in range(cases):
        clock.now = NOON + timedelta(hours=number)
        key = approvals.request(asked(f"{number:064x}"), Material({})).key
        offset = chance.choice((-1, 0, 1, chance.randint(-5000, 5000)))
        clock.now += timedelta(minutes=15, microseconds=offset)
        verb = chance.choice((approvals.approve, approvals.reject))
        if offset < 0:
            assert verb(key, BOB).decided_by == BOB
        else:
            with pytest.raises(ContractError) as refused:
                verb(key, BOB)
            assert refused.value.code == "approval.expired"
            late += 1
    assert approvals.counts()["expired"] == late
    record_property(
        "A4", f"{cases:,} answers within 5 ms of the end, {late:,} late, 0 of them taken"
    )


HIDDEN = [
    *("\x1b[2J", "\x1b]0;title\x07", "\x1b[8mhidden\x1b[0m", "\x9b2J", "\x00", "\x07", "\x08" * 20),
    *("\r", "\r\n", "\n", "\n\n# approved", "\v", "\f", "\x7f", "\x85", "\u2028", "\u2029"),
    *("\u202e", "\u202d", "\u202a", "\u202b", "\u202c", "\u2066", "\u2067", "\u2068", "\u2069"),
    *("\u200e", "\u200f", "\u061c", "\u200b", "\u200c", "\u200d", "\u2060", "\u2061", "\u2064"),
    *("\ufeff", "\u00ad", "\u034f\u200b", "\u180e", "\U000e0041\U000e0042", "\U000e0001", "\ufff9"),
    *("\ue000", "\U000f0000", "\ud800", "\udfff", "\x1b]8;;http://evil\x1b\\x", "a\x1b[1A\x1b[2K"),
    *(
        "`",
        "``` \n",
        "|",
        "![x](http://evil)",
        "<img src=x>",
        "@all fixes #1",
        "[ok](javascript:0)",
    ),
    *("\x1b[31m\u202e\u200b", "x" * 100_000, "\u202e" * 5000, "\ufeff\u2067\x1b", "\x1b(0", "\x0e"),
]
FORBIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


def raw(text: str) -> set[str]:
    """Characters of the text that hide, move or reorder something; the line ends of the output are not meant."""
    return {one for one in text if unicodedata.category(one) in FORBIDDEN and one != "\n"}


@pytest.mark.promise("A6", "row 94")
def test_hostile_text_is_shown_escaped_and_on_its_own_line(
    workshop: Workshop, record_property: Record
) -> None:
    for text in HIDDEN:
        for shown in (visible(f"a{text}b"), code(f"a{text}b")):
            assert raw(shown) == set(), ascii(text)
            assert "\n" not in shown
            assert len(shown) < 20_000
    printable = [text for text in HIDDEN if "\0" not in text and len(text) < 100]
    subjects = [f"al{text}ice"[:200] for text in printable if not 0xD800 <= ord(text[0]) < 0xE000]
    for start in range(0, len(subjects), 12):
        subject = "".join(subjects[start : start + 12])[:250]
        outcome = workshop.propose_cli(
            workshop.diff({"README.md": f"# {start}\n"}), "--subject", subject
        )
        assert outcome.code in (1, 2), outcome.stderr
        assert raw(outcome.stdout + outcome.stderr) == set()
    for request in workshop.run("approvals", "list", "--json").json["requests"]:
        for verb in (["show", request["key"]], ["show", request["key"], "--json"], ["list"]):
            assert raw(workshop.run("approvals", *verb).stdout) == set()
    for text in workshop.pull_requests().values():
        assert raw(text) == set()
    for verb in (["audit", "list"], ["change", "list"], ["audit", "list", "--json"]):
        assert raw(workshop.run(*verb).stdout) == set()
    record_property(
        "A6", f"{len(HIDDEN)} hostile strings, 0 raw control or hidden characters shown"
    )


# Letters of other scripts, and wide ones, that look like those of a name.
LOOK = {
    "a": "\u0430\u0251\u03b1\uff41",
    "c": "\u0441\u03f2\uff43",
    "d": "\u0501\uff44",
    "e": "\u0435\uff45\u212e",
    "f": "\uff46",
    "g": "\u0261\uff47",
    "h": "\u04bb\uff48",
    "i": "\u0456\u0131\u03b9\uff49",
    "k": "\u043a\u03ba\uff4b",
    "l": "\u04cf\uff4c",
    "n": "\u0578\uff4e",
    "o": "\u043e\u03bf\u0585\uff4f",
    "p": "\u0440\u03c1\uff50",
    "r": "\u0433\uff52",
    "s": "\u0455\u017f\uff53",
    "t": "\u0442\u03c4\uff54",
    "u": "\u057d\u03c5\uff55",
    "w": "\u0461\uff57",
    "x": "\u0445\u03c7\uff58",
    "y": "\u0443\u03b3\uff59",
    "_": "\uff3f",
    ".": "\uff0e\u2024",
    "/": "\uff0f\u2215\u2044",
}
HIDING = ["\u200b", "\u00ad", "\ufeff", "\u2060", "\u202e", "\0"]
AROUND = [" ", "\t", "\n", "\r"]


def look_alikes(name: str) -> list[str]:
    """Other spellings of a name that somebody or something may take for it."""
    found = {name.upper(), name.title(), name.swapcase(), name + ".", name + ". "}
    for place, letter in enumerate(name):
        found |= {name[:place] + other + name[place + 1 :] for other in LOOK.get(letter, "")}
        found.add(name[:place] + letter.upper() + name[place + 1 :])
    for extra, place in product(HIDING, (0, len(name) // 2, len(name))):
        found.add(name[:place] + extra + name[place:])
    for extra in AROUND:
        found |= {extra + name, name + extra}
    return sorted(found - {name})


@pytest.mark.promise("A8", "row 17", "row 19")
def test_look_alike_of_a_name_never_passes(workshop: Workshop, record_property: Record) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    classes = look_alikes("heal_additive") + look_alikes("audit")
    capabilities = look_alikes("raw_shell_execution") + look_alikes("network_egress_from_sandbox")
    paths = look_alikes("policy") + look_alikes("tipstaff.yaml") + look_alikes(".github")
    passed: list[str] = []
    with workshop.engine() as engine:
        for name in classes:
            found = engine.decide(a_change(name or None))
            passed += [name] * (found.effect not in ("deny", "escalate"))
        plain = [name for name in capabilities if re.fullmatch("[a-z][a-z0-9_]{0,63}", name)]
        for name in set(capabilities) - set(plain):
            with pytest.raises(ContractError):
                engine.decide(a_change(action__found_capabilities=[name]))
        for name in plain:
            found = engine.decide(a_change(action__found_capabilities=[name]))
            passed += [name] * found.is_allowed
        verdicts = engine.decide_many([a_change(resource__files=[a_file(path)]) for path in paths])
        passed += [path for path, one in zip(paths, verdicts, strict=True) if one.is_allowed]
    assert [ascii(name) for name in passed] == []
    record_property("A8", f"{len(classes) + len(capabilities) + len(paths)} look-alikes, 0 passed")
