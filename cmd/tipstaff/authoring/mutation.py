"""Which mutants of a policy its tests notice.

A mutant is killed when a test does not come to what it came to before, fails as a whole, or takes too long. The tests
beside the changed file are asked first; only what survives them is put before all others that can see the file. One
OPA a worker evaluates them, so a mutant costs one compilation and no program.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from threading import Event
from typing import Any, Literal

from tipstaff.authoring import mutants
from tipstaff.authoring.data_mutants import changes, of_data
from tipstaff.authoring.mutants import Mutant
from tipstaff.authoring.opa_server import OpaServer
from tipstaff.authoring.policy_tree import Package, Tree
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa

Fate = Literal["killed", "survived", "uncompiled"]
Test = tuple[Package, str]
Answers = Mapping[Test, Any]
Tell = Callable[[int, int], None]
_TEST_S = 20.0
_A_BATCH = 24


@dataclass(frozen=True)
class Outcome:
    """A mutant and what became of it; one that does not compile is not counted."""

    mutant: Mutant
    fate: Fate


def all_mutants(opa: Opa, tree: Tree, only: str | None = None) -> list[Mutant]:
    """The mutants of the rules and the data that are looked at; ``only`` names one package and those below it."""
    found = [
        mutant
        for module in tree.own
        if not module.is_for_tests and _within(module.package, only)
        for mutant in mutants.of_module(module)
    ]
    for path in tree.own_data:
        if Path(path).name == "data.json" and _within(Path(path).parent.parts, only):
            found += of_data(opa, path, tree.data[path])
    return found


def run(opa: Opa, tree: Tree, given: Sequence[Mutant], *, jobs: int, tell: Tell) -> list[Outcome]:
    """Try every mutant; ``jobs`` are tried at a time, and ``tell`` hears how many of how many are through.

    Raises ``ContractError``: ``policy.invalid`` without a test, ``policy.tests_fail`` where one fails already.
    """
    if not tree.tests:
        raise ContractError(
            "policy.invalid", "there is no test", fix="add a test, so that something can notice"
        )
    return _Trial(opa, tree, _baseline(opa, tree), jobs, tell).run(given)


def _baseline(opa: Opa, tree: Tree) -> Answers:
    """What each test comes to before anything is changed, the quickest first."""
    found: list[tuple[float, Test, Any]] = []
    with OpaServer(opa, tree.files, tree.tests, test_s=_TEST_S) as server:
        for package, names in tree.tests.items():
            for name in names:
                start = time.monotonic()
                answer = server.answer(package, name)
                found.append((time.monotonic() - start, (package, name), answer))
    for _, (package, name), answer in found:
        if answer in (None, False):
            raise ContractError(
                "policy.tests_fail",
                f"{'.'.join(package)}.{name} fails before anything is changed",
                fix="run `tipstaff policy test` and correct what fails",
            )
    return {test: answer for _, test, answer in sorted(found, key=lambda one: one[:2])}


@dataclass(frozen=True)
class _Trial:
    opa: Opa
    tree: Tree
    before: Answers
    jobs: int
    tell: Tell

    def run(self, given: Sequence[Mutant]) -> list[Outcome]:
        """First the tests beside each mutant, then the others for what is left."""
        stop, found, done = Event(), dict[str, Outcome](), 0
        near = [
            (packages, batch)
            for packages, group in groupby(given, lambda one: tuple(self._near(one)))
            for batch in _shares(list(group), _A_BATCH)
        ]
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                tasks = [pool.submit(self._try, stop, *each) for each in near]
                for task in as_completed(tasks):
                    for outcome in task.result():
                        found[outcome.mutant.id] = outcome
                        done += outcome.fate != "survived"
                    self.tell(done, len(given))
                left = [one for one in given if found[one.id].fate == "survived"]
                size = max(1, min(_A_BATCH, -(-len(left) // self.jobs)))
                tasks = [pool.submit(self._try_far, stop, each) for each in _shares(left, size)]
                for task in as_completed(tasks):
                    outcomes = task.result()
                    found |= {outcome.mutant.id: outcome for outcome in outcomes}
                    done += len(outcomes)
                    self.tell(done, len(given))
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [found[mutant.id] for mutant in given]

    def _near(self, mutant: Mutant) -> list[Package]:
        """The tests beside a mutant, if they see it."""
        seeing = self.tree.seeing(mutant.file)
        return [package for package in self.tree.beside(mutant.file) if package in seeing]

    def _try(
        self, stop: Event, packages: Sequence[Package], batch: Sequence[Mutant]
    ) -> list[Outcome]:
        if not packages:
            return [Outcome(mutant, "survived") for mutant in batch]
        tests = {package: self.tree.tests[package] for package in packages}
        files = self.tree.seen_by(packages)
        with OpaServer(self.opa, files, tests, test_s=_TEST_S) as server:
            if self._changed(server, list(self.before), packages):
                raise ContractError(
                    "policy.tests_fail",
                    f"the tests of {'.'.join(packages[0])} come to another end in part of the policy",
                    fix="let the tests refer to what they need by its full path",
                )
            return list(self._fates(stop, server, files, batch, lambda _: packages))

    def _try_far(self, stop: Event, batch: Sequence[Mutant]) -> list[Outcome]:
        files = self.tree.files
        with OpaServer(self.opa, files, self.tree.tests, test_s=_TEST_S) as server:
            return list(self._fates(stop, server, files, batch, self._far))

    def _far(self, mutant: Mutant) -> list[Package]:
        near = self._near(mutant)
        return [package for package in self.tree.seeing(mutant.file) if package not in near]

    def _fates(
        self,
        stop: Event,
        server: OpaServer,
        files: Mapping[str, str],
        batch: Sequence[Mutant],
        packages: Callable[[Mutant], Sequence[Package]],
    ) -> Iterator[Outcome]:
        order = list(self.before)
        for path, group in groupby(batch, lambda one: one.file):
            for mutant in group:
                if stop.is_set():
                    return
                fate = self._fate(server, files[path], mutant, order, packages(mutant))
                yield Outcome(mutant, fate)
            if path.endswith(".rego"):
                server.put_module(path, files[path])

    def _fate(
        self,
        server: OpaServer,
        text: str,
        mutant: Mutant,
        order: list[Test],
        packages: Sequence[Package],
    ) -> Fate:
        place = Path(mutant.file).parent.parts
        if mutant.file.endswith(".rego"):
            if not server.put_module(mutant.file, mutant.text):
                return "uncompiled"
            return self._noticed(server, order, packages)
        changed, gone = changes(text, mutant)
        server.put_data(place, changed, gone)
        fate = self._noticed(server, order, packages)
        original = json.loads(text)
        back = {key: value for key, value in original.items() if key in changed or key in gone}
        server.put_data(place, back, [])
        return fate

    def _noticed(self, server: OpaServer, order: list[Test], packages: Sequence[Package]) -> Fate:
        """What has just killed a mutant is asked first about the next one, which is often its neighbour."""
        killer = self._changed(server, order, packages)
        if killer is None:
            return "survived"
        order.remove(killer)
        order.insert(0, killer)
        return "killed"

    def _changed(
        self, server: OpaServer, order: Sequence[Test], packages: Sequence[Package]
    ) -> Test | None:
        asked = (test for test in order if test[0] in packages)
        return next((test for test in asked if server.answer(*test) != self.before[test]), None)


def _shares(given: Sequence[Mutant], size: int) -> Iterator[Sequence[Mutant]]:
    for start in range(0, len(given), size):
        yield given[start : start + size]


def _within(package: tuple[str, ...], only: str | None) -> bool:
    wanted = tuple(only.split(".")) if only else ()
    return package[: len(wanted)] == wanted
