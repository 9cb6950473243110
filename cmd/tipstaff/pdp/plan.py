"""What a sidecar is to run: arguments, configuration, the bundles' bytes, and the digest that names it all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tipstaff.errors import ContractError
from tipstaff.pdp.bundle import Bundle, content
from tipstaff.pdp.client import VERDICT
from tipstaff.pdp.opa import Opa

SOCKET = "opa.sock"
_MAX_QUESTION_BYTES = 16 << 20
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True)
class Plan:
    """A plan; ``identity`` covers everything in it, and nothing that may differ between equal sidecars."""

    opa: Opa
    bundles: tuple[Bundle, ...]
    contents: tuple[bytes, ...]
    config: dict[str, Any]
    argv: list[str]
    identity: str


def draw(opa: Opa, bundles: Sequence[Bundle]) -> Plan:
    """Read the bundles once and plan the sidecar on a socket that runs them; nothing is verified yet."""
    at = [f"--addr=unix://{SOCKET}", "--unix-socket-perm=600"]
    return plan(opa, bundles, str(opa.path.absolute()), at)


def plan(opa: Opa, bundles: Sequence[Bundle], program: str, more: Sequence[str]) -> Plan:
    """The same for a program by the name that it has where it runs, with the arguments that say where it listens."""
    names = [bundle.name for bundle in bundles]
    if len(set(names)) != len(names) or not all(_NAME.fullmatch(name) for name in names):
        raise ContractError(
            "policy.invalid",
            f"bundle names must be plain and distinct: {', '.join(names)}",
            fix="give each bundle a root of its own",
        )
    contents = tuple(content(bundle) for bundle in bundles)
    config = _config(bundles)
    argv = [program, "run", "--server", "--authorization=basic", "--config-file=config.json"]
    argv += ["--log-level=error", "--skip-version-check", "--shutdown-grace-period=1"]
    argv += ["--optimize-store-for-read-speed", *more]
    digests = [hashlib.sha256(data).hexdigest() for data in contents]
    whole = json.dumps([argv, opa.version, config, digests], sort_keys=True)
    identity = hashlib.sha256(whole.encode()).hexdigest()[:16]
    return Plan(opa, tuple(bundles), contents, config, argv, identity)


def _config(bundles: Sequence[Bundle]) -> dict[str, Any]:
    """The sidecar's working folder is its runtime folder, so the file doesn't depend on where that lies."""
    limit = {"max_length": _MAX_QUESTION_BYTES}
    return {
        "bundles": {
            bundle.name: {
                "resource": f"file:///proc/self/cwd/{bundle.name}.tar.gz",
                "signing": {"keyid": bundle.name},
            }
            for bundle in bundles
        },
        "keys": {
            bundle.name: {"algorithm": "ES256", "key": bundle.public_key} for bundle in bundles
        },
        "default_authorization_decision": "/tipstaff/sidecar/allow",
        "default_decision": f"/{VERDICT}",
        "server": {"decoding": {**limit, "gzip": limit}},
    }
