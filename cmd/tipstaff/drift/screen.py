"""A contract as a person sees it before accepting it: rendered from what is digested, and no two render alike.

The text is JSON in one order, and reading it back gives the digest. A character stands as itself only where no reader
could take it for another one: whatever is invisible, combines, or looks like something else is an escape.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from functools import cache

from tipstaff.documents.contract import Snapshot
from tipstaff.drift.confusion import prototype

_NOT_ASCII = re.compile(r"[^\x00-\x7e]")
_SHOWN = ("L", "N", "P", "S")


def render(found: Snapshot) -> str:
    """The whole contract but for ``captured_at``, as lines; ASCII escapes are JSON's."""
    plain = found.model_dump(exclude={"captured_at"}, exclude_none=True)
    text = json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False)
    return unmistakable(text) + "\n"


def unmistakable(text: str) -> str:
    """A text in which a character that looks like another one is an escape, for what is shown beside a rendering."""
    return _NOT_ASCII.sub(lambda match: _shown(match[0]), text)


def difference(old: Snapshot | None, new: Snapshot) -> str:
    """What a person accepts: the whole rendering of a first contract, else the unified diff of both renderings."""
    if old is None:
        return render(new)
    before, after = (render(one).splitlines(keepends=True) for one in (old, new))
    return "".join(difflib.unified_diff(before, after, fromfile="committed", tofile="candidate"))


@cache
def _shown(character: str) -> str:
    is_plain = (
        unicodedata.category(character)[0] in _SHOWN
        and unicodedata.normalize("NFKC", character) == character
        and prototype(character) == character
    )
    return character if is_plain else json.dumps(character)[1:-1]
