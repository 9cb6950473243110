"""The published JSON Schemas, as a reader of ours would use them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from tipstaff import declared


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of ``contracts/<name>.schema.json``."""
    schema = json.loads((declared.folder("contracts") / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def demand(name: str, document: Any) -> None:
    """Fail where the document does not validate."""
    errors = [
        f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(document)
    ]
    assert not errors


def accepts(name: str, document: Any) -> bool:
    """Whether the document validates."""
    return bool(validator(name).is_valid(document))
