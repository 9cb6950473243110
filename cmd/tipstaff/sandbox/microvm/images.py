"""Read-only drives for a guest: squashfs images of what a run sees of the host, made once for each content.

An image is known by the names, kinds, modes, sizes and times of what is in it; the input folder's is made for each run
and kept for none. Owners do not count: inside, everything belongs to root, or to the job's own user where the files
are this user's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from tipstaff.documents.text import visible as shown
from tipstaff.errors import SandboxError
from tipstaff.pdp.places import cache_home, held
from tipstaff.sandbox import identity, layout
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.microvm.started import BOUND_TO_US

TOOL = "mksquashfs"
HEAD_BYTES = 96
_FORMAT = "squashfs-lz4-1"
_BUILD_S = 1800.0
_INPUT_S = 120.0
_UNUSED_S = timedelta(weeks=1).total_seconds()
_MAKING = ".making-"
_SUFFIX = ".squashfs"


@dataclass(frozen=True)
class Place:
    """A path in an image, and where the job sees it."""

    source: str
    target: str


@dataclass(frozen=True)
class Drive:
    """An image, and what of it is seen where."""

    image: Path
    places: tuple[Place, ...]

    def head(self) -> bytes:
        """What the guest knows the drive by: machines number their drives in ways of their own."""
        with self.image.open("rb") as file:
            return file.read(HEAD_BYTES)


def folder() -> Path:
    """Where images are kept."""
    return cache_home() / "guest" / "images"


def drives(spec: RunSpec, sources: Mapping[Path, Path], scratch: Path) -> tuple[Drive, ...]:
    """Every drive of a run. ``sources`` says where else a host path is to be taken from.

    The input's image is made in ``scratch``. Raises ``SandboxError`` if one cannot be made.
    """
    found = [_system(tuple(spec.profile.system_paths))]
    found += [_single(path, sources.get(path, path)) for path in layout.visible(spec)]
    work = sources.get(spec.workdir, spec.workdir)
    image = scratch / f"input{_SUFFIX}"
    with _workplace(scratch) as place:
        _make([work], place, image, limit_s=_INPUT_S, keep_paths=False)
    found.append(Drive(image, (Place("/", spec.work),)))
    return tuple(found)


def fingerprint(paths: Sequence[Path]) -> str:
    """A digest of every name, kind, mode, size, time and link at and below the paths, which are told apart by order."""
    total = hashlib.sha256(_FORMAT.encode())
    for number, path in enumerate(paths):
        total.update(b"%d\n" % number)
        for line in _facts(str(path), b"."):
            total.update(line)
    return total.hexdigest()


def _facts(path: str, name: bytes) -> Iterator[bytes]:
    status = os.lstat(path)
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        yield b"%s\0%o\n" % (name, mode)
        with suppress(PermissionError), os.scandir(path) as entries:
            for entry in sorted(entries, key=lambda found: found.name):
                yield from _facts(entry.path, name + b"/" + os.fsencode(entry.name))
        return
    link = os.fsencode(os.readlink(path)) if stat.S_ISLNK(mode) else b""
    yield b"%s\0%o\0%d\0%d\0%s\n" % (name, mode, status.st_size, status.st_mtime_ns, link)


@cache
def _system(paths: tuple[str, ...]) -> Drive:
    # Once a process, as the probe: to look at every file of a system takes a second.
    there = [Path(path) for path in paths if os.path.lexists(path)]
    outermost = [
        path for path in there if not any(other in path.parents for other in there if other != path)
    ]
    label = hashlib.sha256("\0".join(map(str, outermost)).encode()).hexdigest()[:12]
    image = _kept(outermost, f"system-{label}", keep_paths=True)
    return Drive(image, tuple(Place(str(path), str(path)) for path in outermost))


def _single(path: Path, source: Path) -> Drive:
    label = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    if source.is_dir() and not source.is_symlink():
        return Drive(_kept([source], f"path-{label}", keep_paths=False), (Place("/", str(path)),))
    name = hashlib.sha256(source.name.encode()).hexdigest()[:8]
    image = _kept([source], f"file-{label}-{name}", keep_paths=False)
    return Drive(image, (Place(f"/{source.name}", str(path)),))


def _kept(paths: Sequence[Path], label: str, *, keep_paths: bool) -> Path:
    kept = folder()
    image = kept / f"{label}-{fingerprint(paths)[:32]}{_SUFFIX}"
    with suppress(FileNotFoundError):
        os.utime(image)
        return image
    kept.mkdir(parents=True, exist_ok=True, mode=0o700)
    with held(kept / "lock", timeout_s=_BUILD_S):
        for left in kept.glob(f"{_MAKING}*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        if not image.exists():
            with _workplace(kept) as place:
                _make(paths, place, image, limit_s=_BUILD_S, keep_paths=keep_paths)
            _forget(kept, label, image)
    return image


def _forget(kept: Path, label: str, newest: Path) -> None:
    """Remove what a new image replaces, and what nobody used for a week."""
    for image in kept.glob(f"*{_SUFFIX}"):
        with suppress(OSError):
            unused = time.time() - image.stat().st_mtime > _UNUSED_S
            if image != newest and (unused or image.name.startswith(f"{label}-")):
                image.unlink()


@contextmanager
def _workplace(parent: Path) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(dir=parent, prefix=_MAKING))
    if identity.is_real_root():
        os.chown(place, identity.NOBODY, identity.NOBODY)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def arguments(
    paths: Sequence[Path | str], image: str, *, keep_paths: bool, owned: bool
) -> list[str]:
    """The command that makes an image. ``owned``: its files are the job's own user's, not root's."""
    owner = ("-force-uid", str(identity.NOBODY), "-force-gid", str(identity.NOBODY))
    return [
        TOOL,
        *map(str, paths),
        image,
        *(("-no-strip",) if keep_paths else ()),
        *("-comp", "lz4", "-noI", "-noX", "-no-xattrs", "-noappend", "-no-recovery"),
        *(owner if owned else ("-all-root",)),
        *("-quiet", "-no-progress"),
    ]


def _make(
    paths: Sequence[Path], place: Path, image: Path, *, limit_s: float, keep_paths: bool
) -> None:
    if shutil.which(TOOL) is None:
        raise SandboxError(
            "sandbox.unavailable",
            f"{TOOL} is not installed, and a guest's drives are made with it",
            fix="install squashfs-tools",
        )
    owned = image.name.startswith("input") or not identity.is_real_root()
    (place / "nothing").mkdir()
    line = arguments(
        paths or ["nothing"], "image", keep_paths=keep_paths and bool(paths), owned=owned
    )
    try:
        made = subprocess.run(
            [*BOUND_TO_US, *line],
            cwd=place,  # entered before the right to is dropped, so it need not be reachable
            env={"PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
            **identity.dropped(),
        )
    except subprocess.TimeoutExpired as error:
        raise _refusal(paths, f"not made in {limit_s:g} s") from error
    if made.returncode != 0 or not (place / "image").is_file():
        words = made.stderr.decode("utf-8", "replace").strip()[-300:]
        raise _refusal(paths, f"{TOOL} ended with {made.returncode}: {shown(words)}")
    if identity.is_real_root():
        os.chown(place / "image", 0, 0)
    (place / "image").chmod(0o444)
    os.replace(place / "image", image)


def _refusal(paths: Sequence[Path], complaint: str) -> SandboxError:
    return SandboxError(
        "sandbox.setup",
        f"no drive can be made of {', '.join(map(str, paths[:3]))}: {complaint}",
        fix="free disk space in the cache folder and TMPDIR, and make the paths readable",
    )
