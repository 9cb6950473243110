"""Reading YAML so that a word is a word: YAML 1.2 booleans, no dates, no duplicate keys, one document."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tipstaff.errors import ContractError

if TYPE_CHECKING:
    import yaml


def load(path: Path) -> Any:
    """Parse one file; raises ``ContractError`` (``file.unreadable``, ``config.syntax``) naming file and line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(
            "file.unreadable", str(error), file=str(path), fix="make it a readable UTF-8 file"
        ) from error
    return loads(text, file=str(path))


def loads(text: str, *, file: str) -> Any:
    """Parse one document; ``file`` is its name in an error."""
    import yaml

    try:
        return yaml.load(text, Loader=_loader())  # noqa: S506 (a subclass of SafeLoader)
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


@cache
def _loader() -> type[yaml.SafeLoader]:
    import yaml

    class StrictLoader(yaml.SafeLoader):
        """YAML in which ``off`` is a word."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} appears twice", key.start_mark
                    )
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    StrictLoader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0].rsplit(":", 1)[1] not in ("bool", "timestamp")]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    StrictLoader.add_implicit_resolver(
        "tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), ["t", "f"]
    )
    return StrictLoader
