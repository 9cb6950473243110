"""Compiling a bundle with OPA, putting the result into the one form that is accepted, and signing that."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff import declared
from tipstaff.errors import ContractError
from tipstaff.pdp import archive, signing
from tipstaff.pdp.capabilities import FILE as CAPABILITIES
from tipstaff.pdp.identity import Identity
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.overlay_rules import demand_read
from tipstaff.pdp.shipped_rules import demand_whole
from tipstaff.pdp.source import OVERLAY, SHIPPED, Source
from tipstaff.pdp.syntax import lines

_JSON = frozenset({"data.json", ".manifest"})


def compile_signed(opa: Opa, source: Source, key: Path, identity: Identity) -> dict[str, bytes]:
    """The files of the signed bundle, each JSON document in the very bytes that the signature digests.

    Raises ``ContractError``: ``policy.invalid`` with OPA's text, ``bundle.entrypoint_missing``,
    ``bundle.entrypoint_default`` and ``bundle.data_missing`` for a bundle of ours that could not answer.
    """
    said = identity.document()
    with TemporaryDirectory(prefix="tipstaff-") as name:
        stage, out = Path(name, "stage"), Path(name, "out.tar.gz")
        lay_out(stage, source, identity)
        answer = opa.run(
            [
                "build",
                "--bundle",
                ".",
                "--capabilities",
                str(declared.folder("policy") / CAPABILITIES),
                "--output",
                str(out),
            ],
            cwd=stage,
        )
        if answer.returncode == 0:
            # A build lets rules and data claim one path; the engine that loads it does not.
            answer = opa.run(["eval", "--format", "raw", "--bundle", str(out), "true"])
        if answer.returncode != 0:
            raise _invalid(source, lines(answer.stdout + answer.stderr))
        files = _settle(out.read_bytes())
        if source.name == OVERLAY:
            demand_read(opa, stage, [path for path in source.files if path.endswith(".rego")])
        elif source.name == SHIPPED:
            demand_whole(opa, stage, source, json.loads(files["data.json"]))
    if json.loads(files["data.json"]).get(source.name, {}).get("bundle") != said:
        raise _invalid(source, f"data.{source.name}.bundle is reserved for the revision")
    files[signing.SIGNATURES] = signing.sign(files, key)
    return files


def lay_out(stage: Path, source: Source, identity: Identity) -> None:
    """Write what OPA builds or loads as a bundle: the source's files, its manifest and its identity.

    Raises ``ContractError`` (``policy.invalid``) where the source holds a file that the build writes.
    """
    said = identity.document()
    manifest = {"revision": identity.revision, "roots": [source.name], "metadata": said}
    added = {
        f"{source.name}/bundle/data.json": json.dumps(said).encode(),
        ".manifest": json.dumps(manifest).encode(),
    }
    if taken := added.keys() & source.files.keys():
        raise _invalid(source, f"{min(taken)} is written by the build")
    for path, content in (source.files | added).items():
        target = stage / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _settle(built: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(built)) as bundle:
        for entry in bundle:
            content = bundle.extractfile(entry)
            files[entry.name.lstrip("/")] = content.read() if content else b""
    for path in _JSON & files.keys():
        files[path] = archive.canonical(files[path])
    return files


def _invalid(source: Source, why: str) -> ContractError:
    return ContractError(
        "policy.invalid",
        why,
        file=str(source.folder),
        fix="correct the named file and line, then build again",
    )
