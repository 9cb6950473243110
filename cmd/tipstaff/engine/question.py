"""A complete input document, serialised once: the bytes that are sent are the bytes that are digested."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tipstaff.documents.base import Json
from tipstaff.documents.input import InputDocument
from tipstaff.documents.redaction import is_suspicious, redact
from tipstaff.documents.strict_json import canonical

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
    bound = _binding(context)
    form = canonical(plain | bound)
    if is_suspicious(form.decode()):
        plain |= {name: redact(plain[name]) for name in _free(plain)}
        form = canonical(plain | bound)
    judged = hashlib.sha256(_JUDGED + form).hexdigest()
    whole = {**plain, "context": {**context, "judged_sha256": judged}}
    body = canonical(whole)
    return Question(whole, body, hashlib.sha256(body).hexdigest(), judged)


def as_given(document: InputDocument) -> Question:
    """The document with the context it brings, for a replay."""
    plain = document.model_dump(by_alias=True)
    plain |= {name: redact(plain[name]) for name in _free(plain)}
    body = canonical(plain)
    context = plain["context"] or {}
    judged = context.get("judged_sha256") or ""
    return Question({**plain, "context": context}, body, hashlib.sha256(body).hexdigest(), judged)


def _free(plain: Json) -> tuple[str, ...]:
    """The parts that may hold anything, and so a secret; the facts that rules compare stay as they are."""
    if plain["kind"] in ("change", "control"):
        return ("evidence",)
    return ("action", "resource", "evidence")


def _binding(context: Json) -> Json:
    digests = {name: context["config"][name] for name in ("team_sha256", "local_sha256")}
    return {"bundles": context["bundles"], "config": digests}
