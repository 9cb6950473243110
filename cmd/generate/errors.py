"""The reference of the codes that errors bear, from the registry in ``tipstaff.documents.codes``."""

from __future__ import annotations

from collections.abc import Iterator

from tipstaff.documents.codes import CODES, ERRORS

REFERENCE = "contracts/errors.md"
_HEAD = """# Codes of errors

What an error says when a command fails, on standard error or, with `--json`, in `error.code`. `audit verify` and
`check` give some of them as findings. Each error also says what to do, about the very file or field that it names.
The codes of reasons in a verdict are in [policy/README.md](../policy/README.md); those that begin with `engine.` are
errors as well where there is no verdict to put them into.

| Code | What happened |
|---|---|
"""


def render() -> Iterator[tuple[str, str]]:
    """The file's path from the repository's root, and its text."""
    engine = {
        code: meaning.message for code, meaning in CODES.items() if code.startswith("engine.")
    }
    rows = [f"| `{code}` | {meaning} |\n" for code, meaning in sorted({**ERRORS, **engine}.items())]
    yield REFERENCE, _HEAD + "".join(rows)
