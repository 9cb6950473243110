"""Numbers that decide, as billionths: whole numbers, so that no fraction is rounded behind anybody's back."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

BILLION = 10**9
MAX_SCORE = 100_000


def decimal(billionths: int) -> str:
    """Billionths as a decimal number, without zeros at its end."""
    return format((Decimal(billionths) / BILLION).normalize(), "f")


def _number(value: Any) -> Decimal:
    """The number as it is written; a float is what its shortest spelling says."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("number", "must be a number")
    number = Decimal(str(value))
    if not number.is_finite():
        raise PydanticCustomError("number", "must be a finite number")
    return number


def _exact(value: Any) -> int:
    scaled = _number(value) * BILLION
    if scaled != scaled.to_integral_value():
        raise PydanticCustomError("number", "must have at most nine decimals")
    return int(scaled)


def _share(value: Any) -> int:
    scaled = _exact(value)
    if not 0 <= scaled <= BILLION:
        raise PydanticCustomError("number", "must be from 0 to 1")
    return scaled


def _at_least_zero(value: Any) -> int:
    scaled = _exact(value)
    if not 0 <= scaled <= MAX_SCORE * BILLION:
        raise PydanticCustomError("number", f"must be from 0 to {MAX_SCORE}")
    return scaled


def _score(value: Any) -> int:
    """To the ninth decimal: what is measured has more, and none that mean anything."""
    number = _number(value)
    if abs(number) > MAX_SCORE:
        raise PydanticCustomError("number", f"must be from -{MAX_SCORE} to {MAX_SCORE}")
    return int((number * BILLION).to_integral_value())


Share = Annotated[
    int,
    BeforeValidator(_share),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Amount = Annotated[
    int, BeforeValidator(_at_least_zero), WithJsonSchema({"type": "number", "minimum": 0})
]
Score = Annotated[int, BeforeValidator(_score), WithJsonSchema({"type": "number"})]
