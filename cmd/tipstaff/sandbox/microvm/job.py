"""What the guest is told to do, as a pure function of a run's description: the frame that goes over the channel."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from tipstaff.sandbox import layout
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.collection import MAX_FILE_BYTES, MAX_FILES, MAX_REFUSED, MAX_TOTAL_BYTES
from tipstaff.sandbox.microvm.images import Place

_MIB = 1 << 20


def describe(
    spec: RunSpec,
    layers: Sequence[tuple[bytes, Sequence[Place]]],
    *,
    filter_program: bytes,
    seed: bytes,
    now: float,
) -> bytes:
    """The job as JSON. ``layers`` are the first bytes of each drive and its places; ``now`` in seconds since 1970.

    ``seed`` is fresh entropy, ``filter_program`` the system call filter in classic BPF.
    """
    limits = spec.profile.limits
    job = {
        "argv": list(spec.argv),
        "environment": layout.environment(spec),
        "folder": spec.work,
        "layers": [
            {
                "head": _text(head),
                "places": [{"from": place.source, "to": place.target} for place in places],
            }
            for head, places in layers
        ],
        "outputs": list(dict.fromkeys(spec.outputs)),
        "caps": {
            "file_bytes": MAX_FILE_BYTES,
            "total_bytes": MAX_TOTAL_BYTES,
            "files": MAX_FILES,
            "refused": MAX_REFUSED,
        },
        "limits": {
            "cpu_s": limits.cpu_s,
            "memory_bytes": limits.memory_mb * _MIB,
            "wall_s": limits.wall_s,
            "processes": limits.processes,
            "open_files": limits.open_files,
            "file_size_bytes": limits.file_size_mb * _MIB,
            "scratch_bytes": limits.scratch_mb * _MIB,
            "inodes": limits.inodes,
            "output_bytes": limits.output_bytes,
        },
        "filter": _text(filter_program),
        "seed": _text(seed),
        "time": now,
    }
    return json.dumps(job, ensure_ascii=True).encode()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
