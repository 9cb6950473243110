"""What changed in what a server says of itself, in how it was captured, and in its prompts and resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tipstaff.documents.base import Json
from tipstaff.documents.canary import Canary
from tipstaff.documents.contract import Snapshot
from tipstaff.documents.pointer import pointer, unescaped
from tipstaff.drift.change import ABOUT, NARROWS, NONE, UNKNOWN, WIDENS, Change
from tipstaff.drift.spots import Spot, equal, spots

# Member: the pointer to it, in MCP's spelling.
_MEMBERS = {
    "protocol_version": "/protocolVersion",
    "server_info": "/serverInfo",
    "capabilities": "/capabilities",
    "instructions": "/instructions",
    "server_id": "/serverId",
    "source": "/source",
}
_LISTS = (
    ("prompts", "name", "prompt_changed", "/prompts"),
    ("resources", "uri", "resource_changed", "/resources"),
    ("resource_templates", "uriTemplate", "resource_changed", "/resourceTemplates"),
)
_WORDS = frozenset({"description", "title"})
_PACKAGES = "/source/dependencies"
_FACTS = {"side": ABOUT, "direction": NONE}


def compare_servers(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    """Every difference outside the tools."""
    sides = [one.model_dump(include=set(_MEMBERS)) for one in (old, new)]
    for member, path in _MEMBERS.items():
        for spot in _packages_as_one(spots(sides[0][member], sides[1][member], path)):
            kind = "equivalent_rewrite" if _is_idle(spot) else "server_changed"
            yield _change(kind, spot.path, spot.before, spot.after, _about(spot.path))
    if old.behavior_fingerprint != new.behavior_fingerprint:
        yield _change(
            "behaviour_changed",
            "/behaviorFingerprint",
            old.behavior_fingerprint,
            new.behavior_fingerprint,
            "fingerprint",
        )
    yield from _canaries(old.canaries, new.canaries)
    for member, key, kind, path in _LISTS:
        yield from _entries(getattr(old, member), getattr(new, member), key, kind, path)


def unstable(canary: Canary) -> Change:
    """That a canary answers differently from one call to the next."""
    text = f"the canary {canary.id} of {canary.tool} answers differently from one call to the next"
    path = pointer("/canaries", canary.id, "stable")
    return Change(
        "canary_unstable", canary.tool, path, True, False, text, _FACTS | {"about": "canary"}
    )


def _canaries(old: list[Canary], new: list[Canary]) -> Iterator[Change]:
    before, after = ({canary.id: canary for canary in side} for side in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now, here = before.get(name), after.get(name), pointer("/canaries", name)
        if was is None or now is None:
            gone, come = (side.model_dump() if side else None for side in (was, now))
            change = _change("server_changed", here, gone, come, "canaries")
            yield _granting(change) if now is not None and now.granted else change
            continue
        if was.fingerprint != now.fingerprint:
            yield _answered_otherwise(was, now)
        if was.stable and not now.stable:
            yield unstable(now)
        kept = {"fingerprint"} | ({"stable"} if was.stable else set())
        for spot in spots(was.model_dump(exclude=kept), now.model_dump(exclude=kept), here):
            change = _change("server_changed", spot.path, spot.before, spot.after, "canaries")
            yield _granting(change) if now.granted and not was.granted else change


def _granting(change: Change) -> Change:
    return replace(change, facts={**change.facts, "now": True})


def _answered_otherwise(was: Canary, now: Canary) -> Change:
    text = f"the canary {now.id} of {now.tool} answers otherwise than it did"
    path = pointer("/canaries", now.id, "fingerprint")
    facts = _FACTS | {"about": "canary", "verb": "changed"}
    return Change(
        "behaviour_changed", now.tool, path, was.fingerprint, now.fingerprint, text, facts
    )


def _change(
    kind: str, path: str, before: Any, after: Any, about: str, direction: str = NONE
) -> Change:
    verb = "added" if before is None else "removed" if after is None else "changed"
    label = path.lstrip("/").replace("/", ".")
    facts = {"side": ABOUT, "direction": direction, "about": about, "verb": verb}
    return Change(kind, None, path, before, after, f"{label} {verb}", facts)


def _packages_as_one(found: Iterable[Spot]) -> Iterator[Spot]:
    """All packages that came, went or moved as one difference: an upgrade moves dozens of them."""
    moved: dict[str, tuple[Any, Any]] = {}
    for spot in found:
        if spot.path.startswith(f"{_PACKAGES}/"):
            name = unescaped(spot.path.removeprefix(f"{_PACKAGES}/"))
            moved[name] = (spot.before, spot.after)
        else:
            yield spot
    if moved:
        sides = (
            {name: pair[side] for name, pair in sorted(moved.items()) if pair[side] is not None}
            for side in (0, 1)
        )
        yield Spot(_PACKAGES, *(side or None for side in sides))


def _is_idle(spot: Spot) -> bool:
    """Whether a capability came or went that says no more than its absence does."""
    if not spot.path.startswith("/capabilities/"):
        return False
    said = [side for side in (spot.before, spot.after) if side is not None]
    return said == [False] or (said == [{}] and spot.path == "/capabilities/experimental")


def _about(path: str) -> str:
    """What of the server a pointer leads to: ``serverInfo.name``, ``source.command``, ``capabilities``."""
    steps = path.split("/")[1:]
    return ".".join(steps[:2]) if steps[0] in ("serverInfo", "source") else steps[0]


def _entries(old: list[Json], new: list[Json], key: str, kind: str, path: str) -> Iterator[Change]:
    before, after = _by(old, key), _by(new, key)
    for name in sorted(before.keys() | after.keys()):
        here = pointer(path, name)
        if name not in after:
            yield _change(kind, here, before[name], None, "entry", NARROWS)
        elif name not in before:
            yield _change(kind, here, None, after[name], "entry", WIDENS)
        elif not equal(before[name], after[name]):
            yield from _entry(before[name], after[name], kind, here)


def _by(entries: list[Json], key: str) -> dict[str, Json]:
    """The entries by their name; later ones of one name bear a number, as a list may have two."""
    found: dict[str, Json] = {}
    for entry in entries:
        name, count = entry[key], 2
        while name in found:
            name, count = f"{entry[key]}#{count}", count + 1
        found[name] = entry
    return found


def _entry(old: Json, new: Json, kind: str, path: str) -> Iterator[Change]:
    parts = sorted((old.keys() | new.keys()) - {"arguments"})
    for member in parts:
        for spot in spots(old.get(member), new.get(member), pointer(path, member)):
            about = (
                "words"
                if member in _WORDS
                else member
                if member in ("mimeType", "name")
                else "other"
            )
            yield _change(kind, spot.path, spot.before, spot.after, about)
    sides = [one.get("arguments") for one in (old, new)]
    if equal(sides[0], sides[1]):
        return
    if not all(side is None or _are_named(side) for side in sides):
        yield _change(kind, pointer(path, "arguments"), sides[0], sides[1], "arguments", UNKNOWN)
        return
    yield from _arguments(sides[0] or [], sides[1] or [], kind, pointer(path, "arguments"))


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in value
    )


def _arguments(old: list[Json], new: list[Json], kind: str, path: str) -> Iterator[Change]:
    before, after = _by(old, "name"), _by(new, "name")
    count = 0
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        here = pointer(path, name)
        if was is None or now is None:
            needed = bool(now and now.get("required"))
            direction = NARROWS if now is None or needed else WIDENS
            count += 1
            yield _change(kind, here, was, now, "argument", direction)
            continue
        if bool(was.get("required")) != bool(now.get("required")):
            direction = NARROWS if now.get("required") else WIDENS
            count += 1
            yield _change(
                kind,
                pointer(here, "required"),
                bool(was.get("required")),
                bool(now.get("required")),
                "argument",
                direction,
            )
        for member in sorted((was.keys() | now.keys()) - {"required"}):
            for spot in spots(was.get(member), now.get(member), pointer(here, member)):
                count += 1
                yield _change(
                    kind,
                    spot.path,
                    spot.before,
                    spot.after,
                    "words" if member in _WORDS else "other",
                )
    if not count:
        facts = {"side": ABOUT, "direction": NONE, "about": "arguments"}
        text = "the arguments are listed differently and are the same"
        yield Change("equivalent_rewrite", None, path, None, None, text, facts)
