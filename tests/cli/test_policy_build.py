"""Building a bundle to a named file, by the command line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from support.workshop import Workshop


def test_layout_holds_the_bundle_that_was_built(workshop: Workshop, tmp_path: Path) -> None:
    out, layout = tmp_path / "org.tar.gz", tmp_path / "layout"
    built = workshop.run(
        "policy", "build", "--out", out, "--oci", layout, "--sequence", "5", "--json"
    )
    assert built.code == 0, built.stderr
    assert built.json["sequence"] == 5
    [entry] = json.loads((layout / "index.json").read_bytes())["manifests"]
    assert entry["digest"] == built.json["image"]
    for blob in (layout / "blobs/sha256").iterdir():
        assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
    manifest = json.loads((layout / "blobs/sha256" / entry["digest"][7:]).read_bytes())
    [layer] = manifest["layers"]
    assert (layout / "blobs/sha256" / layer["digest"][7:]).read_bytes() == out.read_bytes()


def test_bundle_in_a_folder_that_is_a_file_is_refused(workshop: Workshop) -> None:
    out = workshop.root / "tipstaff.yaml" / "org.tar.gz"
    built = workshop.run("policy", "build", "--out", out, "--json")
    assert (built.code, built.json["error"]["code"]) == (2, "file.unwritable")
