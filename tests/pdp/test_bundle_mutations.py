"""Nothing but what was signed is accepted: flipped bits, repacked archives, bombs, and what is no bundle of ours."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import resource
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.policies import write_policy
from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp import archive, bundle, signing
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.opa import Opa

BOMB_S = 2.0
BOMB_KIB = 200 << 10


@pytest.fixture(autouse=True)
def _own_home(home: Path) -> None:
    """Every test remembers what it accepted in a cache of its own."""


@pytest.mark.req("E-08")
@pytest.mark.promise("B1", "row 43")
@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=[pytest.mark.nightly])])
def test_random_mutations_are_never_accepted(count: int, policy: Bundle) -> None:
    seed = int(os.environ.get("TIPSTAFF_TEST_SEED", "20260701"))
    print(f"seed {seed}")
    chance = random.Random(seed)
    whole = policy.file.read_bytes()
    accepted = 0
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data))
            kind = chance.randrange(3)
            if kind == 0:
                data[place] ^= 1 << chance.randrange(8)
            elif kind == 1:
                del data[place : place + chance.randint(1, 600)]
            else:
                data[place:place] = chance.randbytes(chance.randint(1, 600))
        if bytes(data) == whole:
            continue
        try:
            signing.verify(bytes(data), policy.public_key, policy.file)
            accepted += 1
        except DecisionError as error:
            assert error.code == "bundle.signature"
    assert accepted == 0


def _packed(*entries: tarfile.TarInfo, size: int = 0) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        for entry in entries:
            entry.size = size
            file.addfile(entry, io.BytesIO(b"\0" * size))
    return out.getvalue()


def _entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    return entry


def _bomb() -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
        for _ in range(256):
            file.write(bytes(1 << 20))
    return out.getvalue()


STRANGE: dict[str, Callable[[], bytes]] = {
    "a bomb": _bomb,
    "many entries": lambda: archive._store((tarfile.TarInfo("x").tobuf() * 60_000) + bytes(1024)),
    "a symbolic link": lambda: _packed(_entry("data.json", tarfile.SYMTYPE, "/etc/passwd")),
    "a hard link": lambda: _packed(_entry("data.json", tarfile.LNKTYPE, "/etc/passwd")),
    "a device": lambda: _packed(_entry("data.json", tarfile.CHRTYPE)),
    "a pipe": lambda: _packed(_entry("data.json", tarfile.FIFOTYPE)),
    "a path outside": lambda: _packed(_entry("../data.json")),
    "too large": lambda: bytes(archive.MAX_BYTES + 1),
}


@pytest.mark.promise("B1", "row 50")
@pytest.mark.parametrize("kind", STRANGE)
def test_bomb_or_strange_entry_is_refused_soon_and_in_little_memory(
    kind: str, policy: Bundle, tmp_path: Path
) -> None:
    file = tmp_path / "strange.tar.gz"
    file.write_bytes(STRANGE[kind]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    with pytest.raises(DecisionError) as refused:
        bundle.load(file, "tipstaff", policy.public_key)
    assert refused.value.code == "bundle.signature"
    assert time.process_time() - began < BOMB_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < BOMB_KIB


@pytest.mark.promise("B1", "row 44")
def test_delta_bundle_is_refused(policy: Bundle, tmp_path: Path) -> None:
    patch = {"data": [{"op": "upsert", "path": "/tipstaff/gates/forbid", "value": []}]}
    whole = archive.unpack(policy.file.read_bytes())
    for files in (
        {"patch.json": json.dumps(patch).encode(), ".manifest": whole[".manifest"]},
        {**whole, "patch.json": json.dumps(patch).encode()},
    ):
        file = tmp_path / "delta.tar.gz"
        file.write_bytes(archive.pack(files))
        with pytest.raises(DecisionError) as refused:
            bundle.load(file, "tipstaff", policy.public_key)
        assert refused.value.code == "bundle.signature"


VERDICT = "package tipstaff.decision\n\n{0}verdict := {1}\n\nverdicts := []\n"


@pytest.mark.promise("row 33", "row 34", "row 35")
@pytest.mark.parametrize(
    ("rego", "code"),
    [
        (
            VERDICT.format("default ", '{"x": 1}').replace("decision", "decisions"),
            "bundle.entrypoint_missing",
        ),
        (
            VERDICT.format("default ", '{"x": 1}').replace("verdict ", "verdikt "),
            "bundle.entrypoint_missing",
        ),
        (VERDICT.format("", "input.x"), "bundle.entrypoint_default"),
        (
            VERDICT.format("default ", "{}") + "\nverdict := data.tipstaff.gates.forbid\n",
            "bundle.data_missing",
        ),
        (
            VERDICT.format("default ", "{}") + "\nverdict := data.tipstaff.none\n",
            "bundle.data_missing",
        ),
    ],
)
def test_bundle_that_could_not_answer_is_not_built(
    rego: str, code: str, opa: Opa, tmp_path: Path
) -> None:
    source = write_policy(tmp_path / "policy", rego)
    (source / "tipstaff" / "data.json").write_text('{"gates": {"forbid": []}}')
    bundle.new_key(tmp_path / "key.pem")
    out = tmp_path / "out.tar.gz"
    with pytest.raises(ContractError) as refused:
        bundle.build(opa, source, name="tipstaff", key=tmp_path / "key.pem", out=out)
    assert refused.value.code == code
    assert not out.exists()
