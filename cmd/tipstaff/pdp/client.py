"""Asking OPA one question, and believing the answer only when nothing about it is in doubt.

A failure of any kind raises ``DecisionError`` with its own code; there is no other engine and no default answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import Any, NoReturn, Self

from tipstaff.documents.codes import CODES
from tipstaff.documents.text import visible
from tipstaff.errors import DecisionError
from tipstaff.pdp.transport import Transport

VERDICT = "tipstaff/decision/verdict"
VERDICTS = "tipstaff/decision/verdicts"
_QUERY = "?provenance=true&strict-builtin-errors=true"
_EMPTY_QUESTION = b'{"input":{}}'
_SHOWN = 300
_STRANGER = (
    "the engine let nobody in under this name: give TIPSTAFF_OPA_TOKEN, or start the sidecar again"
)


@dataclass(frozen=True)
class Answer:
    """What the entrypoint evaluated to, and the version of the engine that did it."""

    result: Any
    opa_version: str


class Client:
    """Asks over a transport; every answer must come from exactly the expected revision of each bundle.

    ``revisions`` maps bundle names to revisions; ``deadline_s`` is for one question, from call to answer.
    """

    def __init__(
        self, transport: Transport, *, revisions: Mapping[str, str], deadline_s: float
    ) -> None:
        self._transport = transport
        self._revisions = dict(revisions)
        self._deadline_s = deadline_s

    @property
    def transport(self) -> Transport:
        """What questions go over."""
        return self._transport

    def ask(self, entrypoint: str, body: bytes) -> Answer:
        """Post the body (``{"input": …}``, already serialised) to an entrypoint such as ``VERDICT``.

        Raises ``DecisionError``: ``engine.unavailable``, ``.timeout``, ``.http``, ``.malformed``,
        ``.undefined`` or ``.revision``.
        """
        deadline = time.monotonic() + self._deadline_s
        status, data = self._transport.post(f"/v1/data/{entrypoint}{_QUERY}", body, deadline)
        if status != 200:
            fix = _STRANGER if status in (401, 403) else None
            _fail("engine.http", f"the engine answered HTTP {status}{_said(data)}", fix)
        document = _parse(data)
        if "result" not in document:
            _fail("engine.undefined", f"{entrypoint} is undefined; no rule answered")
        return Answer(document["result"], self._check(document.get("provenance")))

    def check(self) -> None:
        """Ask about an empty document and drop the answer; raises as ``ask`` does when the engine isn't ready."""
        self.ask(VERDICT, _EMPTY_QUESTION)

    def close(self) -> None:
        """Let go of the transport's connection."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, provenance: Any) -> str:
        """The engine's version, once each expected bundle is active in the expected revision."""
        if not isinstance(provenance, dict) or not isinstance(provenance.get("bundles"), dict):
            _fail("engine.revision", "the answer does not say which bundles it came from")
        bundles = provenance["bundles"]
        for name, expected in self._revisions.items():
            bundle = bundles.get(name)
            found = bundle.get("revision") if isinstance(bundle, dict) else None
            if found != expected:
                shown = visible(str(found), limit=_SHOWN) if found else "not active"
                _fail("engine.revision", f"bundle {name} is {shown}; expected {expected}")
        version = provenance.get("version")
        if not isinstance(version, str):
            _fail("engine.malformed", "the answer does not name the engine's version")
        return version


def _parse(data: bytes) -> dict[str, Any]:
    try:
        document = _strict.decode(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        _fail("engine.malformed", f"the answer is not one plain JSON document: {error}")
    if not isinstance(document, dict):
        _fail("engine.malformed", f"the answer is a bare {type(document).__name__}, not an object")
    return document


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(items)
    if len(result) != len(items):
        raise ValueError("a key appears twice")
    return result


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _real(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise ValueError("a number is out of range")
    return value


_strict = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_real)


def _said(data: bytes) -> str:
    text = visible(data.decode("utf-8", "replace").strip(), limit=_SHOWN)
    return f": {text}" if text else ""


def _fail(code: str, message: str, fix: str | None = None) -> NoReturn:
    raise DecisionError(code, message, fix=fix or CODES[code].solution) from None
