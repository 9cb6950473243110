"""A server at a URL that sends the value of a header back: it is told of, and the value is nowhere."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.observing import On, serving
from tipstaff.drift.observing import outside
from tipstaff.drift.observing.observe import observe
from tipstaff.drift.observing.target import Target
from tipstaff.errors import UnobservedError

SECRET = "s3cret-value-of-a-header"
BEGINNING = "s3cret"
BACK = "sends the value of the header Authorization back"
PLACES = {
    "echo": BACK,
    "echo-escaped": BACK,
    "echo-error": BACK,
    "echo-message": BACK,
    "echo-noise": BACK,
    "echo-redirect": "which is not followed",
}


@pytest.mark.promise("L7")
@pytest.mark.parametrize("way", PLACES)
def test_value_of_a_header_that_comes_back_is_in_nothing_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("WEB_TOKEN", SECRET)
    left: list[bytes] = []
    real = subprocess.run

    def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
        done = real(*arguments, **options)
        folder = Path(arguments[0][4])
        left.extend([done.stderr, *(file.read_bytes() for file in sorted(folder.iterdir()))])
        return done

    monkeypatch.setattr(outside.subprocess, "run", run)
    with serving(way) as url, pytest.raises(UnobservedError, match=PLACES[way]) as refusal:
        observe(Target("web", url=url, headers={"Authorization": "WEB_TOKEN"}), On(), root=tmp_path)
    assert len(left) > 1
    assert BEGINNING.encode() not in b"".join(left)
    assert BEGINNING not in repr((refusal.value.diagnostics(), refusal.value.report))
