"""Small bundles for tests: a verdict that echoes, and the real authorization rules."""

from __future__ import annotations

import shutil
from pathlib import Path

from tipstaff import declared
from tipstaff.pdp import bundle
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.opa import Opa

DECISION = """package tipstaff.decision

default verdict := {"effect": "deny"}

verdict := {"effect": "allow", "note": input.note} if input.ok == true

verdicts := [{"effect": "deny"} | some _ in input.documents]
"""
ORG = """package org.house

deny contains "no" if input.strict == true
"""


def write_policy(folder: Path, decision: str = DECISION) -> Path:
    """A source folder with root ``tipstaff``: the decision given, and the shipped sidecar rules."""
    target = folder / "tipstaff"
    (target / "decision").mkdir(parents=True)
    (target / "decision" / "decision.rego").write_text(decision)
    (target / "data.json").write_text('{"limits": {"b": 1.50, "a": [1, "ü"]}}')
    shutil.copytree(declared.folder("policy") / "tipstaff" / "sidecar", target / "sidecar")
    return folder


def write_overlay(folder: Path, rego: str = ORG) -> Path:
    """A source folder with root ``org``."""
    (folder / "org" / "house").mkdir(parents=True)
    (folder / "org" / "house" / "house.rego").write_text(rego)
    return folder


def build_policy(opa: Opa, folder: Path, decision: str = DECISION) -> Bundle:
    """Build and sign ``write_policy`` below the folder, with a new key."""
    source = write_policy(folder / "policy", decision)
    bundle.new_key(folder / "key.pem")
    out = folder / "tipstaff.tar.gz"
    return bundle.build(opa, source, name="tipstaff", key=folder / "key.pem", out=out)


def build_overlay(opa: Opa, folder: Path, rego: str = ORG) -> Bundle:
    """Build and sign ``write_overlay`` in the folder, with a new key beside it."""
    source = write_overlay(folder, rego)
    key = folder.parent / "team.pem"
    bundle.new_key(key)
    return bundle.build(opa, source, name="org", key=key, out=bundle.overlay_file(source))
