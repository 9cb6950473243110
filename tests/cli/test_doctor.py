"""`tipstaff doctor` looks at the engine that decisions really ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workshop import Workshop


def test_remote_that_nobody_answers_at_fails_and_comes_with_its_fix(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TIPSTAFF_OPA_TOKEN", "a-token-for-tests")
    answer = workshop.run("doctor", "--json")
    assert answer.code == 1
    [part] = [part for part in answer.json["parts"] if part["part"] == "sidecar"]
    assert not part["ok"]
    assert "127.0.0.1:9" in part["detail"]
    assert "TIPSTAFF_OPA_URL" in part["fix"]
    assert workshop.run("sidecar", "status").code == 1


def test_embedded_sidecar_says_when_it_ends_if_nobody_asks_it(project: Path) -> None:
    workshop = Workshop(project)
    assert workshop.run("sidecar", "start").code == 0
    [row] = workshop.run("sidecar", "status", "--json").json["sidecars"]
    assert 0 < row["ends_in_s"] <= 900
    assert "ENDS IF UNUSED" in workshop.run("sidecar", "status").stdout


def test_remote_address_that_is_not_safe_is_named(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPSTAFF_OPA_URL", "http://opa.example.com")
    answer = workshop.run("doctor", "--json")
    assert answer.code == 1
    assert "[opa.url]" in next(p["detail"] for p in answer.json["parts"] if p["part"] == "sidecar")
