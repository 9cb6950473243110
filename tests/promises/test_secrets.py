"""No secret is kept or shown, in whatever form and through whatever door it came."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.documents import a_change, complete
from support.repositories import git
from support.sidecars import keeper_of
from support.workshop import GOLDEN, Workshop
from tipstaff.documents.redaction import FIELDS, REDACTED, redact, redact_text
from tipstaff.errors import ForgeError
from tipstaff.pdp import sidecar

CANARY = "Kestrel7Canary0Zq9Xw3"
# Ways in which the canary stands in a text.
TEXTS = {
    "github": f"ghp_{CANARY}",
    "github fine-grained": f"github_pat_{CANARY}",
    "github server": f"ghs_{CANARY}",
    "gitlab": f"glpat-{CANARY}",
    "slack": f"xoxb-{CANARY}",
    "npm": f"npm_{CANARY}0123456789",
    "pypi": f"pypi-{CANARY}0123456789",
    "hugging face": f"hf_{CANARY}",
    "google": f"AIza{CANARY}0123456789",
    "google access": f"ya29.{CANARY}",
    "openai": f"sk-{CANARY}",
    "stripe": f"sk_live_{CANARY}",
    "sendgrid": f"SG.{CANARY}.{CANARY}",
    "jwt": f"eyJhbGciOi.{CANARY}.sig",
    "bearer": f"Bearer {CANARY}",
    "basic": f"basic {CANARY}==",
    "header": f"Authorization: Bearer {CANARY}",
    "header of a token": f"authorization: token {CANARY}",
    "header of one word": f"Authorization: {CANARY}",
    "header of a key": f"X-Api-Key: {CANARY}",
    "cookie": f"Cookie: {CANARY}",
    "address": f"https://alice:{CANARY}@example.com/x.git",
    "address of a token": f"https://{CANARY}@example.com/x.git",
    "database": f"postgresql://app:{CANARY}@db/x",
    "option": f"deploy --password {CANARY}",
    "option with a sign": f"deploy --api-key={CANARY} now",
    "quoted option": f"deploy --token '{CANARY} and more'",
    "variable": f"GITHUB_TOKEN={CANARY} make",
    "lower-case variable": f"db_password={CANARY}",
    "yaml": f"password: {CANARY}",
    "json": f'{{"client_secret": "{CANARY}"}}',
    "query": f"https://example.com/?access_token={CANARY}&x=1",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----",
    "cut private key": f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
}
# Ways in which it is the value of a field.
MEMBERS: dict[str, Any] = {
    "password": {"password": CANARY},
    "api key": {"headers": {"x-api-key": CANARY}},
    "list": {"tokens": 3, "refreshToken": [CANARY, CANARY]},
    "inner": {"deep": [{"AWS_SECRET_ACCESS_KEY": {"value": CANARY}}]},
    "cookie": {"Set-Cookie": CANARY},
    "number": {"signing_key": CANARY, "pass_phrase": None, "clientSecret": 7},
}
FORMS: dict[str, Any] = {**TEXTS, **MEMBERS}


@pytest.mark.promise("L7", "row 93")
@pytest.mark.parametrize("form", FORMS)
def test_secret_in_this_form_is_taken_out_and_the_rest_stays(form: str) -> None:
    value = {"before": "kept", "it": FORMS[form], "after": f"see {FORMS[form]} here"}
    if form in TEXTS:
        assert CANARY not in redact_text(TEXTS[form])
        assert redact_text(f"so {TEXTS[form]}").startswith("so ")
    else:
        value["after"] = "kept"
    shown = redact(value)
    assert CANARY not in json.dumps(shown)
    assert (shown["before"], REDACTED in json.dumps(shown)) == ("kept", True)
    assert redact(shown) == shown


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_taking_out_twice_takes_out_no_more(text: str) -> None:
    assert redact_text(redact_text(text)) == redact_text(text)


def test_ordinary_talk_is_left_alone() -> None:
    for text in (
        "the second confirmation lacks the first one's token, or came too late",
        "approval.token: a wrong or late token ends the sequence",
        "the forge did not accept the token",
        "tests/test_tokens.py::test_secret_is_kept",
        "--authorization=basic",
        "git@github.com:alice/x.git",
        "ssh://git@example.com/x",
        "python -m pytest -q golden",
        "a basic change of 3 files",
    ):
        assert redact_text(text) == text
    assert redact({"public_key": "pem", "token": True, "tokens": 3, "key": "k"}) == {
        "public_key": "pem",
        "token": True,
        "tokens": 3,
        "key": "k",
    }
    assert all(name == name.lower() and name.isalpha() for name in FIELDS)


def sinks(workshop: Workshop, home: Path) -> dict[str, bytes]:
    """Every file that Tipstaff writes: the state, the keys' folder, the witness; and what runs of OPA show."""
    found = {
        str(path): path.read_bytes()
        for root in (workshop.state, home)
        for path in root.rglob("*")
        if path.is_file() and "pytest" not in path.parts
    }
    for running in sidecar.status(workshop.state):
        joined = sidecar.Sidecar(running.directory, running.directory, running.pid, (), None)  # type: ignore[arg-type]
        for pid in (running.pid, keeper_of(joined)):
            for name in ("cmdline", "environ"):
                found[f"{pid}/{name}"] = Path(f"/proc/{pid}/{name}").read_bytes()
    return found


@pytest.mark.promise("L7", "row 93")
def test_secret_given_through_any_door_reaches_no_sink(
    project: Path,
    person: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    workshop = Workshop(project)
    for name in ("TIPSTAFF_OPA_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL"):
        monkeypatch.setenv(name, CANARY)
    said = []
    with workshop.engine() as engine:
        for form in FORMS.values():
            pin = {"server": "s", "path": form if isinstance(form, str) else "p"}
            evidence = {**a_change()["evidence"], "drift": {"contracts": [pin]}}
            engine.decide(a_change(evidence=evidence))
            facts = {"arguments": {"it": form}}
            engine.decide(
                {
                    **a_change(),
                    "kind": "action",
                    "action": facts,
                    "resource": facts,
                    "evidence": facts,
                }
            )
        revisions = engine.policy.revisions()
    command = f"env API_TOKEN={CANARY} {GOLDEN} --deselect https://x:{CANARY}@example.com"
    said.append(workshop.propose_cli(workshop.diff(), "--tests", command, "--json"))
    said.append(workshop.propose_cli(workshop.diff(), "--tests", command))
    key = workshop.run("approvals", "list", "--json").json["requests"][0]["key"]
    verbs = (["approvals", "show", key], ["audit", "list"], ["change", "list"], ["audit", "export"])
    said += [workshop.run(*verb) for verb in verbs]
    said.append(workshop.run("approvals", "reject", key, "--note", f"no: password={CANARY}"))
    said.append(workshop.run("approvals", "show", key, "--json"))
    replayed = complete(a_change(evidence__tests__command=TEXTS["github"]), revisions)
    said.append(
        workshop.run("decide", "-", "--replay", "--json", stdin=json.dumps(replayed).encode())
    )
    git(workshop.root, "remote", "add", "origin", f"https://x:{CANARY}@127.0.0.1:9/a/b.git")
    said.append(workshop.propose_cli(workshop.diff({"README.md": "# One more\n"})))
    said.append(workshop.run("doctor"))

    def refuse(*_: object, **__: object) -> None:
        raise ForgeError("forge.refused", f"Authorization: Bearer {CANARY}", fix=f"token={CANARY}")

    monkeypatch.setattr("tipstaff.enforce.forge.LocalForge.open", refuse)
    git(workshop.root, "remote", "remove", "origin")
    said.append(workshop.propose_cli(workshop.diff({"README.md": "# Two\n"}), "--json"))
    assert "forge.refused" in said[-1].stdout
    shown = {str(place): one.stdout + one.stderr for place, one in enumerate(said)}
    assert [place for place, text in shown.items() if CANARY in text] == []
    kept = sinks(workshop, person)
    assert [place for place, data in kept.items() if CANARY.encode() in data] == []
    assert workshop.is_sound()
    record_property("L7", f"{len(FORMS)} forms, {len(kept)} files and {len(said)} outputs, 0 hits")
