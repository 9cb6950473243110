"""How far a project has come with each bundle: its high-water marks, so that nobody brings an older one back.

One copy lies in the state folder and one with the witness, outside the project. A mark says the last number of a bundle
that was accepted and the digest of its content. Where no copy is, the first bundle is trusted and noted; where one is
lost or altered, nothing is accepted until a person says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tipstaff.documents.strict_json import canonical, loads
from tipstaff.errors import ContractError, DecisionError
from tipstaff.files import locked, private_folder, read_regular, remove_leftovers, write_atomically
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.identity import LARGEST
from tipstaff.pdp.places import witness_folder
from tipstaff.pdp.source import SHIPPED

_PEM = re.compile(r"-----BEGIN PUBLIC KEY-----(.*?)-----END PUBLIC KEY-----", re.DOTALL)
# A larger step than this is an accident, or somebody who wants to shut out what comes next. No policy chooses
# it: which bundle may speak is settled before one does.
STEP = 1_000_000
_LIMIT = 1 << 20
_LOCK_S = 30.0
_ACCEPT = "look at what lies there; then a person runs `tipstaff policy accept`"


@dataclass(frozen=True)
class Mark:
    """A bundle's number, and the SHA-256 of its content."""

    sequence: int
    digest: str


class Marks:
    """The marks of one project, by state folder. Methods raise ``DecisionError``.

    ``bundle.mark_lost`` where a copy is missing, torn, or another's; ``bundle.mark_unwritable`` where a new mark cannot
    be kept.
    """

    def __init__(self, state: Path) -> None:
        self._place = os.path.realpath(state)
        self.file = state / "bundles" / "marks.json"
        self.witness = self._witness(self._place)
        self._lock = self.file.with_name("lock")

    def accept(self, bundle: Bundle) -> bool:
        """Hold the bundle against its mark, and move the mark up to it; whether it moved.

        Raises ``bundle.rollback``, ``bundle.revision_reused`` or ``bundle.fast_forward``. What a checkout builds of its
        own source has the number 0 and no mark, so that editing back and forth works.
        """
        if self._agrees(bundle, self.read()):
            return False
        with self._writing():
            marks = self._read()
            if self._agrees(bundle, marks):
                return False
            self._write({**marks, _name(bundle): Mark(bundle.sequence, bundle.digest)})
        return True

    def judge(self, bundle: Bundle) -> None:
        """Raise as ``accept`` would, and move nothing."""
        self._agrees(bundle, self.read())

    def reset(self, bundles: tuple[Bundle, ...]) -> None:
        """Begin anew from these bundles, whatever the copies say; a person's decision."""
        marks = {
            _name(bundle): Mark(bundle.sequence, bundle.digest)
            for bundle in bundles
            if not _is_unnumbered(bundle)
        }
        with self._writing():
            self._write(marks)

    def highest(self, bundle_name: str) -> int:
        """The highest number accepted for bundles of this name, by whomever signed; 0 where none was."""
        prefix = f"{bundle_name}:"
        found = [mark.sequence for name, mark in self.read().items() if name.startswith(prefix)]
        return max(found, default=0)

    def read(self) -> dict[str, Mark]:
        """The marks by bundle name and signer, both copies being sound; none where nothing was accepted yet."""
        try:
            return self._read()
        except DecisionError as lost:
            if not self._lock.exists():
                raise
            return self._read_alone(lost)

    def _read_alone(self, lost: DecisionError) -> dict[str, Mark]:
        """The marks while nobody writes, who may have been between the two copies."""
        try:
            with self._writing():
                return self._read()
        except DecisionError as error:
            raise (lost if error.code == "bundle.mark_unwritable" else error) from error

    def _read(self) -> dict[str, Mark]:
        own, seen = _load(self.file), _load(self.witness)
        if seen is None and not (own and own[1]):
            return {}
        if own is None:
            _lost(self.file, "the state folder's copy is missing")
        place, marks = own
        if seen is None and place != self._place:
            # The project was moved or copied with its state: its marks come along, if the witness knows them.
            seen = _load(self._witness(place))
            seen = (self._place, seen[1]) if seen else None
        elif place != self._place:
            _lost(self.file, f"it belongs to {place}")
        if seen is None:
            _lost(self.witness, "the witness's copy is missing")
        if seen[0] != self._place:
            _lost(self.witness, f"it belongs to {seen[0]}")
        return self._joined(marks, seen[1])

    def _joined(self, own: dict[str, Mark], seen: dict[str, Mark]) -> dict[str, Mark]:
        """The witness is written first, so its copy may be ahead after a crash, and never behind."""
        for name, mark in own.items():
            known = seen.get(name)
            if known is None or known.sequence < mark.sequence:
                _lost(self.witness, f"the witness's mark of {name} is behind")
            if known.sequence == mark.sequence and known.digest != mark.digest:
                _lost(self.file, f"the two copies differ on {name}")
        return seen

    def _agrees(self, bundle: Bundle, marks: dict[str, Mark]) -> bool:
        """Whether the mark stands at this bundle already; raises where the bundle may not follow it."""
        mark = marks.get(_name(bundle))
        if bundle.sequence > LARGEST:
            _refuse("bundle.fast_forward", bundle, f"its number is larger than {LARGEST}")
        if mark is None:
            return _is_unnumbered(bundle)
        if bundle.sequence < mark.sequence:
            _refuse("bundle.rollback", bundle, f"number {mark.sequence} was accepted before")
        if bundle.sequence > mark.sequence + STEP:
            _refuse("bundle.fast_forward", bundle, f"that is over {STEP} past {mark.sequence}")
        if bundle.sequence == mark.sequence and bundle.digest != mark.digest:
            _refuse("bundle.revision_reused", bundle, "another content was accepted under it")
        return bundle.sequence == mark.sequence

    def _document(self, marks: dict[str, Mark]) -> bytes:
        body = {name: [mark.sequence, mark.digest] for name, mark in marks.items()}
        document = {"schema_version": 1, "place": self._place, "marks": body}
        return canonical({**document, "sha256": _digest(document)}) + b"\n"

    def _write(self, marks: dict[str, Mark]) -> None:
        if not self.file.exists():
            # A crash between the first two copies must not look like a copy that somebody took away.
            write_atomically(self.file, self._document({}))
        for file in (self.witness, self.file):
            remove_leftovers(file)
            write_atomically(file, self._document(marks))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            private_folder(self.file.parent)
            with locked(self._lock, timeout_s=_LOCK_S):
                yield
        except OSError as error:
            raise DecisionError(
                "bundle.mark_unwritable",
                f"the mark of an accepted bundle can't be kept: {error.strerror or error}",
                file=str(self.file),
                fix="make the state folder and the user's own state writable",
            ) from error

    @staticmethod
    def _witness(place: str) -> Path:
        name = hashlib.sha256(place.encode()).hexdigest()[:32]
        return witness_folder() / "bundles" / f"{name}.json"


def _load(file: Path) -> tuple[str, dict[str, Mark]] | None:
    try:
        data = read_regular(file, limit=_LIMIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        _lost(file, error.strerror or str(error))
    try:
        document = loads(data)
        digest = document.pop("sha256")
        marks = {name: _mark(*values) for name, values in document["marks"].items()}
        if digest != _digest(document) or document["schema_version"] != 1:
            raise ValueError("it is not what was written")
        return str(document["place"]), marks
    except (ContractError, ValueError, TypeError, KeyError, AttributeError) as error:
        _lost(file, str(error))


def _mark(sequence: int, digest: str) -> Mark:
    if type(sequence) is not int or not isinstance(digest, str):
        raise TypeError("a mark is no number with a digest")
    return Mark(sequence, digest)


def _digest(document: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _name(bundle: Bundle) -> str:
    """The bundle's name and its signer: the key itself, however its PEM is spelt."""
    found = _PEM.search(bundle.public_key)
    key = "".join((found[1] if found else bundle.public_key).split())
    return f"{bundle.name}:{hashlib.sha256(key.encode()).hexdigest()}"


def _is_unnumbered(bundle: Bundle) -> bool:
    return bundle.name == SHIPPED and bundle.sequence == 0


def _refuse(code: str, bundle: Bundle, why: str) -> NoReturn:
    raise DecisionError(
        code,
        f"bundle {bundle.name} is {bundle.revision}, and {why}",
        file=str(bundle.file),
        fix="restore the current bundle, or run `tipstaff policy sign`: it issues the folder under the next number",
    )


def _lost(file: Path, why: str) -> NoReturn:
    raise DecisionError(
        "bundle.mark_lost",
        f"which bundles were accepted here is not known: {why}",
        file=str(file),
        fix=_ACCEPT,
    )
