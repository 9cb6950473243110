"""Reading YAML so that a word is a word: YAML 1.2 booleans and integers, and one document.

Neither dates nor duplicate keys, and nothing that makes the text mean another than it shows: no anchor, alias, tag,
merge key or control character.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tipstaff.errors import ContractError
from tipstaff.files import read_named

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 1 << 20
_INTEGER = re.compile(r"^(?:0|-?[1-9][0-9]{0,14}|0x[0-9a-fA-F]{1,12})$")
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_UNPLAIN = frozenset({"bool", "int", "merge", "timestamp"})


def load(path: Path) -> Any:
    """Parse one file; raises ``ContractError`` (``file.unreadable``, ``config.syntax``) naming file and line."""
    return loads(read(path), file=str(path))


def read(path: Path) -> bytes:
    """The bytes of a regular file of at most 1 MiB; raises ``ContractError`` (``file.unreadable``)."""
    try:
        return read_named(path, limit=MAX_BYTES)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error


def loads(data: bytes, *, file: str) -> Any:
    """Parse one document; ``file`` is its name in an error."""
    import yaml

    try:
        return yaml.load(data.decode("utf-8-sig"), Loader=_loader())  # noqa: S506 (a subclass of SafeLoader)
    except UnicodeDecodeError as error:
        raise _unreadable(file, f"not UTF-8 at byte {error.start}") from error
    except yaml.YAMLError as error:
        raise ContractError(
            "config.syntax",
            " ".join(str(error).replace('in "<unicode string>", ', "at ").split()),
            file=file,
            fix="correct the YAML at the named line",
        ) from error
    except RecursionError as error:
        raise ContractError(
            "config.syntax", "nested too deeply", file=file, fix="write it flatter"
        ) from error


def _unreadable(file: str | Path, why: str) -> ContractError:
    return ContractError(
        "file.unreadable", why, file=str(file), fix="make it a readable UTF-8 file"
    )


def _unplain(event: Any) -> str | None:
    """Why a part of the text is not read; the parser's events have an anchor (an alias always), a tag, a value."""
    if event.anchor is not None:
        return "anchors and aliases are not read"
    if getattr(event, "tag", None) is not None:
        return "tags are not read"
    if _HIDDEN.search(getattr(event, "value", "")):
        return "a control character or half of a surrogate pair"
    return None


@cache
def _loader() -> type[yaml.SafeLoader]:
    import yaml

    class StrictLoader(yaml.SafeLoader):
        """YAML in which ``off`` is a word."""

        def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            why = _unplain(event)
            if why is not None:
                raise _refusal(why, event)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise _refusal("a key must be a word", key)
                if key.value in seen:
                    raise _refusal(f"the key {key.value!r} appears twice", key)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    def _refusal(why: str, at: Any) -> yaml.YAMLError:
        return yaml.constructor.ConstructorError(None, None, why, at.start_mark)

    StrictLoader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0].rsplit(":", 1)[1] not in _UNPLAIN]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for name, shape, first in (
        ("bool", re.compile(r"^(?:true|false)$"), "tf"),
        ("int", _INTEGER, "-0123456789"),
    ):
        StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", shape, list(first))
    return StrictLoader
