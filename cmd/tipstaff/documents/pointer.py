"""JSON pointers (RFC 6901): texts that lead to a place in a value, and the steps that they have."""

from __future__ import annotations


def pointer(base: str, *parts: str | int) -> str:
    """A pointer some steps below another."""
    steps = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    return base + "".join(f"/{step}" for step in steps)


def steps(path: str) -> list[str]:
    """The steps of a pointer; what stands before its first slash is none."""
    return [unescaped(step) for step in path.split("/")[1:]]


def unescaped(step: str) -> str:
    """One step as the name of a member."""
    return step.replace("~1", "/").replace("~0", "~")
