"""What the harness's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tipstaff.pdp import sidecar


@pytest.fixture
def folder(tmp_path: Path, sidecar_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of no project; in this process it joins the sidecar that workshops share."""
    join = sidecar.join
    monkeypatch.setattr(
        sidecar, "join", lambda _state, *how, **more: join(sidecar_home, *how, **more)
    )
    return tmp_path
