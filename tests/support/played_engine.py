"""A stub engine in the place of the sidecar that a workshop would join."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from support import stub_engine as play
from support.stub_engine import Play, Stub, stub
from support.workshop import Workshop
from tipstaff.engine import Engine
from tipstaff.pdp import sidecar
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.plan import SOCKET
from tipstaff.pdp.sidecar import Sidecar

DEADLINE_S = 0.4


@contextmanager
def played(workshop: Workshop, patch: pytest.MonkeyPatch, *parts: Any) -> Iterator[Stub]:
    """A stub in the place of the sidecar. Parts may be functions of the good answer's provenance."""
    with workshop.engine() as engine:
        bundles = engine.policy.bundles()
    said = {bundle.name: {"revision": bundle.revision} for bundle in bundles}
    provenance = {"version": "1.22.3", "bundles": said}
    folder = Path(mkdtemp(dir=workshop.root.parent))
    acts = [part(provenance) if getattr(part, "is_made", False) else part for part in parts]
    with stub(folder / SOCKET, *acts) as server, patch.context() as here:
        found = Sidecar(folder / SOCKET, folder, 0, bundles, Opa(Path("opa"), "1.22.3"))
        here.setattr(sidecar, "join", lambda *_, **__: found)
        here.setitem(Engine.open.__func__.__kwdefaults__, "deadline_s", DEADLINE_S)
        yield server


def says(result: Any = None, **changes: Any) -> Any:
    """An answer with the right provenance, or with parts of it changed."""

    def make(provenance: dict[str, Any]) -> Play:
        whole = {"result": result, "provenance": provenance, **changes}
        return play.answer(json.dumps({k: v for k, v in whole.items() if v != "absent"}).encode())

    make.is_made = True  # type: ignore[attr-defined]
    return make
