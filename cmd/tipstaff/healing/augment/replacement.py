"""What the change makes of the skill: the block's prose gives way to one sentence that calls the script."""

from __future__ import annotations

from tipstaff.documents.augment import OutsideFacts
from tipstaff.errors import ContractError
from tipstaff.healing.augment.blocks import Block, scan
from tipstaff.healing.augment.candidate import FOLDER, Candidate

INERT = b'raise SystemExit("this script does nothing")\n'
_CALL = "Run `python3 {script}` with the input on standard input. What it prints is the result.\n"


def call_of(block: Block, candidate: Candidate) -> bytes:
    """The new text between the markers, with the line ends of the file."""
    text = _CALL.format(script=f"{FOLDER}/{candidate.name}").encode("ascii")
    return text.replace(b"\n", _newline(block))


def replaced(block: Block, candidate: Candidate) -> bytes:
    """The whole file with the block's prose replaced, and the block marked as a script's."""
    marker = f"<!-- tipstaff:block id={block.id} class=script -->".encode() + _newline(block)
    return b"".join((block.before, marker, call_of(block, candidate), block.end, block.after))


def outside(block: Block, patched: bytes | None, *, file: str) -> OutsideFacts | None:
    """Digests of the text around the block before and after; None where the block is no longer to be found."""
    try:
        found = {each.id: each for each in scan(patched or b"", file=file)}
    except ContractError:
        return None
    if block.id not in found:
        return None
    return OutsideFacts(
        before_sha256=block.outside_sha256, after_sha256=found[block.id].outside_sha256
    )


def _newline(block: Block) -> bytes:
    return b"\r\n" if block.start.endswith(b"\r\n") else b"\n"
