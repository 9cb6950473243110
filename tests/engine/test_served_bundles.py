"""A remote OPA that loads our two signed bundles by itself: from a plain HTTP server, and from an OCI registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.bundle_server import BundleServer, Registry
from support.documents import a_change, an_act
from support.engines import RemoteOpa, name_remote
from support.sidecars import WIDE_S, wait_until
from support.workshop import AUTOMATIC, Workshop
from tipstaff.errors import DecisionError
from tipstaff.pdp import archive
from tipstaff.pdp.bundle import Bundle, overlay_file
from tipstaff.pdp.client import Client
from tipstaff.pdp.opa import Opa
from tipstaff.pdp.remote import RemoteTransport

RULE = 'package org.house\n\ndeny contains "{0}" if input.kind == "change"\n'
DAYS = 10


@dataclass
class Stand:
    """A project, what serves its bundles, and the OPA that loads them from there."""

    workshop: Workshop
    server: BundleServer
    served: RemoteOpa

    def sign(self, word: str) -> Bundle:
        """Sign an overlay that denies changes with a word; its bundle, which is not published."""
        return _sign(self.workshop, word)[1]

    def publish(self, bundle: Bundle) -> None:
        """Serve the bundle's file, and wait until OPA has dealt with what it fetched."""
        self.server.publish(bundle)
        self.pass_by(bundle.name)

    def pass_by(self, name: str) -> None:
        """Wait until OPA has come for the bundle, and, having dealt with the answer, once more."""
        before = self._asked(name)
        wait_until(lambda: self._asked(name) >= before + 2)

    def answers_for(self, *bundles: Bundle) -> str | None:
        """The code by which a client that expects these bundles refuses what OPA says; None if it takes it."""
        revisions = {bundle.name: bundle.revision for bundle in bundles}
        transport = RemoteTransport(self.served.remote)
        try:
            with Client(transport, revisions=revisions, deadline_s=WIDE_S) as client:
                client.check()
        except DecisionError as error:
            return error.code
        return None

    def said(self) -> tuple[str, list[str]]:
        """The effect of a change, and what the overlay says of it, or else the codes."""
        verdict = self.workshop.decide(a_change())
        house = [reason.message for reason in verdict.reasons if reason.code == "org.house"]
        return verdict.effect, house or verdict.codes

    def _asked(self, name: str) -> int:
        asked = dict(self.server.asked)
        return sum(count for path, count in asked.items() if self.server.is_about(path, name))


def _sign(workshop: Workshop, word: str) -> tuple[Bundle, ...]:
    file = workshop.root / "policy/org/house/house.rego"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(RULE.format(word))
    signed = workshop.run("policy", "sign", "--expires", f"{DAYS}d", "--json")
    assert signed.code == 0, signed.stderr
    with workshop.engine() as engine:
        return engine.policy.bundles()


@pytest.fixture(params=[BundleServer, Registry])
def stand(
    request: pytest.FixtureRequest,
    workshop: Workshop,
    opa: Opa,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stand]:
    """The first overlay says "one"; OPA has loaded it and ours."""
    workshop.configure(autonomy=AUTOMATIC)
    bundles = _sign(workshop, "one")
    for name in ("store", "opa"):
        (tmp_path / name).mkdir()
    with request.param(tmp_path / "store") as server:
        for bundle in bundles:
            server.publish(bundle)
        settings = server.settings(bundles, tmp_path / "opa/persisted")
        served = RemoteOpa(tmp_path / "opa", opa, bundles, settings=settings)
        name_remote(monkeypatch, served.remote)
        try:
            yield Stand(workshop, server, served)
        finally:
            served.end()


@pytest.mark.req("E-08")
@pytest.mark.promise("B1", "B2", "B3", "row 43", "row 45", "row 48", "row 54", "BR-14")
def test_served_bundles_are_activated_only_as_signed_and_answer_only_as_expected(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stand.workshop.engine() as engine:
        ours, first = engine.policy.bundles()
    assert ours.public_key != first.public_key
    assert stand.answers_for(ours, first) is None
    assert stand.said() == ("deny", ["one"])
    old = overlay_file(stand.workshop.root / "policy").read_bytes()

    tampered = replace(first, file=tmp_path / "tampered.tar.gz")
    files = archive.unpack(old)
    [rego] = [path for path, content in files.items() if b'contains "one"' in content]
    tampered.file.write_bytes(
        archive.pack({**files, rego: files[rego].replace(b'"one"', b'"six"')})
    )
    stand.publish(tampered)
    assert stand.said() == ("deny", ["one"])

    second = stand.sign("two")
    assert stand.said() == ("deny", ["engine.revision"])
    stand.publish(second)
    assert stand.answers_for(ours, second) is None
    assert stand.said() == ("deny", ["two"])

    older = replace(first, file=tmp_path / "older.tar.gz")
    older.file.write_bytes(old)
    stand.publish(older)
    assert stand.answers_for(ours, first) is None
    assert stand.said() == ("deny", ["engine.revision"])

    stand.publish(second)
    stand.server.is_failing = True
    stand.pass_by("org")
    assert stand.said() == ("deny", ["two"])
    assert stand.workshop.decide(an_act("resume")).codes == ["control.granted"]
    past = datetime.now(UTC) + timedelta(days=DAYS)
    monkeypatch.setattr(
        "tipstaff.engine.engine.timestamp", lambda: past.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    )
    for failing in (True, False):
        stand.server.is_failing = failing
        stand.pass_by("org")
        verdict = stand.workshop.decide(an_act("resume"))
        assert (verdict.effect, verdict.codes) == ("escalate", ["bundle.expired"])
