"""Mutants of a Rego file: each is the file with one small change that its tests should notice.

Operators are exchanged, literals changed, negations added and removed, members of collections, expressions and whole
rules taken away, ``some … in`` and ``every`` exchanged. Nothing here asks whether a mutant compiles.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tipstaff.authoring.rego_source import Module, Span, is_test, name
from tipstaff.pdp.syntax import Node

_OPERATORS = {
    "==": ("!=",),
    "!=": ("==",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "|": ("&",),
    "&": ("|",),
}
_COLLECTIONS = {"array": "[]", "set": "set()", "object": "{}"}
# The parts of a tree that are copies of others, or that name what is defined.
_UNSEEN = {"location", "ref", "annotations"}
_ADDED = "~"


@dataclass(frozen=True)
class Edit:
    """One change of a text: what is replaced, by what, and the name of the operator that does so.

    ``shown`` is what people are told was there and is there now, where the bare pieces would say little; ``place`` is
    where it stands, if that is not where the change begins.
    """

    start: int
    end: int
    after: str
    operator: str
    shown: tuple[str, str] | None = None
    place: int | None = None


@dataclass(frozen=True)
class Mutant:
    """A file with one change. ``id`` stays the same when lines move, and changes with the text of the rule.

    ``before`` and ``after`` are on one line; ``text`` is the whole file. ``line`` and ``column`` count from one.
    """

    id: str
    file: str
    line: int
    column: int
    operator: str
    where: str
    before: str
    after: str
    text: str


def of_module(module: Module) -> list[Mutant]:
    """All mutants of a file, in the order of its text; tests in it are left alone."""
    seen: Counter[str] = Counter()
    found: dict[tuple[int, int, str], Mutant] = {}
    for rule in module.rules:
        whole = module.span(rule)
        if is_test(rule) or whole is None:
            continue
        if rule.get("default"):
            whole = _to_the_end(module, rule, whole)
        for edit in _of_rule(module, rule, whole):
            place = (edit.start, edit.end, edit.after)
            if place not in found:
                where = ".".join((*module.package, name(rule)))
                found[place] = cut(module, edit, whole.text, where, seen)
    return sorted(found.values(), key=lambda one: (one.line, one.column))


def cut(module: Module, edit: Edit, context: str, where: str, seen: Counter[str]) -> Mutant:
    """Apply an edit. ``context`` is the text that the identity rests on; ``seen`` tells equal ones apart."""
    shown = edit.shown or (module.text[edit.start : edit.end], edit.after)
    before, after = map(_one_line, shown)
    key = json.dumps([where, _one_line(context), edit.operator, before, after])
    seen[key] += 1
    identity = hashlib.sha256(f"{key}{seen[key]}".encode()).hexdigest()[:12]
    line, column = module.line_and_column(edit.start if edit.place is None else edit.place)
    text = module.text[: edit.start] + edit.after + module.text[edit.end :]
    return Mutant(identity, module.path, line, column, edit.operator, where, before, after, text)


def of_terms(module: Module, node: Any, *, is_member: bool = False) -> Iterator[Edit]:
    """The edits of an expression or a term and all in it; a member itself is only taken away."""
    if isinstance(node, list):
        for item in node:
            yield from of_terms(module, item)
        return
    if not isinstance(node, dict) or node.get("generated"):
        return
    if not is_member:
        yield from _literal(module, node)
    yield from _operator(module, node)
    if node.get("type") in _COLLECTIONS:
        yield from members_dropped(module, node)
        yield from _in_members(module, node)
        return
    if "terms" in node:
        yield from _expression(module, node)
    if isinstance(node.get("body"), list):
        yield from _body(module, node["body"])
    for key, value in node.items():
        if key not in _UNSEEN:
            yield from of_terms(module, value)


def _in_members(module: Module, node: Node) -> Iterator[Edit]:
    for item in node["value"]:
        if node["type"] == "object":
            yield from of_terms(module, item[1])
        else:
            yield from of_terms(module, item, is_member=True)


def _of_rule(module: Module, rule: Node, whole: Span) -> Iterator[Edit]:
    if rule.get("default"):
        yield Edit(whole.start, whole.end, "", "default removed")
        yield from of_terms(module, rule["head"].get("value"))
        return
    branch: Node | None = rule
    while branch:
        yield from _never(module, branch)
        yield from of_terms(module, branch["head"])
        yield from _body(module, branch.get("body", []))
        yield from of_terms(module, branch.get("body", []))
        branch = branch.get("else")


def _to_the_end(module: Module, rule: Node, whole: Span) -> Span:
    """A default's own location is its keyword only."""
    head = module.span(rule["head"])
    end = head.end if head else whole.end
    return Span(whole.start, end, module.text[whole.start : end])


def _never(module: Module, rule: Node) -> Iterator[Edit]:
    """The rule, or one branch of it, taken away: it stands there, and never holds."""
    spans, head = _spans(module, rule.get("body", [])), module.span(rule["head"])
    if head is None:
        return
    shown = (head.text, "")
    if spans:
        start, end = spans[0].start, spans[-1].end
        after = _block(module, start, f"false; {module.text[start:end]}")
        yield Edit(start, end, after, "rule deleted", shown, head.start)
    else:
        yield Edit(head.start, head.end, f"{head.text} if false", "rule deleted", shown)


def _body(module: Module, body: list[Node]) -> Iterator[Edit]:
    """Each expression of a body taken away; for the only one, `true` takes its place."""
    spans = _spans(module, body)
    written = [node for node in body if not node.get("generated") and module.span(node)]
    for number, span in enumerate(spans):
        if _only_declares(written[number]):
            continue
        if len(spans) == 1:
            yield Edit(span.start, span.end, "true", "expression deleted")
        elif number + 1 < len(spans):
            end = spans[number + 1].start
            yield Edit(span.start, end, "", "expression deleted", (span.text, ""))
        else:
            start, shown = spans[number - 1].end, (span.text, "")
            yield Edit(start, span.end, "", "expression deleted", shown, span.start)
    for node, span, rest in zip(written, spans, [*spans[1:], None], strict=False):
        symbols = node["terms"].get("symbols") if isinstance(node["terms"], dict) else None
        told = module.span(symbols[0]) if symbols and rest else None
        if told and rest and symbols and symbols[0]["type"] == "call":
            inner = module.text[rest.start : spans[-1].end]
            after = f"every {told.text} {{\n{inner}\n}}"
            yield Edit(span.start, spans[-1].end, after, "some to every")


def _only_declares(node: Node) -> bool:
    """Whether it is `some x` without `in`: where no rule has that name, nothing changes without it."""
    terms = node["terms"]
    return isinstance(terms, dict) and all(
        one["type"] == "var" for one in terms.get("symbols", [{"type": ""}])
    )


def _expression(module: Module, node: Node) -> Iterator[Edit]:
    span = module.span(node)
    if span is None:
        return
    if node.get("negated"):
        rest = span.text.removeprefix("not").lstrip()
        end = span.end - len(rest)
        yield Edit(span.start, end, "", "negation removed", (span.text, rest))
        return
    terms = node["terms"]
    if not isinstance(terms, dict) or "location" not in terms or "type" in terms:
        shown = (span.text, f"not {span.text}")
        yield Edit(span.start, span.start, "not ", "negation added", shown)
    elif "domain" in terms:
        yield from _every_to_some(module, span, terms)


def _every_to_some(module: Module, span: Span, every: Node) -> Iterator[Edit]:
    domain, inner = module.span(every["domain"]), _spans(module, every["body"])
    if domain and inner:
        head = module.text[span.start : domain.end].replace("every", "some", 1)
        after = f"{head}\n{module.text[inner[0].start : inner[-1].end]}"
        yield Edit(span.start, span.end, _block(module, span.start, after), "every to some")


def _operator(module: Module, node: Node) -> Iterator[Edit]:
    if node.get("type") != "ref":
        return
    span = module.span(node)
    for after in _OPERATORS.get(span.text, ()) if span else ():
        assert span is not None  # noqa: S101  narrows: there is nothing to go through without a span
        yield Edit(span.start, span.end, after, "operator")


def _literal(module: Module, node: Node) -> Iterator[Edit]:
    kind, span = node.get("type"), module.span(node)
    if span is None:
        return
    if kind == "boolean" and span.text in ("true", "false"):
        after = "false" if span.text == "true" else "true"
        yield Edit(span.start, span.end, after, "boolean")
    elif kind == "number" and isinstance(node["value"], int) and span.text == str(node["value"]):
        for value in (node["value"] + 1, node["value"] - 1):
            yield Edit(span.start, span.end, str(value), "number")
    elif kind == "string" and len(span.text) > 1 and span.text[0] in '"`':
        after = _ADDED + span.text[-1]
        shown = (span.text, span.text[:-1] + after)
        yield Edit(span.end - 1, span.end, after, "string", shown, span.start)


def members_dropped(module: Module, node: Node) -> Iterator[Edit]:
    """Each member of a collection taken away."""
    whole = module.span(node)
    members = sorted(
        (part for part in (_member(module, item) for item in node["value"]) if part),
        key=lambda part: part.start,
    )
    if whole is None or len(members) != len(node["value"]):
        return
    for number, member in enumerate(members):
        if len(members) == 1:
            yield Edit(whole.start, whole.end, _COLLECTIONS[node["type"]], "member dropped")
        elif number + 1 < len(members):
            end, shown = members[number + 1].start, (member.text, "")
            yield Edit(member.start, end, "", "member dropped", shown)
        else:
            start, shown = members[number - 1].end, (member.text, "")
            yield Edit(start, member.end, "", "member dropped", shown, member.start)


def _member(module: Module, item: Any) -> Span | None:
    if isinstance(item, dict):
        return module.span(item)
    key, value = (module.span(part) for part in item)
    return Span(key.start, value.end, module.text[key.start : value.end]) if key and value else None


def _spans(module: Module, body: list[Node]) -> list[Span]:
    found = (module.span(node) for node in body if not node.get("generated"))
    return [span for span in found if span]


def _block(module: Module, start: int, text: str) -> str:
    """Braces around what is more than one expression, where the body had none."""
    return f"{{ {text} }}" if module.text[:start].rstrip().endswith("if") else text


def _one_line(text: str) -> str:
    return " ".join(text.split())
