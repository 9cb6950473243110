"""Bundles: what they carry, and that nothing but the signed bytes is accepted."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.policies import build_overlay, build_policy
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
    assert manifest["metadata"] == facts
    assert facts == {
        "revision": policy.revision,
        "data_digest": policy.data_digest,
        "source_digest": policy.source_digest,
        "sequence": 0,
        "expires_at": None,
        "reissues": None,
    }


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
    assert bundle.source_digest(source, "tipstaff") == first.source_digest
    (source / "tipstaff" / "data.json").write_text("{}")
    assert bundle.source_digest(source, "tipstaff") != first.source_digest


def test_opa_accepts_the_bundle_with_its_own_verification(policy: Bundle, opa: Opa) -> None:
    key = policy.file.parent / "public.pem"
    key.write_text(policy.public_key)
    verification = ["--verification-key", str(key), "--signing-alg", "ES256"]
    answer = opa.run(
        ["run", "--server", "--addr=unix:///nowhere/x", *verification, "-b", str(policy.file)]
    )
    assert b"nowhere" in answer.stderr
    assert b"verif" not in answer.stderr


@pytest.mark.promise("row 39", "row 40")
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


@pytest.mark.promise("row 42")
def test_bundle_of_another_root_is_refused(policy: Bundle) -> None:
    with pytest.raises(DecisionError, match="not only") as refused:
        bundle.load(policy.file, "org", policy.public_key)
    assert refused.value.code == "bundle.roots"


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


def test_committed_capabilities_are_the_reduction_of_the_pinned_version(opa: Opa) -> None:
    committed = (declared.folder("policy") / capabilities.FILE).read_bytes()
    kept = {item["name"] for item in json.loads(committed)["builtins"]}
    assert json.loads(committed)["allow_net"] == []
    assert not kept & BANNED.keys()
    if opa.version == VERSION:
        assert committed == capabilities.reduce(opa)
