"""The source of a bundle: Rego that is no test, and data, read once so that what is digested is what is built."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tipstaff.errors import ContractError
from tipstaff.files import read_regular

OVERLAY = "org"
SHIPPED = "tipstaff"
_MAX_BYTES = 16 << 20
_DATA = frozenset({"data.json", "data.yaml", "data.yml"})


@dataclass(frozen=True)
class Source:
    """The files of one root by relative path, with the digest of all of them and of the data among them."""

    folder: Path
    name: str
    files: dict[str, bytes]
    digest: str
    data_digest: str


def of(folder: Path, name: str, files: dict[str, bytes]) -> Source:
    """A source of these files; ``folder`` is what an error names."""
    data = _digest(files, (path for path in files if Path(path).name in _DATA))
    return Source(folder, name, files, _digest(files, files), data)


def read(folder: Path, name: str) -> Source:
    """Read the source of the bundle with root ``name``; folders whose name starts with a dot are not read.

    Raises ``ContractError`` (``policy.invalid``) for links, unreadable files, another root, or no Rego at all.
    """
    files: dict[str, bytes] = {}
    try:
        for path in sorted(folder.rglob("*")):
            relative = path.relative_to(folder)
            if any(part.startswith(".") for part in relative.parts):
                continue
            if path.is_symlink():
                raise _invalid(path, "a symbolic link; a bundle is built from plain files")
            if _belongs(path):
                files[relative.as_posix()] = read_regular(path, limit=_MAX_BYTES)
        _check_manifest(folder / ".manifest", name)
    except OSError as error:
        raise _invalid(folder, error.strerror or str(error)) from error
    if not any(path.endswith(".rego") for path in files):
        raise _invalid(folder, "no Rego here")
    return of(folder, name, files)


def _belongs(path: Path) -> bool:
    is_rego = path.name.endswith(".rego") and not path.name.endswith("_test.rego")
    return (is_rego or path.name in _DATA) and not path.is_dir()


def _check_manifest(manifest: Path, name: str) -> None:
    if not manifest.exists():
        return
    try:
        roots = json.loads(manifest.read_bytes()).get("roots")
    except (ValueError, AttributeError) as error:
        raise _invalid(manifest, f"not a manifest: {error}") from error
    if roots != [name]:
        raise _invalid(manifest, f"its roots must be exactly {json.dumps([name])}")


def _digest(files: dict[str, bytes], paths: Iterable[str]) -> str:
    hasher = hashlib.sha256()
    for path in sorted(paths):
        hasher.update(path.encode() + b"\0" + hashlib.sha256(files[path]).digest())
    return hasher.hexdigest()


def _invalid(path: Path, why: str) -> ContractError:
    return ContractError(
        "policy.invalid", why, file=str(path), fix="correct the policy folder, then build again"
    )
