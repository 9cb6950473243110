"""Policy evaluated by `opa eval`, apart from any sidecar: nothing is recorded, and nothing can be carried out on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.strict_json import canonical
from tipstaff.documents.text import visible
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import answer
from tipstaff.engine.question import Question
from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp.opa import Opa

_VERDICTS = "data.tipstaff.decision.verdicts"
_TIMEOUT_S = 600.0
_PLACE = re.compile(r"(\S+\.(?:rego|json|ya?ml)):\d+")
_FIX = "correct the named file and line; `tipstaff policy test` shows the same"


@dataclass(frozen=True)
class Rules:
    """Bundles that answer together. ``label`` names them in errors; ``revisions`` is what a document must expect."""

    label: str
    opa: Opa
    bundles: tuple[Path, ...]
    revisions: dict[str, str | None]
    capabilities: Path

    def demand_loadable(self) -> None:
        """Raise ``ContractError`` (``policy.invalid``) with OPA's own file and line where the policy does not load."""
        reply = self._eval("true", {})
        if "result" not in reply:
            raise self._invalid(reply)

    def query(self, path: str, value: Any) -> Any:
        """The value of a path such as ``data.tipstaff.comparison.report`` on an input; None where it is undefined.

        Raises ``DecisionError`` (``engine.http``) where evaluation fails.
        """
        reply = self._eval(path, value)
        if "errors" in reply:
            raise DecisionError("engine.http", f"{self.label}: {_said(reply)}", fix=_FIX)
        result = reply.get("result")
        return result[0]["expressions"][0]["value"] if result else None

    def verdicts(self, documents: Sequence[Json]) -> list[Verdict]:
        """One verdict for each complete document, as the engine would give it: what is no valid answer is a refusal."""
        try:
            results = self.query(_VERDICTS, {"documents": list(documents)})
        except DecisionError as error:
            if len(documents) == 1:
                return [answer.refuse(error, _question(documents[0]), "")]
            middle = len(documents) // 2
            return self.verdicts(documents[:middle]) + self.verdicts(documents[middle:])
        if not isinstance(results, list) or len(results) != len(documents):
            broken = answer.invalid("not one answer a document")
            return [answer.refuse(broken, _question(one), "") for one in documents]
        return [self._checked(result, one) for result, one in zip(results, documents, strict=True)]

    def _checked(self, result: Any, document: Json) -> Verdict:
        question = _question(document)
        try:
            return answer.check(result, question, self.opa.version)
        except DecisionError as error:
            return answer.refuse(error, question, "")

    def _eval(self, path: str, value: Any) -> dict[str, Any]:
        sources = ["--capabilities", str(self.capabilities)]
        for bundle in self.bundles:
            sources += ["--bundle", str(bundle)]
        return self.opa.evaluate(path, sources, given=canonical(value), timeout_s=_TIMEOUT_S)

    def _invalid(self, reply: dict[str, Any]) -> ContractError:
        said = _said(reply)
        for bundle in self.bundles:
            said = said.removeprefix(f"loading error: bundle {bundle}: ").replace(f"{bundle}/", "")
        place = _PLACE.search(said)
        return ContractError(
            "policy.invalid",
            f"{self.label}: {said}",
            file=place.group(1) if place else None,
            fix=_FIX,
        )


def _question(document: Json) -> Question:
    context = document.get("context")
    named = {"decision_id": "none", **(context if isinstance(context, dict) else {})}
    kind = document.get("kind", "none")
    return Question({**document, "kind": kind, "context": named}, b"", "", "")


def _said(reply: dict[str, Any]) -> str:
    messages = []
    for error in reply.get("errors") or [{"message": "undefined"}]:
        place = error.get("location") or {}
        where = f"{place.get('file')}:{place.get('row')}: " if place.get("file") else ""
        messages.append(f"{where}{error.get('message')}")
    return visible(" ".join("; ".join(messages).split()))
