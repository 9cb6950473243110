"""Rules that contradict themselves, fail or never end: a denial that says so, and nothing else suffers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.documents import a_change
from support.policies import build_overlay
from support.sidecars import wait_until
from support.workshop import AUTOMATIC, Workshop
from tipstaff.errors import ContractError
from tipstaff.pdp import sidecar
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.plan import draw

# Bodies of a rule that fail once it is asked about its own name; ``it`` is that name.
FAILING = {
    "number": "to_number(it) == 1",
    "division": "10 / count(object.get(input, it, [])) > 1",
    "modulo": "10 % count(object.get(input, it, [])) == 1",
    "json": "json.unmarshal(concat(it, [`{`, `}`])).x",
    "yaml": "yaml.unmarshal(sprintf(`{%s: [`, [it])).x",
    "base64": "base64.decode(concat(it, [`%`, `%`])) == it",
    "base64url": "base64url.decode(concat(it, [`%`, `%`])) == it",
    "hex": "hex.decode(it) == it",
    "urlquery": "urlquery.decode(concat(it, [`%zz`, ``])) == it",
    "urlquery_object": "urlquery.decode_object(concat(it, [`%zz`, ``])).x",
    "regex": "regex.match(concat(it, [`(`, `[`]), it)",
    "regex_split": "count(regex.split(concat(it, [`(`, `[`]), it)) == 1",
    "regex_replace": "regex.replace(it, concat(it, [`(`, `[`]), it) == it",
    "regex_template": "regex.template_match(it, it, `{{`, `}`)",
    "glob": "glob.match(concat(it, [`[`, `{`]), [], it)",
    "rfc3339": "time.parse_rfc3339_ns(it) > 0",
    "parse_time": "time.parse_ns(`2006-01-02`, it) > 0",
    "duration": "time.parse_duration_ns(it) > 0",
    "add_date": "time.add_date(9223372036854775807, 900000000, 1, 1) > count(it)",
    "semver": "semver.compare(it, `1.0.0`) == 1",
    "cidr": "net.cidr_contains(it, `127.0.0.1`)",
    "cidr_expand": "count(net.cidr_expand(it)) == 1",
    "units": "units.parse(concat(it, [`1`, `q`])) > 1",
    "units_bytes": "units.parse_bytes(concat(it, [`1`, `q`])) > 1",
    "range": "count(numbers.range_step(1, 10, count(object.get(input, it, [])))) == 1",
    "jwt": "count(io.jwt.decode(it)) == 3",
    "x509": "count(crypto.x509.parse_certificates(it)) == 1",
    "substring": "substring(it, -1 * count(it), 1) == it",
    "two_values": "two_values == 1",
    "two_results": "two_results(it) == 1",
    "two_members": "two_members.x == 1",
}
ASKED = "input.subject.id == it"
REGO = "\n\n".join(
    [
        "package org.failing",
        f'two_values := 1 if {{ it := "two_values"; {ASKED} }}',
        f'two_values := 2 if {{ it := "two_values"; {ASKED} }}',
        "two_results(_) := 1 if input.kind",
        'two_results(name) := 2 if name == "two_results"',
        f'two_members[key] := number if {{ it := "two_members"; {ASKED}; key := "x"; some number in [1, 2] }}',
        *(
            f'deny contains "org.failing" if {{\n\tit := "{name}"\n\t{ASKED}\n\t{body}\n}}'
            for name, body in FAILING.items()
        ),
    ]
)


@pytest.mark.promise("D5", "row 36", "row 37", "row 38", "BR-12")
def test_rule_that_fails_or_contradicts_itself_is_a_denial_that_says_so(
    workshop: Workshop, record_property: Callable[[str, object], None]
) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    workshop.sign({"org/failing/failing.rego": REGO + "\n"})
    with workshop.engine() as engine:
        assert engine.decide(a_change(subject__id="nobody")).effect == "allow"
        verdicts = {name: engine.decide(a_change(subject__id=name)) for name in FAILING}
        assert {
            name: verdict.codes
            for name, verdict in verdicts.items()
            if (verdict.effect, verdict.codes) != ("deny", ["engine.http"])
            or "500" not in verdict.reasons[0].message
        } == {}
        batch = engine.decide_many([a_change(subject__id=name) for name in ("nobody", "number")])
        assert [one.effect for one in batch] == ["deny", "deny"]
        assert engine.decide(a_change(subject__id="nobody")).effect == "allow"
    record_property("D5", f"{len(FAILING)} conflicts and failing built-ins, {len(FAILING)} denied")


def ticks(pid: int) -> int:
    """The processor time of a process, in ticks."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


@pytest.mark.promise("D8", "row 41", "D1")
def test_rule_that_loops_for_minutes_is_denied_and_stops(project: Path) -> None:
    workshop = Workshop(project)
    body = "some a in numbers.range(1, 100000)\n\tsome b in numbers.range(1, 100000)\n\ta * b == -1"
    rego = f'package org.loop\n\ndeny contains "loop" if {{\n\tinput.subject.id == "loop"\n\t{body}\n}}\n'
    workshop.sign({"org/loop/loop.rego": rego})
    with workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "require_approval"
    with workshop.engine(deadline_s=0.5) as engine:
        late = engine.decide(a_change(subject__id="loop"))
        assert (late.effect, late.codes) == ("deny", ["engine.timeout"])
        busy = next(one.pid for one in sidecar.status(workshop.state) if one.revisions["org"])
        seen = [ticks(busy)]

        def stands_still() -> bool:
            seen.append(ticks(busy))
            return len(seen) > 50 and seen[-1] == seen[-50]

        wait_until(stands_still)
    with workshop.engine() as engine:
        assert engine.decide(a_change()).effect == "require_approval"


BANNED = {
    "http.send": 'http.send({"method": "get", "url": "http://127.0.0.1"})',
    "net.lookup_ip_addr": 'net.lookup_ip_addr("localhost")',
    "opa.runtime": "opa.runtime()",
    "rego.parse_module": 'rego.parse_module("x", "package x")',
    "time.now_ns": "time.now_ns()",
    "rand.intn": 'rand.intn("x", 5)',
    "uuid.rfc4122": 'uuid.rfc4122("x")',
    "json.match_schema": 'json.match_schema({}, {"$ref": "http://127.0.0.1/"})',
    "json.verify_schema": 'json.verify_schema({"$ref": "http://127.0.0.1/"})',
    "io.jwt.decode_verify": 'io.jwt.decode_verify("x", {"secret": "x"})',
    "crypto.x509.parse_and_verify_certificates": 'crypto.x509.parse_and_verify_certificates("x")',
    "crypto.x509.parse_and_verify_certificates_with_options": (
        'crypto.x509.parse_and_verify_certificates_with_options("x", {})'
    ),
}
SPELLINGS: dict[str, Callable[[str, str], str]] = {
    "called": lambda name, call: f"y := {call}",
    "in a function": lambda name, call: f"f(_) := {call}\n\ny := f(1)",
    "in a comprehension": lambda name, call: f"y := [x | x := {call}]",
    "by with": lambda name, call: f"f(x) := x\n\ny if {{ f(1) with f as {name} }}",
}


@pytest.mark.promise("D6", "row 39", "row 40")
def test_built_in_that_reaches_out_is_refused_in_every_spelling(
    opa: Opa, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    for name, call in BANNED.items():
        for spelling, write in SPELLINGS.items():
            folder = tmp_path / f"{name} {spelling}"
            with pytest.raises(ContractError) as refused:
                build_overlay(opa, folder / "o", f"package org.x\n\n{write(name, call)}\n")
            assert refused.value.code == "policy.invalid"
            assert name.split(".")[0] in refused.value.message, (name, spelling)
    record_property("D6", f"{len(BANNED)} built-ins in {len(SPELLINGS)} spellings, 0 built")


@pytest.mark.promise("L8")
def test_engine_keeps_no_log_of_decisions_and_the_trail_is_whole(workshop: Workshop) -> None:
    with workshop.engine() as engine:
        plan = draw(Opa(Path(os.environ["TIPSTAFF_OPA"]), "1.22.3"), engine.policy.bundles())
        verdicts = [engine.decide(a_change()) for _ in range(5)]
        verdicts += engine.decide_many([a_change()] * 5)
    assert not {"decision_logs", "status", "services", "labels", "plugins"} & set(plan.config)
    assert not [argument for argument in plan.argv if "log" in argument and "error" not in argument]
    kept = [record["decision_id"] for record in workshop.records()]
    assert kept == [verdict.decision_id for verdict in verdicts]
    assert workshop.is_sound()
