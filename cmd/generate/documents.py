"""The reference of every document: its members with their types, from the schemas, and what each part is for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import schemas

# Not in contracts/: OPA reads every file that it finds there as a schema.
REFERENCE = "policy/DOCUMENTS.md"
_EXAMPLES = Path(__file__).parents[2] / "contracts" / "examples"
_HEAD = """# Documents

What crosses a border of Tipstaff, member by member. The schemas in [contracts/](../contracts) say the same to programs:
the engine checks every input against its schema before OPA is asked, `opa check --schema contracts` finds a misspelt
path in a rule, and editors complete from them. An unknown member is an error. Written by `make generate`.

`*` marks a member that must be there. A safety fact that may be absent by its schema is still missed by the rules: what
they answer then is in [README.md](README.md). Codes of errors: [errors.md](../contracts/errors.md).
"""


def render() -> Iterator[tuple[str, str]]:
    """The reference's path from the repository's root, and its text."""
    parts = [_HEAD]
    for path, text in schemas.render():
        name = Path(path).name.removesuffix(".schema.json")
        parts.append(_document(name, json.loads(text)))
    yield REFERENCE, "\n".join(parts)


def _document(name: str, schema: dict[str, Any]) -> str:
    lines = [f"## {name}", "", _prose(schema), ""]
    examples = sorted(file.name for file in _EXAMPLES.glob(f"{name}-*.input.json"))
    if examples:
        links = ", ".join(
            f"[{file.removesuffix('.input.json')}](../contracts/examples/{file})"
            for file in examples
        )
        lines += [f"Examples, each with its verdict beside it: {links}.", ""]
    lines += ["| Member | Type | What it is |", "|---|---|---|"]
    lines += [
        f"| `{path}`{mark} | {kind} | {text} |" for path, mark, kind, text in _members(schema)
    ]
    return "\n".join([*lines, ""])


def _members(schema: dict[str, Any], above: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Path, mark, type and prose of each member and of what is in it."""
    for name, member in schema.get("properties", {}).items():
        path = f"{above}{name}"
        mark = "\\*" if name in schema.get("required", ()) else ""
        items = member.get("items", {})
        yield path, mark, _type(member), _prose(member) or _prose(items)
        yield from _members(member, f"{path}.")
        yield from _members(items, f"{path}[].")
        for choice in items.get("oneOf", ()):
            place = f"{path}[{choice['properties']['id']['const']}]"
            yield place, "", "object", _prose(choice)
            yield from _members(choice, f"{place}.")


def _type(member: dict[str, Any]) -> str:
    if "const" in member:
        return f"`{json.dumps(member['const'])}`"
    if "enum" in member:
        return " or ".join(f"`{json.dumps(value)}`" for value in member["enum"])
    if "anyOf" in member or "oneOf" in member:
        return " or ".join(_type(choice) for choice in member.get("anyOf") or member["oneOf"])
    kinds = member.get("type", "any")
    text = " or ".join(kinds if isinstance(kinds, list) else [kinds])
    limits = [
        f"{sign} {member[key]}"
        for key, sign in (("minimum", "≥"), ("maximum", "≤"))
        if key in member
    ]
    if "pattern" in member:
        limits.append("`" + member["pattern"].replace("|", "\\|") + "`")
    if items := member.get("items"):
        text += f" of {'objects' if 'oneOf' in items else _type(items)}"
    return ", ".join([text, *limits])


def _prose(member: dict[str, Any]) -> str:
    text = re.sub(r"``([^`]*)``", r"`\1`", member.get("description", ""))
    text = re.sub(r"\bNone\b", "null", text)
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()
