"""What all documents share: the closed, strict, frozen base and the small types.

Shapes are strict; safety facts that a rule must answer for (a class, a count, a backend) are optional strings
or objects here, and Rego says what their absence means.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from tipstaff.errors import ContractError

# Forms of texts, as parts of patterns.
SHA256 = r"[0-9a-f]{64}"
# Of one width, so that texts compare as the instants follow each other.
INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
KEY_PREFIX = r"[A-Za-z0-9][A-Za-z0-9._/@:+-]{0,127}:"

Sha256 = Annotated[str, StringConstraints(pattern=f"^{SHA256}$")]
Timestamp = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$")
]
Instant = Annotated[str, StringConstraints(pattern=f"^{INSTANT}$")]
# The digest of what was judged; of a governed harness after the prefix that its spec gives and a colon.
ApprovalKey = Annotated[str, StringConstraints(pattern=f"^(?:{KEY_PREFIX})?{SHA256}$")]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=256)]
CapabilityName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Json = dict[str, Any]


def _integer(value: Any) -> Any:
    # To Python 1, 1.0 and True are one value, and so they are to a Literal.
    if type(value) is not int:
        raise ValueError("must be the integer 1")
    return value


SchemaVersion = Annotated[Literal[1], BeforeValidator(_integer)]
_COMPLAINTS = 9

ActionClass = Literal["audit", "augment", "heal_additive", "heal_breaking", "heal_warning"]
Tier = Literal["off", "propose", "auto-if-tests-pass", "auto"]
Effect = Literal["allow", "require_approval", "escalate", "deny"]
ActorType = Literal["human", "agent", "ci"]
Urgency = Literal["immediate", "normal", "low"]


class Contract(BaseModel):
    """A document or a part of one: unknown keys refused, no coercion, immutable."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", populate_by_name=True, defer_build=True
    )


C = TypeVar("C", bound=BaseModel)


def parse(model: type[C], value: Any, *, file: str | None = None) -> C:
    """Validate plain data against a model.

    Raises ``ContractError`` that names every offending field; its code is ``document.invalid``, or the validator's own.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _refusal(error, file) from error


def _refusal(error: ValidationError, file: str | None) -> ContractError:
    first, *others = error.errors(include_url=False)
    message = _complaint(first)
    for detail in others[:_COMPLAINTS]:
        message += f"; {_path(detail)}: {_complaint(detail)}"
    if len(others) > _COMPLAINTS:
        message += f"; and {len(others) - _COMPLAINTS} more"
    code = first["type"] if "." in first["type"] else "document.invalid"
    return ContractError(code, message, file=file, field=_path(first), fix=_remedy(first))


def _path(detail: ErrorDetails) -> str:
    return ".".join(str(part) for part in detail["loc"] if part != "[key]") or "(document)"


def _complaint(detail: ErrorDetails) -> str:
    if detail["type"] == "extra_forbidden":
        return "unknown key"
    if detail["type"] == "missing":
        return "required, but absent"
    return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}"


def _remedy(detail: ErrorDetails) -> str:
    if "fix" in detail.get("ctx", {}):
        return str(detail["ctx"]["fix"])
    if detail["type"] == "missing":
        return f"add {_path(detail)}"
    if detail["type"] == "extra_forbidden":
        return f"remove or correct the key {detail['loc'][-1]!r}"
    if detail["type"] == "literal_error":
        choices = re.findall(r"'([^']*)'", detail["ctx"]["expected"])
        close = get_close_matches(str(detail["input"]).lower().replace("_", "-"), choices, 1)
        close = close or get_close_matches(str(detail["input"]).lower(), choices, 1)
        return (
            f"write {close[0]!r}" if close else "write one of the listed values, in that spelling"
        )
    return "correct the value; the schemas are in contracts/"
