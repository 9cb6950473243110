"""Issuing an overlay's next bundle: the number that follows, the file beside the folder, a copy that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tipstaff.errors import ContractError, DecisionError
from tipstaff.files import private_folder, read_regular, remove_leftovers, write_atomically
from tipstaff.pdp import archive
from tipstaff.pdp.bundle import Bundle, Issue, issue, load, overlay_file, public_key
from tipstaff.pdp.kept import Kept, keep, kept, place
from tipstaff.pdp.marks import Marks
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.places import held
from tipstaff.pdp.source import Source, read
from tipstaff.pdp.threshold import signatures_file

_LOCK_S = 60.0


@dataclass(frozen=True)
class Issuer:
    """What issues the bundles of one overlay: its folder and root, the private key file, the state folder."""

    opa: Opa
    folder: Path
    name: str
    key: Path
    state: Path

    @property
    def file(self) -> Path:
        """Where the bundle goes."""
        return overlay_file(self.folder)

    def sign(self, expires_at: str | None) -> tuple[Bundle, bool]:
        """The bundle of what the folder holds, and whether it is a new one.

        Where the bundle beside the folder holds the same and ends when it is to end, it stays. Raises ``ContractError``
        (``policy.invalid``, ``key.unreadable``, ``file.unwritable``).
        """
        source = read(self.folder, self.name)
        with self._alone():
            beside = self._beside()
            if beside and beside.source_digest == source.digest:
                if expires_at == beside.expires_at and beside.sequence >= self._highest():
                    return beside, False
            return self._put(source, Issue(self._next(), expires_at)), True

    def reissue(self, earlier: Kept, expires_at: str | None) -> Bundle:
        """Bring the content of an earlier bundle back under the next number; the folder stays as it is.

        Raises ``DecisionError`` (``bundle.signature``) where the kept file is not what this key signed.
        """
        with self._alone():
            old = load(earlier.file, self.name, public_key(self.key))
            files = archive.unpack(read_regular(earlier.file, limit=archive.MAX_BYTES))
            source = Source(
                self.folder,
                self.name,
                _source_files(files, self.name),
                old.source_digest,
                old.data_digest,
            )
            return self._put(source, Issue(self._next(), expires_at, old.reissues or old.revision))

    def _put(self, source: Source, as_issue: Issue) -> Bundle:
        data, bundle = issue(self.opa, source, key=self.key, out=self.file, as_issue=as_issue)
        for file in (self.file, signatures_file(self.file), place(self.state, bundle)):
            remove_leftovers(file)
        keep(self.state, bundle, data)
        signatures_file(self.file).unlink(missing_ok=True)  # they are on the bundle before
        write_atomically(self.file, data, mode=0o644)
        return bundle

    def _next(self) -> int:
        beside = self._beside()
        said = beside.sequence if beside else 0
        last = [one.sequence for one in kept(self.state, self.name)]
        return 1 + max(said, self._highest(), *last, 0)

    def _highest(self) -> int:
        try:
            return Marks(self.state).highest(self.name)
        except DecisionError:
            return 0  # the marks are lost; whoever accepts the bundle will say so

    def _beside(self) -> Bundle | None:
        try:
            return load(self.file, self.name, public_key(self.key))
        except DecisionError:
            return None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            private_folder(self.state / "bundles")
            with held(self.state / "bundles" / "issuing.lock", timeout_s=_LOCK_S):
                yield
        except OSError as error:
            raise ContractError(
                "file.unwritable",
                error.strerror or str(error),
                file=str(error.filename or self.file),
                fix="make the folder beside the overlay and the state folder writable",
            ) from error


def _source_files(files: dict[str, bytes], name: str) -> dict[str, bytes]:
    """What a bundle was built from: without what the build wrote."""
    data = archive.pruned(files["data.json"], name, "bundle")
    rego = {path: content for path, content in files.items() if path.endswith(".rego")}
    return {**rego, "data.json": data}
