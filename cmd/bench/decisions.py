"""The speed of decisions: one, many at once, under much data and many rules."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

from ratios import Promise, compare
from scene import USERS, bare, documents, govern, open_opa, same_opa, write_history

from tipstaff import Engine

_CALLS = 150
_INPUTS = 64
_ENTRYPOINT = ("tipstaff.decision", "verdict")


def measure() -> Iterator[Promise]:
    """Every promise about decisions."""
    yield from _single_and_many()
    yield from _growth()


def _single_and_many() -> Iterator[Promise]:
    given = documents(_INPUTS)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        engine = stack.enter_context(Engine.open(folder))
        engine.decide(given[0])
        floor = stack.enter_context(bare(engine))
        other = stack.enter_context(bare(engine))
        asked = [engine.question(document) for document in given]
        bodies = cycle(b'{"input":' + question.body + b"}" for question in asked)
        turns = cycle(given)

        def post() -> None:
            floor.ask(next(bodies))

        def post_again() -> None:
            other.ask(next(bodies))

        def judge() -> None:
            engine.judge(engine.question(next(turns)))

        def record() -> None:
            engine.decide(next(turns))

        yield Promise(
            "a bare http.client POST / itself", compare(post_again, post, times=_CALLS), 1.1
        )
        yield Promise("one decision / a bare POST", compare(judge, post, times=_CALLS), 1.25)
        yield Promise("one recorded decision / a bare POST", compare(record, post, times=_CALLS), 2)
        client = _library_client(stack.enter_context(same_opa(engine)))
        inputs = cycle(question.document for question in asked)

        def ask_library() -> None:
            client.query_rule(next(inputs), *_ENTRYPOINT)

        yield Promise(
            "one decision / opa-python-client", compare(judge, ask_library, times=_CALLS), 0.7
        )
        # Its bulk query is one of its own making, which our authorization refuses.
        yield from _batches(engine, _library_client(stack.enter_context(open_opa(engine))))


def _batches(engine: Engine, client: Any) -> Iterator[Promise]:
    hundred, thousand = documents(100), documents(1000)
    asked = [engine.question(document).document for document in hundred]

    def together() -> None:
        engine.decide_many(hundred)

    def one_by_one() -> None:
        for document in hundred:
            engine.decide(document)

    def library() -> None:
        client.bulk_query_rule(asked, *_ENTRYPOINT)

    def thousand_together() -> None:
        engine.decide_many(thousand)

    def thousand_one_by_one() -> None:
        for document in thousand:
            engine.decide(document)

    yield Promise("decide_many of 100 / 100 decides", compare(together, one_by_one, times=4), 0.6)
    yield Promise("decide_many of 100 / bulk_query_rule", compare(together, library, times=4), 0.5)
    ratios = compare(thousand_together, thousand_one_by_one, times=1)
    yield Promise("decide_many of 1,000 / 1,000 decides", ratios, 0.4)


def _growth() -> Iterator[Promise]:
    with tempfile.TemporaryDirectory() as folder:
        little, much = Path(folder, "ten"), Path(folder, "many")
        govern(little, 10)
        govern(much, 1_010)
        yield _pair("1,000 more rules in one overlay package / without", little, much)
        with Engine.open(much) as engine:
            write_history(engine, USERS)
        yield _pair("100,000 users on record as well / without", little, much)


def _pair(name: str, little: Path, much: Path) -> Promise:
    document = documents(1)[0]
    with Engine.open(little) as small, Engine.open(much) as large:
        ratios = compare(
            lambda: large.decide(document), lambda: small.decide(document), times=_CALLS
        )
    return Promise(name, ratios, 1.2)


def _library_client(port: int) -> Any:
    from opa_client.opa import OpaClient

    return OpaClient(host="127.0.0.1", port=port, timeout=60)
