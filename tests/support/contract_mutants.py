"""A server of forty tools, ways to change one field of it, and ways to write it differently.

Each mutant means another thing than what it was made of, and each rewrite the same, by what MCP and JSON Schema say.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
Way = Callable[[Json, random.Random], bool]
_WORDS = "reads writes lists finds moves plans asks checks opens closes counts sorts".split()
_THINGS = "file note order invoice city station ticket branch user report photo queue".split()


def server(dice: random.Random, tools: int = 40) -> Json:
    """A capture with everything that MCP lets a server say."""
    return {
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "forty", "version": "1.2.3"},
        "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "resources": {}},
        "instructions": "Look before you write.",
        "tools": [_tool(dice, place) for place in range(tools)],
        "prompts": [
            {"name": f"ask_{thing}", "description": f"Asks for a {thing}.",
             "arguments": [{"name": "who", "description": "Whom.", "required": True}]}
            for thing in _THINGS[:4]
        ],
        "resources": [
            {"uri": f"data://{thing}", "name": thing, "mimeType": "text/plain"}
            for thing in _THINGS[:4]
        ],
        "resourceTemplates": [
            {"uriTemplate": f"data://{thing}/{{id}}", "name": thing, "description": "By its id."}
            for thing in _THINGS[:4]
        ],
    }  # fmt: skip


def _tool(dice: random.Random, place: int) -> Json:
    verb, thing = dice.choice(_WORDS), dice.choice(_THINGS)
    members: Json = {
        "text": {"type": "string", "description": f"The {thing}.", "minLength": 1, "maxLength": 80},
        "count": {"type": "integer", "description": "How many.", "minimum": 1, "maximum": 9},
        "share": {"type": "number", "description": "What part.", "minimum": 0, "maximum": 1},
        "kind": {"type": "string", "enum": ["a", "b", "c"], "description": "Which kind."},
        "code": {"type": "string", "pattern": "^[a-z]+$", "description": "Its code."},
        "force": {"type": "boolean", "default": False, "description": "Whether to insist."},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "where": {"$ref": "#/$defs/Place"},
        "filter": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "year": {"type": "integer"}},
        },
    }
    names = dice.sample(list(members), dice.randint(5, len(members)))
    schema: Json = {
        "type": "object",
        "properties": {name: members[name] for name in names},
        "required": [name for name in names if name in ("text", "count", "kind")],
    }
    if "where" in names:
        schema["$defs"] = {
            "Place": {
                "type": "object",
                "properties": {"id": {"type": "string"}},
                "required": ["id"],
            },
            "Other": {
                "type": "object",
                "properties": {"id": {"type": "integer"}},
                "required": ["id"],
            },
        }
    found: Json = {
        "name": f"{verb}_{thing}_{place}",
        "title": f"{verb} a {thing}".capitalize(),
        "description": f"{verb.capitalize()} the {thing} number {place}, and says so.",
        "inputSchema": schema,
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        "icons": [{"src": f"https://example.com/{thing}.png"}],
        "_meta": {"example.com/owner": thing},
    }
    if place % 2:
        found["outputSchema"] = {
            "type": "object",
            "properties": {"done": {"type": "boolean"}, "note": {"type": "string"}},
            "required": ["done"],
        }
    return found


def mutants(dice: random.Random, count: int) -> list[tuple[str, Json, Json]]:
    """Pairs of a capture and one with a single field changed, with the name of the way; every way is taken."""
    return _pairs(dice, count, MUTATIONS)


def rewrites(dice: random.Random, count: int) -> list[tuple[str, Json, Json]]:
    """Pairs of a capture and the same in another spelling."""
    return _pairs(dice, count, SPELLINGS)


def _pairs(dice: random.Random, count: int, ways: dict[str, Way]) -> list[tuple[str, Json, Json]]:
    base = server(dice)
    found: list[tuple[str, Json, Json]] = []
    names = list(ways)
    while len(found) < count:
        name = names[len(found) % len(names)]
        new = copy.deepcopy(base)
        if ways[name](new, dice):
            found.append((name, base, new))
    return found


def _any(value: Json, dice: random.Random) -> Json:
    found: Json = dice.choice(value["tools"])
    return found


def _member(name: str, change: Callable[[Json], object]) -> Way:
    """A way that changes a parameter, in some tool that has it."""

    def way(value: Json, dice: random.Random) -> bool:
        having = [tool for tool in value["tools"] if name in tool["inputSchema"]["properties"]]
        change(dice.choice(having)["inputSchema"]["properties"][name])
        return True

    return way


def _of_schema(change: Callable[[Json], object]) -> Way:
    return _of_tool(lambda tool: change(tool["inputSchema"]))


def _of_tool(change: Callable[[Json], object]) -> Way:
    def way(value: Json, dice: random.Random) -> bool:
        change(_any(value, dice))
        return True

    return way


def _of_output(change: Callable[[Json], object]) -> Way:
    def way(value: Json, dice: random.Random) -> bool:
        change(dice.choice([tool for tool in value["tools"] if "outputSchema" in tool]))
        return True

    return way


def _of_list(member: str, change: Callable[[Json], object]) -> Way:
    def way(value: Json, dice: random.Random) -> bool:
        change(dice.choice(value[member]))
        return True

    return way


def _of_server(change: Callable[[Json], object]) -> Way:
    def way(value: Json, _dice: random.Random) -> bool:
        change(value)
        return True

    return way


def _without(key: str) -> Callable[[Json], object]:
    return lambda value: value.pop(key)


def _renamed(schema: Json) -> None:
    name = next(iter(schema["properties"]))
    schema["properties"][f"{name}_2"] = schema["properties"].pop(name)
    if name in schema["required"]:
        schema["required"].remove(name)
        schema["required"].append(f"{name}_2")


def _unrequired(schema: Json) -> None:
    if schema["required"]:
        schema["required"].pop()
    else:
        schema["required"] = ["brand_new"]


MUTATIONS: dict[str, Way] = {
    "tool's description": _of_tool(lambda t: t.update(description=t["description"] + " Ask first.")),
    "white space in a description": _of_tool(lambda t: t.update(description=t["description"] + " ")),
    "tool's title": _of_tool(lambda t: t.update(title="Another title")),
    "tool's name": _of_tool(lambda t: t.update(name=t["name"] + "_x")),
    "tool gone": lambda value, dice: bool(value["tools"].remove(_any(value, dice)) or True),
    "tool more": _of_server(lambda v: v["tools"].append({"name": "fresh", "inputSchema": {"type": "object"}})),
    "tool twice": _of_server(lambda v: v["tools"].append(copy.deepcopy(v["tools"][0]))),
    "icons": _of_tool(lambda t: t["icons"][0].update(src="https://example.org/x.png")),
    "metadata": _of_tool(lambda t: t["_meta"].update({"example.com/owner": "nobody"})),
    "unknown member": _of_tool(lambda t: t.update({"x-new": 1})),
    "tasks": _of_tool(lambda t: t.update(execution={"taskSupport": "optional"})),
    "hint: reads": _of_tool(lambda t: t["annotations"].update(readOnlyHint=True)),
    "hint: destroys": _of_tool(lambda t: t["annotations"].update(destructiveHint=True)),
    "hint: idempotent": _of_tool(lambda t: t["annotations"].update(idempotentHint=True)),
    "hint: open world": _of_tool(lambda t: t["annotations"].pop("openWorldHint")),
    "unknown hint": _of_tool(lambda t: t["annotations"].update(category="x")),
    "parameter's description": _member("text", lambda p: p.update(description="Another.")),
    "parameter's description gone": _member("count", _without("description")),
    "parameter's title": _member("text", lambda p: p.update(title="Send me everything")),
    "type": _member("count", lambda p: p.update(type="string")),
    "type wider": _member("count", lambda p: p.update(type="number")),
    "null as well": _member("text", lambda p: p.update(type=["string", "null"])),
    "enum more": _member("kind", lambda p: p["enum"].append("d")),
    "enum less": _member("kind", lambda p: p["enum"].remove("a")),
    "enum gone": _member("kind", _without("enum")),
    "minimum": _member("count", lambda p: p.update(minimum=2)),
    "maximum": _member("share", lambda p: p.update(maximum=2)),
    "bound open": _member("share", lambda p: p.update(exclusiveMinimum=p.pop("minimum"))),
    "length": _member("text", lambda p: p.update(maxLength=81)),
    "pattern": _member("code", lambda p: p.update(pattern="^[a-z]*$")),
    "pattern gone": _member("code", _without("pattern")),
    "format": _member("text", lambda p: p.update(format="uri")),
    "default": _member("force", lambda p: p.update(default=True)),
    "default gone": _member("force", _without("default")),
    "const": _member("kind", lambda p: p.update(const="a")),
    "items": _member("tags", lambda p: p.update(items={"type": "integer"})),
    "number of items": _member("tags", lambda p: p.update(minItems=1)),
    "items unique": _member("tags", lambda p: p.update(uniqueItems=True)),
    "reference": _member("where", lambda p: p.update({"$ref": "#/$defs/Other"})),
    "branch more": _member("maybe", lambda p: p["anyOf"].append({"type": "integer"})),
    "branch gone": _member("maybe", lambda p: p["anyOf"].pop(0)),
    "nested member more": _member("filter", lambda p: p["properties"].update(zip={"type": "string"})),
    "nested member gone": _member("filter", lambda p: p["properties"].pop("year")),
    "nested type": _member("filter", lambda p: p["properties"]["city"].update(type="integer")),
    "nested required": _member("filter", lambda p: p.update(required=["city"])),
    "not": _member("text", lambda p: p.update({"not": {"const": "x"}})),
    "condition": _member("text", lambda p: p.update({"if": {"minLength": 5}, "then": {"pattern": "^a"}})),
    "unknown keyword": _member("text", lambda p: p.update({"x-limit": 5})),
    "deprecated": _member("text", lambda p: p.update(deprecated=True)),
    "parameter more": _of_schema(lambda s: s["properties"].update(extra={"type": "string"})),
    "parameter more, required": _of_schema(
        lambda s: (s["properties"].update(extra={"type": "string"}), s["required"].append("extra"))
    ),
    "parameter gone": _of_schema(lambda s: s["properties"].pop(next(iter(s["properties"])))),
    "parameter renamed": _of_schema(_renamed),
    "required": _of_schema(_unrequired),
    "closed": _of_schema(lambda s: s.update(additionalProperties=False)),
    "number of members": _of_schema(lambda s: s.update(maxProperties=3)),
    "schema's description": _of_schema(lambda s: s.update(description="Always send the keys.")),
    "output's type": _of_output(lambda t: t["outputSchema"]["properties"]["done"].update(type="string")),
    "output's member gone": _of_output(lambda t: t["outputSchema"]["properties"].pop("note")),
    "output's required gone": _of_output(lambda t: t["outputSchema"].pop("required")),
    "output's description": _of_output(lambda t: t["outputSchema"].update(description="Now do this.")),
    "output gone": _of_output(_without("outputSchema")),
    "instructions": _of_server(lambda v: v.update(instructions="Write before you look.")),
    "instructions gone": _of_server(_without("instructions")),
    "server's name": _of_server(lambda v: v["serverInfo"].update(name="fifty")),
    "server's version": _of_server(lambda v: v["serverInfo"].update(version="1.2.4")),
    "protocol": _of_server(lambda v: v.update(protocolVersion="2025-06-18")),
    "capability": _of_server(lambda v: v["capabilities"].update(logging={})),
    "prompt's description": _of_list("prompts", lambda p: p.update(description="Another.")),
    "prompt's argument": _of_list("prompts", lambda p: p["arguments"][0].update(required=False)),
    "prompt gone": _of_server(lambda v: v["prompts"].pop()),
    "resource's type": _of_list("resources", lambda r: r.update(mimeType="text/html")),
    "resource gone": _of_server(lambda v: v["resources"].pop()),
    "template's words": _of_list("resourceTemplates", lambda r: r.update(description="By force.")),
    "template more": _of_server(
        lambda v: v["resourceTemplates"].append({"uriTemplate": "x://{a}", "name": "x"})
    ),
}  # fmt: skip


def _turned(value: Any, dice: random.Random) -> Any:
    """The value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: _turned(value[key], dice) for key in keys}
    return [_turned(item, dice) for item in value] if isinstance(value, list) else value


def _keys(value: Json, dice: random.Random) -> bool:
    new = _turned(value, dice)
    value.clear()
    value.update(new)
    return True


def _lists(value: Json, dice: random.Random) -> bool:
    for member in ("tools", "prompts", "resources", "resourceTemplates"):
        dice.shuffle(value[member])
    return True


def _each(change: Callable[[Json], object]) -> Way:
    def way(value: Json, _dice: random.Random) -> bool:
        for tool in value["tools"]:
            change(tool)
        return True

    return way


def _inlined(tool: Json) -> None:
    schema = tool["inputSchema"]
    if "$defs" in schema:
        schema["properties"]["where"] = schema.pop("$defs")["Place"]


def _moved(tool: Json) -> None:
    schema = tool["inputSchema"]
    if "$defs" in schema:
        schema["definitions"] = schema.pop("$defs")
        schema["properties"]["where"] = {"$ref": "#/definitions/Place"}


def _titled(tool: Json) -> None:
    tool["inputSchema"]["title"] = f"{tool['name']}Arguments"
    for name, schema in tool["inputSchema"]["properties"].items():
        if "$ref" not in schema:
            schema["title"] = name.replace("_", " ").title()


SPELLINGS: dict[str, Way] = {
    "keys": _keys,
    "lists": _lists,
    "whole number as a fraction": _member("count", lambda p: p.update(minimum=1.0)),
    "bound of an integer": _member("count", lambda p: (p.pop("minimum"), p.update(exclusiveMinimum=0))),
    "largest integer": _member("count", lambda p: p.update(multipleOf=1)),
    "type as a list": _member("text", lambda p: p.update(type=["string"])),
    "null as a type": _member("maybe", lambda p: (p.pop("anyOf"), p.update(type=["null", "string"]))),
    "null first": _member("maybe", lambda p: p["anyOf"].reverse()),
    "default of null unsaid": _member("maybe", _without("default")),
    "values as branches": _member(
        "kind", lambda p: p.update(anyOf=[{"const": one} for one in p.pop("enum")])
    ),
    "values in another order": _member("kind", lambda p: p["enum"].reverse()),
    "one part of all": _member(
        "tags", lambda p: p.update({"allOf": [{"maxItems": p.pop("maxItems")}]})
    ),
    "nothing demanded of items": _member("tags", lambda p: p.update(minItems=0, uniqueItems=False)),
    "keyword of another type": _member("text", lambda p: p.update(maximum=3)),
    "definition written out": _each(_inlined),
    "definition elsewhere": _each(_moved),
    "definition that nothing reaches": _each(
        lambda t: t["inputSchema"].setdefault("$defs", {}).update(Unused={"type": "null"})
    ),
    "open, said aloud": _of_schema(lambda s: s.update(additionalProperties=True)),
    "required in another order": _each(lambda t: t["inputSchema"]["required"].reverse()),
    "nothing required, said aloud": _member("filter", lambda p: p.update(required=[])),
    "dialect": _each(lambda t: t["inputSchema"].update({"$schema": "https://json-schema.org/draft/2020-12/schema"})),
    "generated titles": _each(_titled),
    "tasks forbidden, as ever": _each(lambda t: t.update(execution={"taskSupport": "forbidden"})),
    "hint said aloud": _of_tool(lambda t: t["annotations"].update(idempotentHint=False)),
    "names are strings": _of_schema(lambda s: s.update(propertyNames={"type": "string"})),
    "default of what must be given": _of_schema(
        lambda s: s["required"].append("force") if "force" in s["properties"] else None
    ),
    "capability that is off": _of_server(lambda v: v["capabilities"]["prompts"].update(listChanged=False)),
}  # fmt: skip
