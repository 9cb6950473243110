"""The codes that Python itself may put into a verdict, where policy could not answer or its answer could not be kept.

Every other code comes from the annotations of a Rego rule. Nothing here judges: each of these stands for an answer
that is missing, and a missing answer refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Code:
    """What a code means, and what would change it."""

    message: str
    solution: str


CODES: Mapping[str, Code] = MappingProxyType(
    {
        "engine.unavailable": Code(
            "the policy engine cannot be reached",
            "run `tipstaff doctor`; it starts the sidecar and says what stands in the way",
        ),
        "engine.timeout": Code(
            "the policy engine did not answer in time",
            "ask again; if it repeats, run `tipstaff sidecar stop` so that a new one starts",
        ),
        "engine.http": Code(
            "the policy engine answered with an error",
            "run `tipstaff policy test`; a rule that fails while it is evaluated answers so",
        ),
        "engine.malformed": Code(
            "the policy engine's answer is not one whole JSON document",
            "run `tipstaff sidecar stop` and ask again",
        ),
        "engine.undefined": Code(
            "the policy engine knows no such decision",
            "run `tipstaff sidecar stop` and ask again, so that the current bundle is loaded",
        ),
        "engine.revision": Code(
            "the answer comes from another revision of the policy than the expected one",
            "run `tipstaff sidecar stop` and ask again, so that the current bundle is loaded",
        ),
        "engine.not_ready": Code(
            "the policy engine has not activated every bundle",
            "run `tipstaff doctor`; a bundle whose signature or revision is wrong is never activated",
        ),
        "engine.invalid": Code(
            "the policy engine's answer is not one valid verdict on this question",
            "run `tipstaff policy test`; an overlay may give reasons that the contract does not know",
        ),
        "obligation.unknown": Code(
            "the verdict demands something that this version cannot do",
            "remove the obligation from the overlay, or use a version that knows it",
        ),
        "explanation.unpersisted": Code(
            "the decision could not be written to the audit trail, so nothing is carried out",
            "run `tipstaff doctor`; it names what keeps the state folder from being written",
        ),
    }
)
