"""A remote OPA on our signed bundles behind TLS: whom it and we believe, and what each disbelief is called."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from support.certificates import write_certificates
from support.documents import a_change
from support.engines import TOKEN, RemoteOpa, name_remote
from support.workshop import Workshop
from tipstaff.engine.policy import Policy
from tipstaff.errors import ContractError
from tipstaff.pdp.address import Remote
from tipstaff.pdp.admin import is_healthy
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.remote import RemoteTransport
from tipstaff.project import Project


def _serve(
    workshop: Workshop, opa: Opa, folder: Path, *, by_certificate: bool = False
) -> Iterator[RemoteOpa]:
    folder.mkdir(exist_ok=True)
    bundles = Policy(Project.find(workshop.root), print).bundles()
    served = RemoteOpa(folder, opa, bundles, by_certificate=by_certificate)
    yield served
    served.end()


@pytest.fixture
def by_token(workshop: Workshop, opa: Opa, tmp_path: Path) -> Iterator[RemoteOpa]:
    yield from _serve(workshop, opa, tmp_path / "token")


@pytest.fixture
def by_certificate(workshop: Workshop, opa: Opa, tmp_path: Path) -> Iterator[RemoteOpa]:
    yield from _serve(workshop, opa, tmp_path / "tls", by_certificate=True)


def _refusal(workshop: Workshop) -> tuple[str, str]:
    """The code and message of the refusal, which a start and a decision agree about."""
    start = workshop.run("sidecar", "start", "--mode", "remote", "--json")
    decided = workshop.run("decide", "-", "--json", stdin=json.dumps(a_change()).encode())
    assert (start.code, decided.code, decided.json["effect"]) == (3, 3, "deny")
    assert decided.json["codes"] == [start.json["error"]["code"]]
    assert workshop.entries() == ["deny"]
    return start.json["error"]["code"], start.json["error"]["message"]


def test_remote_that_answers_is_ready_and_nothing_is_started(
    workshop: Workshop, by_token: RemoteOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_remote(monkeypatch, by_token.remote)
    for options in (("--mode", "remote"), ()):
        answer = workshop.run("sidecar", "start", *options, "--json")
        assert (answer.code, answer.json["mode"]) == (0, "remote")
        assert answer.json["url"] == by_token.remote.url
        assert set(answer.json["revisions"]) == {"tipstaff", "org"}
    assert workshop.run("sidecar", "status", "--json").json == {"sidecars": []}
    assert workshop.run("doctor", "--json").json["parts"][4]["ok"]


@pytest.mark.promise("D1")
def test_each_disbelief_denies_under_its_own_name(
    workshop: Workshop, by_token: RemoteOpa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_remote(monkeypatch, replace(by_token.remote, ca=None))
    assert _refusal(workshop)[0] == "engine.certificate"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"valid": timedelta(minutes=-5)}, "expired"),
        ({"host": "127.0.0.2"}, "IP address mismatch"),
    ],
)
def test_certificate_that_has_expired_or_is_another_hosts_is_not_believed(
    workshop: Workshop,
    opa: Opa,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, object],
    said: str,
) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    write_certificates(folder, **options)
    for served in _serve(workshop, opa, folder):
        name_remote(monkeypatch, served.remote)
        code, message = _refusal(workshop)
    assert (code, said in message) == ("engine.certificate", True)


@pytest.mark.parametrize("token", ["wrong", None, TOKEN[:-1]])
def test_wrong_or_missing_token_is_refused(
    workshop: Workshop, by_token: RemoteOpa, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    name_remote(monkeypatch, replace(by_token.remote, token=token))
    code, message = _refusal(workshop)
    assert (code, "HTTP 401" in message) == ("engine.http", True)


def test_client_certificate_of_the_configured_identity_is_let_in(
    workshop: Workshop, by_certificate: RemoteOpa, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_remote(monkeypatch, replace(by_certificate.remote, token=None))
    answer = workshop.run("sidecar", "start", "--mode", "remote", "--json")
    assert (answer.code, answer.json.get("mode")) == (0, "remote")
    assert workshop.decide(a_change("augment")).effect == "require_approval"
    assert workshop.run("doctor", "--json").json["parts"][4]["ok"]


def test_missing_or_strange_client_certificate_is_refused(
    workshop: Workshop, by_certificate: RemoteOpa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = by_certificate.remote
    name_remote(monkeypatch, replace(remote, certificate=None, key=None))
    assert _refusal(workshop)[0] == "engine.client_certificate"
    strange = write_certificates(tmp_path)
    other = replace(remote, certificate=strange / "client.pem", key=strange / "client.key")
    name_remote(monkeypatch, other)
    start = workshop.run("sidecar", "start", "--mode", "remote", "--json")
    assert (start.code, start.json["error"]["code"]) == (3, "engine.client_certificate")


@pytest.mark.parametrize("absent", ["CERT", "KEY"])
def test_client_certificate_and_key_come_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    folder = write_certificates(tmp_path)
    both = Remote(
        "https://opa.example.com",
        certificate=folder / "client.pem",
        key=folder / "client.key",
    )
    name_remote(monkeypatch, both)
    monkeypatch.delenv(f"TIPSTAFF_OPA_CLIENT_{absent}")
    with pytest.raises(ContractError) as refused:
        Remote.from_environment()
    assert refused.value.code == "opa.certificate"
    assert refused.value.field == f"TIPSTAFF_OPA_CLIENT_{absent}"


def test_client_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    folder = write_certificates(tmp_path)
    for certificate, key in (("client.pem", "server.key"), ("ca.pem", "none"), ("none", "none")):
        remote = Remote(
            "https://opa.example.com", certificate=folder / certificate, key=folder / key
        )
        with pytest.raises(ContractError) as refused:
            RemoteTransport(remote)
        assert refused.value.code == "opa.certificate"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "absent"])
@pytest.mark.parametrize(
    ("part", "code"),
    [("ca", "opa.ca"), ("certificate", "opa.certificate"), ("key", "opa.certificate")],
)
def test_what_is_no_file_is_refused_and_never_waited_for(
    tmp_path: Path, part: str, code: str, kind: str
) -> None:
    folder = write_certificates(tmp_path)
    odd = tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "folder":
        odd.mkdir()
    elif kind == "device":
        odd.symlink_to("/dev/zero")
    files = {"certificate": folder / "client.pem", "key": folder / "client.key"}
    remote = replace(Remote("https://opa.example.com", **files), **{part: odd})
    for ask in (RemoteTransport, is_healthy):
        with pytest.raises(ContractError) as refused:
            ask(remote)
        assert refused.value.code == code
