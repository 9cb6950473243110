"""Building, signing, reading and refusing bundles."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.policies import build_overlay, build_policy, write_overlay, write_policy
from tipstaff import __version__, declared
from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp import archive, bundle, capabilities, signing
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.opa import VERSION, Opa

BANNED = {
    "http.send": 'http.send({"method": "get", "url": "http://127.0.0.1"})',
    "net.lookup_ip_addr": 'net.lookup_ip_addr("localhost")',
    "opa.runtime": "opa.runtime()",
    "time.now_ns": "time.now_ns()",
    "rand.intn": 'rand.intn("x", 5)',
    "uuid.rfc4122": 'uuid.rfc4122("x")',
    "rego.parse_module": 'rego.parse_module("x", "package x")',
    "json.match_schema": 'json.match_schema({}, {"$ref": "http://127.0.0.1/"})',
}


@pytest.fixture(autouse=True)
def _own_home(home: Path) -> None:
    """Every test remembers what it accepted in a cache of its own."""


def test_bundle_carries_its_revision_three_times(policy: Bundle) -> None:
    files = signing.verify(policy.file.read_bytes(), policy.public_key, policy.file)
    manifest = json.loads(files[".manifest"])
    facts = json.loads(files["data.json"])["tipstaff"]["bundle"]
    assert policy.revision.startswith(f"{__version__}+")
    assert (manifest["roots"], manifest["revision"]) == (["tipstaff"], policy.revision)
    assert facts == {"revision": policy.revision, "data_digest": policy.data_digest}


def test_bundle_holds_no_tests(policy: Bundle) -> None:
    names = archive.unpack(policy.file.read_bytes())
    assert "tipstaff/sidecar/sidecar.rego" in names
    assert not [name for name in names if name.endswith("_test.rego")]


def test_revision_is_a_function_of_content(opa: Opa, tmp_path: Path) -> None:
    first = build_policy(opa, tmp_path / "a")
    second = build_policy(opa, tmp_path / "b")
    assert (first.revision, first.data_digest) == (second.revision, second.data_digest)
    source = tmp_path / "b" / "policy"
    (source / "tipstaff" / "sidecar" / "sidecar_test.rego").write_text("package changed")
    assert bundle.source_revision(source, "tipstaff") == first.revision
    (source / "tipstaff" / "data.json").write_text("{}")
    assert bundle.source_revision(source, "tipstaff") != first.revision


def test_opa_accepts_the_bundle_with_its_own_verification(policy: Bundle, opa: Opa) -> None:
    key = policy.file.parent / "public.pem"
    key.write_text(policy.public_key)
    verification = ["--verification-key", str(key), "--signing-alg", "ES256"]
    answer = opa.run(
        ["run", "--server", "--addr=unix:///nowhere/x", *verification, "-b", str(policy.file)]
    )
    assert b"nowhere" in answer.stderr
    assert b"verif" not in answer.stderr


@pytest.mark.req("E-10")
@pytest.mark.parametrize("name", BANNED)
def test_impure_builtin_is_refused_at_build(name: str, opa: Opa, tmp_path: Path) -> None:
    with pytest.raises(ContractError) as refused:
        build_overlay(opa, tmp_path / "o", f"package org.x\n\ny := {BANNED[name]}\n")
    assert refused.value.code == "policy.invalid"
    assert f"undefined function {name}" in refused.value.message
    assert "org/house/house.rego:3" in refused.value.message


@pytest.mark.req("E-10")
def test_impure_builtin_put_in_by_with_is_refused_too(opa: Opa, tmp_path: Path) -> None:
    rego = "package org.x\n\ny if count([]) == 0 with count as http.send\n"
    with pytest.raises(ContractError, match="http"):
        build_overlay(opa, tmp_path / "o", rego)


@pytest.mark.parametrize("at", range(0, 100))
@pytest.mark.req("E-08")
def test_one_changed_byte_is_refused(at: int, policy: Bundle) -> None:
    data = bytearray(policy.file.read_bytes())
    for place in range(at, len(data), 100):
        data[place] ^= 1 << (place % 8)
        with pytest.raises(DecisionError) as refused:
            signing.verify(bytes(data), policy.public_key, policy.file)
        assert refused.value.code == "bundle.signature"
        assert refused.value.file == str(policy.file)
        data[place] ^= 1 << (place % 8)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_cut_or_lengthened_bundle_is_refused(policy: Bundle, data: st.DataObject) -> None:
    whole = policy.file.read_bytes()
    size = data.draw(st.integers(0, len(whole) - 1))
    tail = data.draw(st.binary(min_size=1, max_size=20))
    for changed in (whole[:size], whole + tail, whole[:size] + tail + whole[size:]):
        with pytest.raises(DecisionError):
            signing.verify(changed, policy.public_key, policy.file)


@given(st.binary(max_size=2000))
@settings(max_examples=100, deadline=None)
def test_wild_bytes_are_refused(policy: Bundle, data: bytes) -> None:
    for content in (data, archive.pack({".manifest": data, signing.SIGNATURES: data})):
        with pytest.raises(DecisionError):
            signing.verify(content, policy.public_key, policy.file)


def _files(policy: Bundle) -> dict[str, bytes]:
    return archive.unpack(policy.file.read_bytes())


def _without_signature(files: dict[str, bytes]) -> None:
    del files[signing.SIGNATURES]


def _with_no_algorithm(files: dict[str, bytes]) -> None:
    _, payload, mark = json.loads(files[signing.SIGNATURES])["signatures"][0].split(".")
    files[signing.SIGNATURES] = signing.signatures(f"eyJhbGciOiJub25lIn0.{payload}.{mark}")


def _with_no_mark(files: dict[str, bytes]) -> None:
    head, payload, _ = json.loads(files[signing.SIGNATURES])["signatures"][0].split(".")
    files[signing.SIGNATURES] = signing.signatures(f"{head}.{payload}.")


def _with_no_signatures(files: dict[str, bytes]) -> None:
    files[signing.SIGNATURES] = b'{"signatures":[]}'


def _with_a_file_more(files: dict[str, bytes]) -> None:
    files["tipstaff/extra.rego"] = b"package tipstaff.extra"


def _with_a_file_less(files: dict[str, bytes]) -> None:
    del files["tipstaff/sidecar/sidecar.rego"]


def _with_spaced_json(files: dict[str, bytes]) -> None:
    files["data.json"] += b" "


@pytest.mark.req("E-08")
@pytest.mark.parametrize(
    "change",
    [
        _without_signature,
        _with_no_algorithm,
        _with_no_mark,
        _with_no_signatures,
        _with_a_file_more,
        _with_a_file_less,
        _with_spaced_json,
    ],
)
def test_repacked_bundle_is_refused(change: object, policy: Bundle, tmp_path: Path) -> None:
    files = _files(policy)
    assert callable(change)
    change(files)
    file = tmp_path / "changed.tar.gz"
    file.write_bytes(archive.pack(files))
    with pytest.raises(DecisionError) as refused:
        bundle.load(file, "tipstaff", policy.public_key)
    assert refused.value.code == "bundle.signature"


@pytest.mark.req("E-08")
def test_bundle_signed_by_another_key_is_refused(policy: Bundle, tmp_path: Path) -> None:
    other = bundle.new_key(tmp_path / "other.pem")
    bundle.load(policy.file, "tipstaff", policy.public_key)
    with pytest.raises(DecisionError, match="expected key"):
        bundle.load(policy.file, "tipstaff", other)


def test_bundle_of_another_root_is_refused(policy: Bundle) -> None:
    with pytest.raises(DecisionError, match="no bundle of org"):
        bundle.load(policy.file, "org", policy.public_key)


def test_bundle_file_that_is_absent_is_refused(policy: Bundle, tmp_path: Path) -> None:
    with pytest.raises(DecisionError) as refused:
        bundle.load(tmp_path / "absent.tar.gz", "tipstaff", policy.public_key)
    assert refused.value.code == "bundle.signature"


def test_accepted_bytes_are_remembered_and_changed_ones_are_not(
    policy: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tipstaff.tar.gz"
    file.write_bytes(policy.file.read_bytes())
    first = bundle.load(file, "tipstaff", policy.public_key)
    monkeypatch.setattr(signing, "verify", None)
    assert bundle.load(file, "tipstaff", policy.public_key) == first
    monkeypatch.undo()
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(DecisionError):
        bundle.load(file, "tipstaff", policy.public_key)


@pytest.mark.parametrize("pem", ["", "not a key", "-----BEGIN PUBLIC KEY-----\nAA\n"])
def test_public_key_that_is_none_is_an_input_error(pem: str, policy: Bundle) -> None:
    with pytest.raises(ContractError) as refused:
        signing.verify(policy.file.read_bytes(), pem, policy.file)
    assert refused.value.code == "key.invalid"


def test_private_key_is_for_its_owner_only_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "team.pem"
    public = bundle.new_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert bundle.public_key(path) == public
    with pytest.raises(ContractError) as refused:
        bundle.new_key(path)
    assert refused.value.code == "key.exists"
    assert bundle.public_key(path) == public


def test_key_file_that_holds_no_key_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("nothing")
    for path in (tmp_path / "x.pem", tmp_path / "absent.pem"):
        with pytest.raises(ContractError) as refused:
            bundle.public_key(path)
        assert refused.value.code == "key.unreadable"


def test_overlay_is_read_with_the_team_key(opa: Opa, tmp_path: Path) -> None:
    built = build_overlay(opa, tmp_path / "policy")
    assert built.revision.startswith("org+")
    assert bundle.overlay(opa, tmp_path / "policy", built.public_key) == built


def test_no_overlay_is_none(opa: Opa, tmp_path: Path) -> None:
    assert bundle.overlay(opa, tmp_path / "absent", None) is None
    assert bundle.overlay(opa, tmp_path, "key") is None


def test_overlay_without_its_signed_file_or_key_is_refused(opa: Opa, tmp_path: Path) -> None:
    write_overlay(tmp_path / "source")
    built = build_overlay(opa, tmp_path / "signed")
    for folder, key in ((tmp_path / "source", built.public_key), (tmp_path / "signed", None)):
        with pytest.raises(DecisionError) as refused:
            bundle.overlay(opa, folder, key)
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
    assert not (tmp_path / "o" / "org.tar.gz").exists()


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
    first = bundle.shipped(opa, said.append)
    assert bundle.shipped(opa, said.append) == first
    assert len(said) == 1
    key = home / "state" / "tipstaff" / "development.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert bundle.public_key(key) == first.public_key
    (folder / "tipstaff" / "data.json").write_text("{}")
    assert bundle.shipped(opa, said.append).revision != first.revision


def test_installation_uses_its_signed_bundle_or_none(
    opa: Opa, policy: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "folder", lambda name: tmp_path)
    monkeypatch.setattr(declared, "is_checkout", lambda: False)
    with pytest.raises(DecisionError) as refused:
        bundle.shipped(opa, print)
    assert refused.value.code == "bundle.unsigned"
    (tmp_path / "tipstaff.tar.gz").write_bytes(policy.file.read_bytes())
    (tmp_path / "release.pub").write_text(policy.public_key)
    assert bundle.shipped(opa, print).revision == policy.revision


def test_committed_capabilities_are_the_reduction_of_the_pinned_version(opa: Opa) -> None:
    committed = (declared.folder("policy") / capabilities.FILE).read_bytes()
    kept = {item["name"] for item in json.loads(committed)["builtins"]}
    assert json.loads(committed)["allow_net"] == []
    assert not kept & BANNED.keys()
    if opa.version == VERSION:
        assert committed == capabilities.reduce(opa)
