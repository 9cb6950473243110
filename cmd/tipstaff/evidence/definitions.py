"""Whether a change touches a definition that exists: false only where that is certain, None where it cannot be told.

Nothing of the change is executed. Documents too large or nested too deep to compare are answered with None.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from tipstaff.errors import ContractError

MAX_BYTES = 256 << 10
_PROSE = frozenset({"markdown", "text"})


class Undecidable(Exception):
    """A reader met something whose meaning it cannot tell."""


def touches_existing(
    language: str | None, base: bytes, new: bytes, *, additions_only: bool
) -> bool | None:
    """Whether the new version of a file changes, rebinds or removes anything that the base version defines."""
    if base == new:
        return False
    if language in _PROSE:
        return not additions_only
    reader = _READERS.get(language or "")
    if reader is None or max(len(base), len(new)) > MAX_BYTES:
        return None
    if language == "python" and not additions_only:
        return True
    try:
        return reader(base, new)
    except (Undecidable, RecursionError, MemoryError, ValueError):
        return None


def _python(base: bytes, new: bytes) -> bool | None:
    from tipstaff.evidence.python_definitions import rebinds

    return rebinds(base, new)


def _json(base: bytes, new: bytes) -> bool:
    from tipstaff.documents.strict_json import loads

    try:
        before, after = loads(base), loads(new)
    except ContractError as error:
        raise Undecidable(error.message) from error
    return _differs_beyond_new_keys(before, after)


def _yaml(base: bytes, new: bytes) -> bool:
    before, after = _load_yaml(base), _load_yaml(new)
    return _differs_beyond_new_keys(before, after)


def _differs_beyond_new_keys(before: Any, after: Any) -> bool:
    from deepdiff import DeepDiff

    # Without a threshold of 0 two mappings with few keys in common are reported as one changed value.
    found = DeepDiff(_tree(before), _tree(after), threshold_to_diff_deeper=0, verbose_level=1)
    return any(kind != "dictionary_item_added" for kind in found)


def _tree(value: Any) -> Any:
    """Mappings of text only: DeepDiff holds ``[0]`` and ``[False]`` for equal, and skips keys such as ``__x``."""
    if isinstance(value, dict):
        return {_text(key): _tree(item) for key, item in value.items()}
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{_text(key)}: {_text(item)}' for key, item in value.items()))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{type(value).__name__} {value!r}"


def _load_yaml(data: bytes) -> Any:
    import yaml

    class _StrictLoader(yaml.SafeLoader):
        """Plain values only: one document, no anchors, no tags, no key twice, no merge."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
                raise Undecidable("an anchor or an alias")
            if getattr(event, "tag", None) is not None:
                raise Undecidable("an explicit tag")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            # 1 and true are one key of a Python dict, so they count as one here.
            names = {key for key in keys if isinstance(key, Hashable)}
            if len(names) != len(keys) or any(key.value == "<<" for key, _ in node.value):
                raise Undecidable("a key twice, a merge key, or a key that is no plain value")
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(data, _StrictLoader)  # noqa: S506 - a SafeLoader, made stricter
    except yaml.YAMLError as error:
        raise Undecidable("not one plain YAML document") from error


_READERS: dict[str, Callable[[bytes, bytes], bool | None]] = {
    "json": _json,
    "python": _python,
    "yaml": _yaml,
}
