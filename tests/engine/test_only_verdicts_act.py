"""Nothing is carried out without a verdict of this very engine on this very thing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tipstaff
from support.documents import a_change, an_act, an_approval
from support.edited_policy import edit_data, put_in_place
from support.workshop import AUTOMATIC, Workshop
from tipstaff.documents.approval import ApprovalRequest
from tipstaff.documents.verdict import Verdict
from tipstaff.enforce.enforcer import Enforcer, Proposed
from tipstaff.engine import Engine
from tipstaff.errors import ActionDenied
from tipstaff.evidence.diff import read
from tipstaff.evidence.golden import GoldenRun
from tipstaff.evidence.repository import Repository
from tipstaff.healing.proposal import Draft, Request

SOURCE = Path(tipstaff.__file__).parent


@dataclass(frozen=True)
class Bench:
    """An engine with an enforcer, a judged change, and a request that waits for a person."""

    workshop: Workshop
    engine: Engine
    enforcer: Enforcer
    material: Proposed
    request: ApprovalRequest

    def act(self, name: str, verdict: Any) -> Any:
        """Call one of the enforcer's methods with a verdict."""
        return {
            "carry_out": lambda: self.enforcer.carry_out(verdict, self.material),
            "finish": lambda: self.enforcer.finish(verdict, self.request),
            "withdraw": lambda: self.enforcer.withdraw(verdict, self.request, "no"),
        }[name]()

    def verdict(self, name: str) -> Verdict:
        """A verdict on which that method does its work."""
        if name == "carry_out":
            return self.engine.decide(self.material.document)
        if name == "withdraw":
            return self.engine.decide(an_act("reject", f"approval:{self.request.key}"))
        approval = an_approval(self.request, self.engine.actor)
        return self.engine.decide(self.material.document, approval=approval)

    def trace(self) -> Any:
        """What acting would leave."""
        changes = [(change.id, change.state) for change in self.enforcer.changes.list()]
        return self.workshop.branches(), self.workshop.pull_requests(), changes


@contextmanager
def a_bench(workshop: Workshop) -> Iterator[Bench]:
    """A bench on which every method would do its work if it got its verdict."""
    waiting = workshop.propose().effects.approval
    assert waiting is not None
    repository = Repository.open(workshop.root)
    with workshop.engine() as engine:
        diff = workshop.diff()
        request = Request(diff, "heal_additive", engine.actor.id)
        draft = Draft.read(engine, repository, request, say=lambda line: None)
        document = draft.document(GoldenRun(None, None, None))
        enforcer = Enforcer(engine, repository, say=lambda line: None)
        yield Bench(workshop, engine, enforcer, Proposed(document, diff, draft.patch), waiting)


@pytest.fixture
def bench(workshop: Workshop) -> Iterator[Bench]:
    """A bench."""
    with a_bench(workshop) as bench:
        yield bench


ACTS = ("carry_out", "finish", "withdraw")


@pytest.mark.req("E-02")
@pytest.mark.parametrize("act", ACTS)
def test_act_on_its_verdict_is_carried_out_and_only_once(bench: Bench, act: str) -> None:
    verdict = bench.verdict(act)
    bench.act(act, verdict)
    after = bench.trace()
    with pytest.raises(ActionDenied) as refused:
        bench.act(act, verdict)
    assert refused.value.code == "enforce.unjudged"
    assert bench.trace() == after


def forged(bench: Bench, act: str) -> Any:
    """A copy of a good verdict."""
    return bench.verdict(act).model_copy()


def of_another_engine(bench: Bench, act: str) -> Any:
    """A good verdict that another engine gave."""
    with bench.workshop.engine() as other:
        return replace(bench, engine=other).verdict(act)


def without_record(bench: Bench, act: str) -> Any:
    """An answer that was not recorded."""
    return bench.engine.evaluate([bench.material.document])[0]


def refusing(bench: Bench, act: str) -> Any:
    """A verdict that says no, dressed with the obligations of one that says yes."""
    bench.workshop.configure(autonomy={"heal_additive": "off"})
    refusal = bench.engine.decide(bench.material.document)
    bench.workshop.configure(autonomy={"heal_additive": "propose"})
    if act == "carry_out":
        object.__setattr__(refusal, "obligations", bench.verdict(act).obligations)
    return refusal


def on_something_else(bench: Bench, act: str) -> Any:
    """A good verdict on another thing."""
    bench.workshop.configure(autonomy=AUTOMATIC)
    return bench.engine.decide(
        an_act("resume", "pause:global") if act != "carry_out" else a_change()
    )


BAD: dict[str, Callable[[Bench, str], Any]] = {
    "none": lambda bench, act: None,
    "a word": lambda bench, act: "allow",
    "a mapping": lambda bench, act: {"effect": "allow", "obligations": []},
    "forged": forged,
    "of another engine": of_another_engine,
    "without a record": without_record,
    "refusing": refusing,
    "on something else": on_something_else,
}


@pytest.mark.req("E-02")
@pytest.mark.parametrize("act", ACTS)
def test_act_without_its_verdict_is_denied(bench: Bench, act: str) -> None:
    for name, make in BAD.items():
        bad = make(bench, act)
        before = bench.trace()
        with pytest.raises(ActionDenied) as refused:
            bench.act(act, bad)
        assert refused.value.exit_code == 1, name
        assert bench.trace() == before, name


@pytest.mark.promise("ahead 8")
@pytest.mark.req("E-02")
@pytest.mark.parametrize("act", ACTS)
def test_verdict_of_another_revision_is_denied(
    bench: Bench, act: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    verdict = bench.verdict(act)
    before = bench.trace()
    edited = edit_data(tmp_path / "policy", {"gates": lambda data: data["forbid"].append("x")})
    put_in_place(edited, monkeypatch)
    bench.engine.policy._bundles = ()
    with pytest.raises(ActionDenied) as refused:
        bench.act(act, verdict)
    assert refused.value.code == "enforce.revision"
    assert bench.trace() == before


@pytest.mark.promise("BR-10", "A1")
@pytest.mark.req("E-02")
def test_verdict_carries_out_only_the_diff_that_was_judged(bench: Bench) -> None:
    other = bench.workshop.diff({"README.md": "# Other\n"})
    patch = read(Repository.open(bench.workshop.root), other)
    before = bench.trace()
    for material in (
        replace(bench.material, diff=other),
        replace(bench.material, patch=patch),
        replace(bench.material, diff=other, patch=patch),
    ):
        with pytest.raises(ActionDenied) as refused:
            bench.enforcer.carry_out(bench.verdict("carry_out"), material)
        assert refused.value.code == "enforce.unjudged"
    assert bench.trace() == before


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """All nodes of each module."""
    return {
        file.relative_to(SOURCE).as_posix(): list(ast.walk(ast.parse(file.read_text())))
        for file in SOURCE.rglob("*.py")
    }


def calls_of(name: str) -> set[str]:
    """The modules that call a method of this name."""
    return {
        module
        for module, found in nodes().items()
        for node in found
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
    }


def imports_of(name: str) -> set[str]:
    """The modules that import from this module, at any depth."""
    return {
        module
        for module, found in nodes().items()
        for node in found
        if isinstance(node, ast.ImportFrom) and node.module == name
    }


@pytest.mark.req("E-02")
def test_opa_is_asked_from_one_place() -> None:
    # The client asks itself about an empty document, to see that a sidecar is ready.
    assert calls_of("ask") == {"engine/engine.py", "engine/many.py", "pdp/client.py"}
    paths = [file for file in SOURCE.rglob("*.py") if "/v1/data" in file.read_text()]
    # The mutants' own OPA, which holds tests and no policy that decides.
    runner = "authoring/opa_server.py"
    assert {file.relative_to(SOURCE).as_posix() for file in paths} == {runner, "pdp/client.py"}


@pytest.mark.req("E-02")
def test_effects_are_made_from_one_place() -> None:
    assert imports_of("tipstaff.enforce.enforcer") == {"healing/proposal.py", "healing/approval.py"}
    for effect in ("create_branch", "commit", "push", "mark_ready"):
        callers = calls_of(effect) - {"evidence/repository.py"}
        assert all(module.startswith("enforce/") for module in callers), (effect, callers)
    assert calls_of("consume") == {"healing/approval.py"}


@pytest.mark.req("E-02")
def test_every_act_of_the_enforcer_takes_a_verdict_first() -> None:
    tree = ast.parse((SOURCE / "enforce/enforcer.py").read_text())
    [found] = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Enforcer"]
    public = {
        node.name: [argument.arg for argument in node.args.args]
        for node in found.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "demand_"))
    }
    assert set(public) == set(ACTS)
    assert all(arguments[:2] == ["self", "verdict"] for arguments in public.values())
