"""A recorded decision asked again with facts changed: not recorded, and nothing can be carried out on it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from tipstaff import declared
from tipstaff.authoring.evaluation import Rules
from tipstaff.documents import strict_json
from tipstaff.documents.base import Json
from tipstaff.documents.input import parse_input
from tipstaff.documents.pointer import steps
from tipstaff.documents.verdict import Verdict
from tipstaff.engine.policy import Policy
from tipstaff.engine.question import complete
from tipstaff.errors import ContractError
from tipstaff.pdp.capabilities import FILE as CAPABILITIES
from tipstaff.pdp.opa import ensure
from tipstaff.project import Project

Path = tuple[str, ...]
_REPORT = "data.tipstaff.explanation.report"
_NEAR = 0.7
_COMPUTED = frozenset({"bundles", "decision_id", "judged_sha256"})


def current_rules(project: Project, say: Callable[[str], None]) -> Rules:
    """The project's bundles as decisions use them now; raises ``DecisionError`` where one is not trusted."""
    policy = Policy(project, say)
    files = tuple(bundle.file for bundle in policy.bundles())
    capabilities = declared.folder("policy") / CAPABILITIES
    return Rules("the current policy", ensure(say), files, policy.revisions(), capabilities)


def asked_now(rules: Rules, document: Json) -> Json:
    """The recorded document as it would be asked about now: the current revisions, and what approvals bind to."""
    context = {**document["context"], "bundles": rules.revisions}
    plain = {key: value for key, value in document.items() if key != "context"}
    return complete(parse_input(plain), context).document


def alternatives(rules: Rules, document: Json) -> Json | None:
    """What ``policy/tipstaff/explanation`` reports on a document from ``asked_now``; None where it says nothing."""
    report = rules.query(_REPORT, {"document": document})
    return report if isinstance(report, dict) else None


def what_if(
    rules: Rules, document: Json, changes: Sequence[str]
) -> tuple[Verdict, Verdict, list[Json]]:
    """The verdict now, the verdict with the changes (``FACT=VALUE``), and each change with what the fact was.

    Raises ``ContractError``: ``fact.unknown`` naming the nearest, ``fact.computed``, ``document.invalid`` naming the
    field that the value does not fit.
    """
    changed, done = document, []
    for change in changes:
        changed, one = _changed(changed, change)
        done.append(one)
    parse_input(changed)
    before, after = rules.verdicts([asked_now(rules, document), asked_now(rules, changed)])
    return before, after, done


def _changed(document: Json, change: str) -> tuple[Json, Json]:
    fact, equals, text = change.partition("=")
    path = _path(fact)
    if not equals or not fact:
        raise _refused("fact.unknown", fact, "a change is written FACT=VALUE", "name a fact")
    if path[0] == "context" and (len(path) == 1 or path[1] in _COMPUTED):
        raise _refused(
            "fact.computed", fact, "this is computed from the other facts", "change one of those"
        )
    _demand_known(parse_input(document).model_dump(by_alias=True), path, fact)
    new = copy.deepcopy(document)
    was = _put(new, path, _value(text), fact)
    return new, {"fact": ".".join(path), "was": was, "value": _value(text)}


def _path(fact: str) -> Path:
    if fact.startswith("/"):
        return tuple(steps(fact))
    return tuple(fact.split("."))


def _value(text: str) -> Any:
    """The JSON value that the text is, else the text itself."""
    try:
        return strict_json.loads(text.encode("utf-8", "surrogateescape"))
    except ContractError:
        return text


def _demand_known(full: Json, path: Path, fact: str) -> None:
    known = dict(_facts(full))
    if path in known:
        return
    # Below what is absent, the shape of the document says which facts there are.
    above = [path[:length] for length in range(1, len(path))]
    if any(known.get(part, ...) is None for part in above) or path[:2] == ("context", "config"):
        return
    names = [".".join(name) for name in known]
    close = get_close_matches(".".join(path), names, 1, _NEAR)
    fix = f"did you mean {close[0]}?" if close else "name a fact of those that `explain` shows"
    raise _refused("fact.unknown", fact, "the document has no such fact", fix)


def _facts(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    if at:
        yield at, value
    items = value if isinstance(value, dict) else {}
    if isinstance(value, list):
        items = dict(enumerate(value))
    for name, item in items.items():
        yield from _facts(item, (*at, str(name)))


def _put(document: Json, path: Path, value: Any, fact: str) -> Any:
    place: Any = document
    for name, following in zip(path, [*path[1:], None], strict=True):
        key: Any = int(name) if isinstance(place, list) else name
        if following is None:
            was = place[key] if isinstance(place, list) else place.get(key)
            place[key] = value
            return was
        if isinstance(place, dict) and place.get(key) is None:
            place[key] = {}
        place = place[key]
        if not isinstance(place, dict | list):
            break
    raise _refused("fact.unknown", fact, "the document has no such fact", "name a fact above it")


def _refused(code: str, fact: str, message: str, fix: str) -> ContractError:
    return ContractError(code, message, field=fact or None, fix=fix)
