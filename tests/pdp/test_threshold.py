"""Several people sign one bundle: as many different keys as the team demands, each on exactly this file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.policies import build_overlay
from tipstaff.errors import ContractError, DecisionError
from tipstaff.pdp import bundle, signing, threshold
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.threshold import Signers

NAMES = ("bob", "carol", "dave")


@dataclass
class Team:
    """A bundle that the team's key signed, and the other people's keys."""

    built: Bundle
    folder: Path
    public: dict[str, str]

    @property
    def beside(self) -> Path:
        """The file with the others' signatures."""
        return threshold.signatures_file(self.built.file)

    def add(self, name: str) -> int:
        """Have somebody sign."""
        return threshold.add(
            self.built.file, "org", self.key(name), self.built.public_key, self.signers(3)
        )

    def key(self, name: str) -> Path:
        """Somebody's private key."""
        return self.folder / f"{name}.pem"

    def signers(self, wanted: int) -> Signers:
        """The team: its own key, bob's and carol's."""
        return Signers((self.public["bob"], self.public["carol"]), wanted)

    def load(self, wanted: int, signers: Signers | None = None) -> Bundle:
        """Read the bundle as a decision does."""
        return bundle.load(
            self.built.file, "org", self.built.public_key, signers or self.signers(wanted)
        )

    def entries(self) -> list[dict[str, str]]:
        """The signatures beside the bundle."""
        return list(json.loads(self.beside.read_bytes())["signatures"])

    def write(self, entries: list[dict[str, Any]]) -> None:
        """Put signatures beside the bundle in the form that is read."""
        self.beside.write_bytes(threshold._document(entries))

    def entry(self, name: str, message: bytes | None = None) -> dict[str, str]:
        """What somebody would have signed, or another message."""
        data = self.built.file.read_bytes()
        mark = signing.mark(message or threshold._message(data, "org"), self.key(name))
        text = threshold.base64.b64encode(mark).decode()
        return {"key": signing.fingerprint(self.public[name]), "signature": text}


@pytest.fixture
def team(opa: Opa, tmp_path: Path, home: Path) -> Team:
    """A fresh bundle and three other people."""
    built = build_overlay(opa, tmp_path / "policy")
    return Team(built, tmp_path, {name: bundle.new_key(tmp_path / f"{name}.pem") for name in NAMES})


@pytest.mark.promise("B4")
def test_as_many_different_keys_as_demanded_are_enough(team: Team) -> None:
    assert team.load(1).digest == team.built.digest
    assert team.add("bob") == 2
    assert team.load(2).signers == team.signers(2)
    with pytest.raises(DecisionError):
        team.load(3)
    assert team.add("carol") == 3
    bundle.check(team.load(3), team.built.file.read_bytes())


def _other_pem(public: str) -> str:
    """The same key as another text."""
    return public.replace("\n", "\r\n")


Forge = Callable[[Team], Signers | None]


def _nobody(team: Team) -> None:
    team.beside.unlink(missing_ok=True)


def _empty_list(team: Team) -> None:
    team.write([])


def _same_key_twice(team: Team) -> None:
    team.write([team.entry("bob"), team.entry("bob")])


def _team_key_again(team: Team) -> None:
    mark = signing.mark(threshold._message(team.built.file.read_bytes(), "org"), team.key("team"))
    key = signing.fingerprint(team.built.public_key)
    team.write([{"key": key, "signature": threshold.base64.b64encode(mark).decode()}])


def _unknown_key(team: Team) -> None:
    team.write([team.entry("dave")])


def _unknown_key_besides(team: Team) -> None:
    team.write([team.entry("bob"), team.entry("dave")])


def _one_key_under_two_names(team: Team) -> Signers:
    team.write([team.entry("bob")])
    return Signers((team.public["bob"], _other_pem(team.public["bob"])), 3)


def _team_key_named_again(team: Team) -> Signers:
    team.write([])
    return Signers((_other_pem(team.built.public_key),), 2)


def _bobs_mark_under_carols_name(team: Team) -> None:
    team.write([{**team.entry("bob"), "key": signing.fingerprint(team.public["carol"])}])


def _on_another_file(team: Team) -> None:
    team.write([team.entry("bob", threshold._message(b"another file", "org"))])


def _for_another_root(team: Team) -> None:
    data = team.built.file.read_bytes()
    team.write([team.entry("bob", threshold._message(data, "tipstaff"))])


def _without_the_purpose(team: Team) -> None:
    team.write([team.entry("bob", team.built.file.read_bytes())])


def _on_the_digest_alone(team: Team) -> None:
    digest = threshold.hashlib.sha256(team.built.file.read_bytes()).digest()
    team.write([team.entry("bob", digest)])


def _on_a_sha1_digest(team: Team) -> None:
    digest = threshold.hashlib.sha1(team.built.file.read_bytes()).digest()
    team.write([team.entry("bob", threshold._PURPOSE + b"org\0" + digest)])


def _revoked_key(team: Team) -> Signers:
    team.write([team.entry("bob")])
    return Signers((team.public["carol"],), 2)


def _more_demanded_than_named(team: Team) -> Signers:
    team.write([team.entry("bob"), team.entry("carol")])
    return Signers((team.public["bob"], team.public["carol"]), 4)


def _key_listed_twice(team: Team) -> Signers:
    team.write([team.entry("bob")])
    return Signers((team.public["bob"], team.public["bob"]), 3)


def _changed(change: Callable[[bytes], bytes]) -> Forge:
    def forge(team: Team) -> None:
        team.write([team.entry("bob")])
        team.beside.write_bytes(change(team.beside.read_bytes()))

    return forge


def _edited(**fields: Any) -> Forge:
    def forge(team: Team) -> None:
        team.write([{**team.entry("bob"), **fields}])

    return forge


def _linked(team: Team) -> None:
    team.write([team.entry("bob")])
    team.beside.rename(team.folder / "elsewhere")
    team.beside.symlink_to(team.folder / "elsewhere")


def _huge(team: Team) -> None:
    team.beside.write_bytes(b" " * (1 << 17))


FORGERIES: dict[str, Forge] = {
    "nobody else": _nobody,
    "an empty list": _empty_list,
    "the same key twice": _same_key_twice,
    "the team's own key again": _team_key_again,
    "a key that is not the team's": _unknown_key,
    "a strange key besides": _unknown_key_besides,
    "one key under two texts": _one_key_under_two_names,
    "the team's key named again": _team_key_named_again,
    "a signature under another's name": _bobs_mark_under_carols_name,
    "a signature on another file": _on_another_file,
    "a signature for another root": _for_another_root,
    "a signature without the purpose": _without_the_purpose,
    "a signature on the digest alone": _on_the_digest_alone,
    "a SHA-1 digest": _on_a_sha1_digest,
    "a key that was taken out": _revoked_key,
    "more demanded than named": _more_demanded_than_named,
    "a key listed twice": _key_listed_twice,
    "no JSON": _changed(lambda data: b"[" + data),
    "a list": _changed(lambda data: b"[]"),
    "another version": _changed(lambda data: data.replace(b": 1", b": 2")),
    "a space more": _changed(lambda data: data + b" "),
    "cut short": _changed(lambda data: data[:-10]),
    "a key twice": _changed(
        lambda data: data.replace(b'"signatures"', b'"signatures": [], "signatures"')
    ),
    "a field more": _edited(scope="org"),
    "no signature": _edited(signature=""),
    "a signature of zeros": _edited(signature="A" * 86 + "=="),
    "a short signature": _edited(signature="AAAA"),
    "a number": _edited(signature=5),
    "a key in capitals": _changed(lambda data: data.replace(b'"key": "', b'"key": "F')),
    "a link": _linked,
    "a huge file": _huge,
}


@pytest.mark.promise("B4", "row 51")
@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_or_missing_signature_is_refused(team: Team, forgery: str) -> None:
    wanted = FORGERIES[forgery](team) or team.signers(3 if "besides" in forgery else 2)
    with pytest.raises(DecisionError) as refused:
        team.load(2, wanted)
    assert refused.value.code == "bundle.threshold"


def test_there_are_at_least_thirty_forgeries() -> None:
    assert len(FORGERIES) >= 30


@pytest.mark.promise("B4")
def test_key_that_the_team_does_not_name_or_that_signed_cannot_sign(team: Team) -> None:
    for name, code in (("dave", "key.unknown"), ("bob", None), ("bob", "key.signed")):
        try:
            team.add(name)
            found = None
        except ContractError as error:
            found = error.code
        assert found == code


def test_nobody_signs_what_the_bundles_own_key_did_not(team: Team) -> None:
    data = bytearray(team.built.file.read_bytes())
    data[len(data) // 2] ^= 1
    team.built.file.write_bytes(data)
    with pytest.raises(DecisionError) as refused:
        team.add("bob")
    assert refused.value.code == "bundle.signature"
    assert not team.beside.exists()


def test_signatures_on_an_earlier_bundle_are_dropped_when_one_is_added(team: Team) -> None:
    team.write([team.entry("carol", threshold._message(b"before", "org"))])
    assert team.add("bob") == 2
    assert [entry["key"] for entry in team.entries()] == [signing.fingerprint(team.public["bob"])]
    team.load(2)


def test_accepted_signatures_are_looked_at_again_when_they_change(team: Team) -> None:
    team.add("bob")
    team.load(2)
    team.beside.unlink()
    with pytest.raises(DecisionError):
        team.load(2)
