"""Where bundles come from: a team's overlay, a checkout, an installation, and source that is refused."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.policies import build_overlay, write_overlay, write_policy
from tipstaff import declared
from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp import bundle, capabilities, shipped, signing
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.opa import Opa


@pytest.fixture(autouse=True)
def _own_home(home: Path) -> None:
    """Every test remembers what it accepted in a cache of its own."""


def test_overlay_is_read_with_the_team_key(opa: Opa, tmp_path: Path) -> None:
    built = build_overlay(opa, tmp_path / "policy")
    assert built.revision.startswith("org+")
    assert bundle.overlay(tmp_path / "policy", built.public_key) == built


def test_overlay_that_is_no_file_is_refused_at_once(opa: Opa, tmp_path: Path) -> None:
    built = build_overlay(opa, tmp_path / "policy")
    built.file.unlink()
    os.mkfifo(built.file)
    with pytest.raises(DecisionError) as refused:
        bundle.overlay(tmp_path / "policy", built.public_key)
    assert refused.value.code == "bundle.signature"


def test_no_overlay_is_none(tmp_path: Path) -> None:
    assert bundle.overlay(tmp_path / "absent", "key") is None
    assert bundle.overlay(tmp_path, "key") is None


def test_overlay_without_its_signed_file_is_refused(tmp_path: Path) -> None:
    write_overlay(tmp_path / "source")
    with pytest.raises(DecisionError) as refused:
        bundle.overlay(tmp_path / "source", "key")
    assert refused.value.code == "bundle.unsigned"


def test_edited_overlay_is_not_current(opa: Opa, tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    assert not bundle.overlay_is_current(folder)
    build_overlay(opa, folder)
    assert bundle.overlay_is_current(folder)
    (folder / "org" / "house" / "house_test.rego").write_text("package org.house_test")
    assert bundle.overlay_is_current(folder)
    (folder / "org" / "house" / "house.rego").write_text("package org.house")
    assert not bundle.overlay_is_current(folder)


@pytest.mark.parametrize(
    ("rego", "why"),
    [
        ("package org.x\n\ny := )\n", r"org/house/house\.rego:3"),
        ("package org.x\n\ny := z\n", r"org/house/house\.rego:3.*unsafe"),
        ("package tipstaff.sidecar\n\nallow := true\n", "manifest roots"),
        ("package system.authz\n\nallow := true\n", "manifest roots"),
    ],
)
def test_wrong_rego_is_refused_with_opas_own_words(
    rego: str, why: str, opa: Opa, tmp_path: Path
) -> None:
    with pytest.raises(ContractError, match=why) as refused:
        build_overlay(opa, tmp_path / "o", rego)
    assert refused.value.code == "policy.invalid"
    assert not bundle.overlay_file(tmp_path / "o").exists()


def test_rule_and_data_at_one_path_are_refused(opa: Opa, tmp_path: Path) -> None:
    folder = write_overlay(tmp_path / "policy", "package org.house\n\ndays := set()\n")
    (folder / "org" / "house" / "data.json").write_text('{"days": []}')
    bundle.new_key(tmp_path / "team.pem")
    out = bundle.overlay_file(folder)
    with pytest.raises(ContractError, match=r"org/house/days") as refused:
        bundle.build(opa, folder, name="org", key=tmp_path / "team.pem", out=out)
    assert refused.value.code == "policy.invalid"
    assert not out.exists()


def _linked(folder: Path) -> None:
    (folder / "org" / "link.rego").symlink_to("/etc/hostname")


def _linked_folder(folder: Path) -> None:
    (folder / "more").symlink_to(folder / "org")


def _other_root(folder: Path) -> None:
    (folder / ".manifest").write_text('{"roots": [""]}')


def _broken_manifest(folder: Path) -> None:
    (folder / ".manifest").write_text("[")


def _reserved_file(folder: Path) -> None:
    (folder / "org" / "bundle").mkdir()
    (folder / "org" / "bundle" / "data.json").write_text("{}")


def _reserved_data(folder: Path) -> None:
    (folder / "org" / "data.json").write_text('{"bundle": {"more": 1}}')


def _no_rego(folder: Path) -> None:
    (folder / "org" / "house" / "house.rego").unlink()


@pytest.mark.parametrize(
    "change",
    [
        _linked,
        _linked_folder,
        _other_root,
        _broken_manifest,
        _reserved_file,
        _reserved_data,
        _no_rego,
    ],
)
def test_strange_source_is_refused(change: object, opa: Opa, tmp_path: Path) -> None:
    folder = write_overlay(tmp_path / "policy")
    assert callable(change)
    change(folder)
    bundle.new_key(tmp_path / "team.pem")
    with pytest.raises(ContractError) as refused:
        bundle.build(opa, folder, name="org", key=tmp_path / "team.pem", out=folder / "org.tar.gz")
    assert refused.value.code == "policy.invalid"
    assert not (folder / "org.tar.gz").exists()


WILD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value=WILD)
@settings(max_examples=15, deadline=None)
def test_any_plain_data_is_signed_in_its_one_form(
    value: object, opa: Opa, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = write_policy(tmp_path_factory.mktemp("wild") / "policy")
    data = json.dumps({"wild": value, "real": 1.5e300, "exact": 9007199254740993})
    (folder / "tipstaff" / "data.json").write_text(data)
    bundle.new_key(folder.parent / "key.pem")
    out = folder.parent / "out.tar.gz"
    built = bundle.build(opa, folder, name="tipstaff", key=folder.parent / "key.pem", out=out)
    files = signing.verify(out.read_bytes(), built.public_key, out)
    assert json.loads(files["data.json"])["tipstaff"]["wild"] == value


def test_checkout_builds_its_bundle_once_with_a_key_of_its_own(
    opa: Opa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    folder = write_policy(tmp_path / "policy")
    (folder / "capabilities.json").write_bytes(capabilities.reduce(opa))
    monkeypatch.setattr(declared, "folder", lambda name: tmp_path / name)
    said: list[str] = []
    first = shipped.shipped(opa, said.append)
    assert shipped.shipped(opa, said.append) == first
    assert len(said) == 1
    key = home / "state" / "tipstaff" / "development.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert bundle.public_key(key) == first.public_key
    (folder / "tipstaff" / "data.json").write_text("{}")
    assert shipped.shipped(opa, said.append).revision != first.revision


def test_installation_uses_its_release_and_builds_only_without_one(
    opa: Opa, policy: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_policy(tmp_path / "policy")
    (folder / "capabilities.json").write_bytes(capabilities.reduce(opa))
    monkeypatch.setattr(declared, "folder", lambda name: tmp_path / name)
    monkeypatch.setattr(declared, "is_checkout", lambda: False)
    assert shipped.shipped(opa, print).public_key != policy.public_key
    (folder / "tipstaff.tar.gz").write_bytes(policy.file.read_bytes())
    with pytest.raises(DecisionError) as refused:
        shipped.shipped(opa, print)
    assert refused.value.code == "bundle.unsigned"
    (folder / "release.pub").write_text(policy.public_key)
    assert shipped.shipped(opa, print) == replace(policy, file=folder / "tipstaff.tar.gz")
