"""The source of a bundle: Rego that is no test, and data, read once so that what is digested is what is built."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tipstaff.errors import ContractError
from tipstaff.files import read_regular

OVERLAY = "org"
SHIPPED = "tipstaff"
_MAX_BYTES = 16 << 20
_MAX_NESTING = 64
POLICY_FILES = frozenset({".rego", ".json", ".yaml", ".yml", ".toml"})
# Texts and comments as wholes, so that what is in them is not counted as structure.
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`|#[^\n]*|[][(){}]')
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
        for path in plain_files(folder):
            if _belongs(path):
                files[path.relative_to(folder).as_posix()] = read_regular(path, limit=_MAX_BYTES)
        _check_manifest(folder / ".manifest", name)
    except OSError as error:
        raise _invalid(folder, error.strerror or str(error)) from error
    if not any(path.endswith(".rego") for path in files):
        raise _invalid(folder, "no Rego here")
    return of(folder, name, files)


def plain_files(folder: Path) -> Iterator[Path]:
    """The files below a policy folder in order, without those in folders whose name starts with a dot.

    Raises ``ContractError`` (``policy.invalid``) for a link, a pipe or a device: OPA would follow or wait for it.
    """
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        kind = path.lstat().st_mode
        if stat.S_ISREG(kind):
            yield path
        elif not stat.S_ISDIR(kind):
            what = "a symbolic link" if stat.S_ISLNK(kind) else "a pipe, socket or device"
            raise _invalid(path, f"{what}; a bundle is built from plain files")


def demand_readable(folder: Path) -> None:
    """Raise ``ContractError`` (``policy.invalid``) for what OPA or a reader of its trees cannot get through.

    That is what is no plain file, a file that is too large, and brackets nested deeper than rules ever are.
    """
    try:
        for path in plain_files(folder):
            if path.suffix in POLICY_FILES:
                text = read_regular(path, limit=_MAX_BYTES).decode("utf-8", "replace")
                if _nesting(text) > _MAX_NESTING:
                    raise _invalid(path, f"nested deeper than {_MAX_NESTING} levels")
    except OSError as error:
        raise _invalid(folder, error.strerror or str(error)) from error


def _nesting(text: str) -> int:
    depth = deepest = 0
    for piece in _BRACKETS.findall(text):
        if piece[0] == "#":
            deepest = max(deepest, piece.count("[") + piece.count("{"))
        elif piece in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif piece in ")]}":
            depth -= 1
    return deepest


def _belongs(path: Path) -> bool:
    is_rego = path.name.endswith(".rego") and not path.name.endswith("_test.rego")
    return is_rego or path.name in _DATA


def _check_manifest(manifest: Path, name: str) -> None:
    if not manifest.exists():
        return
    try:
        roots = json.loads(read_regular(manifest, limit=_MAX_BYTES)).get("roots")
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
