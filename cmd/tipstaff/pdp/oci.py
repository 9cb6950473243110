"""A bundle as an OCI image layout, in the media types that OPA asks a registry for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tipstaff.errors import ContractError
from tipstaff.files import write_atomically
from tipstaff.pdp.bundle import Bundle, content

_INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def write_layout(folder: Path, bundle: Bundle) -> str:
    """Write the layout, or add the bundle to one; returns the digest of its image manifest.

    The image is tagged with the bundle's name, which moves to the last one written. Raises ``ContractError``
    (``file.unwritable``).
    """
    data = content(bundle)
    config = _bytes(
        {"architecture": "unknown", "os": "unknown", "rootfs": {"type": "layers", "diff_ids": []}}
    )
    manifest = _bytes(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [_descriptor(_LAYER, data)],
            "annotations": {"org.opencontainers.image.revision": bundle.revision},
        }
    )
    try:
        for blob in (data, config, manifest):
            write_atomically(folder / "blobs" / "sha256" / _hex(blob), blob, mode=0o644)
        write_atomically(folder / "oci-layout", _bytes({"imageLayoutVersion": "1.0.0"}), mode=0o644)
        tag = {"org.opencontainers.image.ref.name": bundle.name}
        entry = {**_descriptor(_MANIFEST, manifest), "annotations": tag}
        others = [one for one in _entries(folder / "index.json") if one.get("annotations") != tag]
        index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [*others, entry]}
        write_atomically(folder / "index.json", _bytes(index), mode=0o644)
    except OSError as error:
        raise ContractError(
            "file.unwritable",
            error.strerror or str(error),
            file=str(folder),
            fix="name a folder that can be written",
        ) from error
    return f"sha256:{_hex(manifest)}"


def _entries(index: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads(index.read_bytes())["manifests"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return []


def _descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{_hex(data)}", "size": len(data)}


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
