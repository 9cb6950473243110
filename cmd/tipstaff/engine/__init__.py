"""The one way to a decision."""

from tipstaff.engine.engine import Engine, Judgement

__all__ = ["Engine", "Judgement"]
