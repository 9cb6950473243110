"""Bundles as others serve them: files over plain HTTP, and an OCI image layout as a registry's pull side."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self

from tipstaff.pdp.bundle import Bundle, content
from tipstaff.pdp.oci import write_layout

_Found = tuple[str, bytes] | None


class BundleServer(ThreadingHTTPServer):
    """Serves what was published on a free port of loopback; with ``is_failing`` it answers 500 to everything."""

    daemon_threads = True
    # How the configuration of OPA names the server and one bundle on it.
    service: dict[str, Any]

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.is_failing = False
        self.asked: Counter[str] = Counter()
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.service = {"url": f"http://{self.host}"}

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def publish(self, bundle: Bundle) -> None:
        """Serve the bytes that lie in the bundle's file now."""
        (self.folder / f"{bundle.name}.tar.gz").write_bytes(content(bundle))

    def resource(self, name: str) -> str:
        """What OPA asks the service for."""
        return f"bundles/{name}.tar.gz"

    def is_about(self, path: str, name: str) -> bool:
        """Whether a request is the first of a download of this bundle."""
        return path.endswith(f"/{name}.tar.gz")

    def find(self, path: str) -> _Found:
        """The media type and the bytes at a path; None where nothing is."""
        file = self.folder / Path(path).name
        return ("application/gzip", file.read_bytes()) if file.is_file() else None

    def settings(self, bundles: Sequence[Bundle], persisted: Path) -> dict[str, Any]:
        """The part of OPA's configuration that has it load these bundles from here, looking once a second."""
        polling = {"min_delay_seconds": 1, "max_delay_seconds": 1}
        return {
            "services": {"store": self.service},
            "persistence_directory": str(persisted),
            "bundles": {
                bundle.name: {
                    "service": "store",
                    "resource": self.resource(bundle.name),
                    "signing": {"keyid": bundle.name},
                    "polling": polling,
                }
                for bundle in bundles
            },
        }


class Registry(BundleServer):
    """The same from the layout that ``tipstaff policy build --oci`` writes, by tag and by digest."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.service = {"url": f"http://{self.host}", "type": "oci"}

    def publish(self, bundle: Bundle) -> None:
        """Add the bundle to the layout; its tag moves."""
        write_layout(self.folder, bundle)

    def resource(self, name: str) -> str:
        """An image reference with a tag."""
        return f"{self.host}/policy:{name}"

    def is_about(self, path: str, name: str) -> bool:
        """Whether the tag is resolved."""
        return path == f"/v2/policy/manifests/{name}"

    def find(self, path: str) -> _Found:
        """The distribution API: ``/v2/``, manifests by tag or digest, blobs by digest."""
        if path == "/v2/":
            return "application/json", b"{}"
        _, _, kind, wanted = path.rsplit("/", 3)
        index = json.loads((self.folder / "index.json").read_bytes())["manifests"]
        tags = {
            entry["annotations"]["org.opencontainers.image.ref.name"]: entry["digest"]
            for entry in index
        }
        digest = tags.get(wanted, wanted) if kind == "manifests" else wanted
        file = self.folder / "blobs/sha256" / digest.removeprefix("sha256:")
        if not file.is_file():
            return None
        types = {entry["digest"]: entry["mediaType"] for entry in index}
        return types.get(digest, "application/octet-stream"), file.read_bytes()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BundleServer

    def _serve(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked[path] += 1
        found = None if self.server.is_failing else self.server.find(path)
        kind, data = found or ("text/plain", b"")
        self.send_response(500 if self.server.is_failing else 200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(data).hexdigest()}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""
