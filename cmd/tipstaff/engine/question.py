"""A complete input document, serialised once: the bytes that are sent are the bytes that are digested."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tipstaff.documents.base import Json
from tipstaff.documents.redaction import is_suspicious, redact
from tipstaff.documents.strict_json import canonical, joined

if TYPE_CHECKING:
    from tipstaff.documents.input import InputDocument

_ADDED = ("bundles", "config", "context")
_JUDGED = b"tipstaff/judged/1\0"


@dataclass(frozen=True)
class Question:
    """One document as it is asked about.

    ``body`` is its RFC 8785 form and ``sha256`` the digest of that; ``judged_sha256`` is what an approval binds to:
    everything but identity, clock, switches and the approval itself.
    """

    document: Json
    body: bytes
    sha256: str
    judged_sha256: str

    @property
    def decision_id(self) -> str:
        """The id that the verdict must carry."""
        return str(self.document["context"]["decision_id"])

    @property
    def kind(self) -> str:
        """The document's kind."""
        return str(self.document["kind"])


def complete(document: InputDocument, context: Json) -> Question:
    """Add the engine's context to a caller's document, whatever context that one brought along."""
    plain = document.model_dump(by_alias=True, exclude={"context"})
    bound = canonical(_binding(context))
    before, behind = _around(plain)
    form = joined(before, bound, behind)
    if is_suspicious(form.decode()):
        plain |= {name: redact(plain[name]) for name in _free(plain)}
        before, behind = _around(plain)
        form = joined(before, bound, behind)
    judged = hashlib.sha256(_JUDGED + form).hexdigest()
    full = {"context": {**context, "judged_sha256": judged}}
    body = joined(before, canonical(full), behind)
    return Question({**plain, **full}, body, hashlib.sha256(body).hexdigest(), judged)


def as_given(document: InputDocument) -> Question:
    """The document with the context it brings, for a replay."""
    plain = document.model_dump(by_alias=True)
    plain |= {name: redact(plain[name]) for name in _free(plain)}
    body = canonical(plain)
    context = plain["context"] or {}
    judged = context.get("judged_sha256") or ""
    return Question({**plain, "context": context}, body, hashlib.sha256(body).hexdigest(), judged)


def _around(plain: Json) -> tuple[bytes, bytes]:
    """The canonical members that sort before and behind what is added to them; written once for both forms."""
    first, *_, last = _ADDED
    before = {name: value for name, value in plain.items() if name < first}
    behind = {name: value for name, value in plain.items() if name > last}
    if len(before) + len(behind) != len(plain):
        raise ValueError(f"no member of a document may sort between {first} and {last}")
    return canonical(before), canonical(behind)


def _free(plain: Json) -> tuple[str, ...]:
    """The parts that may hold anything, and so a secret; the facts that rules compare stay as they are."""
    if plain["kind"] in ("change", "control"):
        return ("evidence",)
    return ("action", "resource", "evidence")


def _binding(context: Json) -> Json:
    digests = {name: context["config"][name] for name in ("team_sha256", "local_sha256")}
    return {"bundles": context["bundles"], "config": digests}
