"""What boots in a microVM: a kernel of the host's distribution, and our own init built from ``sandbox/guest/``.

The kernel is looked for in ``TIPSTAFF_GUEST_KERNEL``, in the managed cache (``guest/boot/vmlinuz-*``, as a
distribution's package unpacks) and in ``/boot``. Its modules lie where such a package has them, at
``../lib/modules/<release>`` from the kernel's folder; a kernel with everything built in needs none.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff import declared
from tipstaff.errors import SandboxError
from tipstaff.files import write_atomically
from tipstaff.pdp.places import cache_home, held
from tipstaff.sandbox.microvm import initramfs

KERNEL_VARIABLE = "TIPSTAFF_GUEST_KERNEL"
_BUILD_S = 300.0
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class Guest:
    """The files that a machine starts from."""

    kernel: Path
    initramfs: Path


def ensure() -> Guest:
    """Find the kernel, and build what else the guest needs unless it is there.

    Raises ``SandboxError`` (``sandbox.unavailable``) that names what is missing.
    """
    kernel = find_kernel()
    if kernel is None:
        raise SandboxError(
            "sandbox.unavailable",
            f"there is no kernel for a guest: {KERNEL_VARIABLE} names none, and none lies in "
            f"{cache_home() / 'guest/boot'} or as a cloud kernel in /boot",
            fix=f"unpack linux-image-cloud-amd64 into {cache_home() / 'guest'}, or set {KERNEL_VARIABLE}",
        )
    home = cache_home() / "guest"
    target = home / f"initramfs-{_key(kernel)}"
    if not target.is_file():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with held(home / "initramfs.lock", timeout_s=_BUILD_S):
            if not target.is_file():
                write_atomically(target, _archive(kernel), mode=0o444)
    return Guest(kernel, target)


def find_kernel() -> Path | None:
    """The first kernel there is, the newest of a folder first."""
    named = os.environ.get(KERNEL_VARIABLE)
    if named:
        path = Path(named)
        return path.resolve() if path.is_file() else None
    ours = (cache_home() / "guest/boot").glob("vmlinu[xz]*")
    for group in (ours, Path("/boot").glob("vmlinuz-*cloud*")):
        found = [path.resolve() for path in sorted(group, key=_version) if path.is_file()]
        if found:
            return found[-1]
    return None


def build_init(source: Path) -> bytes:
    """Compile the guest's program, the same bytes for the same source and Go; nothing is downloaded.

    Raises ``SandboxError`` where there is no Go or the build fails.
    """
    go = shutil.which("go")
    architecture = _ARCHITECTURES.get(platform.machine())
    if go is None or architecture is None:
        raise SandboxError(
            "sandbox.unavailable",
            f"the guest's init is not built, and there is no Go for {platform.machine()}",
            fix="install Go 1.24 or newer, once",
        )
    flags = ("-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=")
    with TemporaryDirectory(prefix="tipstaff-guest-") as name:
        program = Path(name) / "init"
        built = subprocess.run(
            [go, "build", *flags, "-o", str(program), "."],
            cwd=source,
            env={**_go_environment(name), "GOARCH": architecture},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_BUILD_S,
            check=False,
        )
        if built.returncode != 0:
            raise SandboxError(
                "sandbox.unavailable",
                f"the guest's init does not build: {built.stderr.decode(errors='replace')[-300:]}",
                fix="install Go 1.24 or newer",
            )
        return program.read_bytes()


def _go_environment(folder: str) -> dict[str, str]:
    kept = {
        key: os.environ[key] for key in ("PATH", "HOME", "GOROOT", "GOCACHE") if key in os.environ
    }
    return {
        "HOME": folder,
        **kept,
        "CGO_ENABLED": "0",
        "GOFLAGS": "",
        "GOOS": "linux",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _source() -> Path:
    return declared.folder("sandbox") / "guest"


def _source_files() -> Iterator[Path]:
    for path in sorted(_source().iterdir()):
        if path.name == "go.mod" or (path.suffix == ".go" and not path.name.endswith("_test.go")):
            yield path


def _key(kernel: Path) -> str:
    total = hashlib.sha256(platform.machine().encode())
    for path in _source_files():
        total.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    for module in initramfs.modules(_modules(kernel)).values():
        status = module.stat()
        total.update(f"{module}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return total.hexdigest()[:32]


def _archive(kernel: Path) -> bytes:
    modules = initramfs.modules(_modules(kernel))
    contents = {name: path.read_bytes() for name, path in modules.items()}
    return initramfs.archive(build_init(_source()), contents)


def _modules(kernel: Path) -> Path:
    release = kernel.name.partition("-")[2]
    return kernel.parent.parent / "lib/modules" / (release or "none")


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(path.name))
