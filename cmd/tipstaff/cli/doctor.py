"""`tipstaff doctor`: each part, whether it works, and what to do where it doesn't."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from tipstaff import git
from tipstaff.cli.output import json_option, print_json, print_table, say
from tipstaff.engine.policy import Policy
from tipstaff.errors import Error
from tipstaff.ledger.trail import Trail
from tipstaff.pdp.address import Remote
from tipstaff.pdp.opa import find
from tipstaff.pdp.places import witness_folder
from tipstaff.pdp.source import OVERLAY
from tipstaff.project import TEAM_FILE, Project, find_root, prepare, state_folder


@dataclass(frozen=True)
class Part:
    """One part as it was found. ``fix`` is empty where there is nothing to do."""

    part: str
    ok: bool
    version: str
    detail: str
    fix: str = ""


@click.command()
@click.option(
    "--chaos",
    is_flag=True,
    help="Make the engine in use fail in every way, and show what it denies.",
)
@json_option
def doctor(chaos: bool, as_json: bool) -> int:
    """Check every part and say how to repair it.

    The parts are git, configuration, OPA, bundles, sidecar, ledger, trail and isolation.

    Exits 0 when all of them work (with --chaos: when every fault denies in time) and 1 when one does not.
    """
    if chaos:
        return _chaos(as_json)
    parts = [_examine(name, look) for name, look in _PARTS.items()]
    if as_json:
        print_json({"parts": [asdict(part) for part in parts]})
    else:
        print_table(
            ["PART", "STATE", "VERSION", "DETAIL"],
            [[part.part, "ok" if part.ok else "FAIL", part.version, part.detail] for part in parts],
        )
        for part in parts:
            if part.fix:
                say(f"{part.part}: {part.fix}")
    return 0 if all(part.ok for part in parts) else 1


def _chaos(as_json: bool) -> int:
    from tipstaff.engine.chaos import reproduce

    table = reproduce(Project.find(), say)
    if as_json:
        print_json({**asdict(table), "holds": table.holds})
        return 0 if table.holds else 1
    print_table(
        ["FAULT", "EFFECT", "CODE", "MS", "IN TIME"],
        [[row.fault, row.effect, " ".join(row.codes), row.ms, row.in_time] for row in table.rows],
    )
    failing = [row.fault for row in table.rows if not row.holds]
    say(f"mode {table.mode}, deadline {table.deadline_s:g} s, {len(table.rows)} faults")
    say(f"not denied in time: {', '.join(failing)}" if failing else "every one denied in time")
    return 0 if table.holds else 1


def _examine(name: str, look: Callable[[str], Part]) -> Part:
    try:
        return look(name)
    except Error as error:
        return Part(name, False, "", f"{error} [{error.code}]", error.fix)


def _git(name: str) -> Part:
    if shutil.which("git") is None:
        return Part(name, False, "", "not on PATH", "install git")
    from tipstaff.evidence.repository import Repository

    version = git.run(("--version",), git.Call(Path())).out.decode("utf-8", "replace")
    repository = Repository.open(Path())
    return Part(name, True, version.split()[2], f"repository {repository.root}")


def _config(name: str) -> Part:
    project = Project.find()
    if project.team is None:
        return Part(name, True, "", f"no {TEAM_FILE}; built-in tiers hold", "run `tipstaff init`")
    local = "with a local file" if project.local else "no local file"
    return Part(name, True, "1", f"{project.team.path}, {local}")


def _opa(name: str) -> Part:
    opa = find()
    if opa is None:
        return Part(
            name, False, "", "not found", "put opa on PATH, set TIPSTAFF_OPA, or install Go"
        )
    return Part(name, True, opa.version, str(opa.path))


def _bundles(name: str) -> Part:
    from tipstaff.cli.policy.verify import expiry

    policy = Policy(Project.find(), say)
    bundles = policy.bundles()
    for bundle in bundles:
        if bundle.expires_at:
            expiry(bundle, policy)
    if policy.public_key() and not any(bundle.name == OVERLAY for bundle in bundles):
        fix = "restore the overlay's bundle, or remove policy.public_key from tipstaff.yaml"
        return Part(name, False, "", "a key is named, and there is no overlay", fix)
    revisions = ", ".join(bundle.revision for bundle in bundles)
    ends = [f", {bundle.name} until {bundle.expires_at}" for bundle in bundles if bundle.expires_at]
    return Part(name, True, revisions, f"{len(bundles)} signed, signatures hold{''.join(ends)}")


def _sidecar(name: str) -> Part:
    policy, remote = Policy(Project.find(), say), Remote.from_environment()
    if remote is not None:
        return _remote(name, policy, remote)
    if policy.mode == "docker":
        with policy.client() as client:
            client.check()
        return Part(name, True, "", "the container answers on the expected revisions")
    running = policy.sidecar()
    return Part(name, True, running.opa.version, f"ready, pid {running.pid}")


def _remote(name: str, policy: Policy, remote: Remote) -> Part:
    from tipstaff.pdp.admin import is_healthy

    if not is_healthy(remote):
        fix = "start it, or correct TIPSTAFF_OPA_URL and the variables beside it"
        return Part(name, False, "", f"{remote.url} does not say that it is healthy", fix)
    with policy.client() as client:
        client.check()
    return Part(name, True, "", f"{remote.url} is healthy and runs the expected revisions")


def _ledger(name: str) -> Part:
    from tipstaff.ledger.database import open_database

    database = open_database(prepare(state_folder(find_root(Path()))))
    database.dispose()
    return Part(name, True, sqlite3.sqlite_version, "opens with full synchronisation")


def _trail(name: str) -> Part:
    with Trail(state_folder(find_root(Path())), witness=witness_folder()) as trail:
        result = trail.verify()
    if result.is_valid:
        return Part(name, True, "", f"{result.records} records, chain and checkpoint hold")
    first = result.problems[0]
    return Part(name, False, "", first.message, "run `tipstaff audit verify` and keep a copy")


def _isolation(name: str) -> Part:
    from tipstaff.sandbox.selection import survey

    probes = survey()
    working = [probe for probe in probes if probe.available]
    if not working:
        reasons = "; ".join(f"{probe.backend}: {probe.reason}" for probe in probes)
        fixes = "; ".join(probe.fix for probe in probes if probe.fix)
        return Part(name, False, "", reasons, fixes or "install bubblewrap")
    best = working[0]
    return Part(
        name, True, best.version or "", f"{best.backend} holds {', '.join(sorted(best.held))}"
    )


_PARTS: dict[str, Callable[[str], Part]] = {
    "git": _git,
    "config": _config,
    "opa": _opa,
    "bundles": _bundles,
    "sidecar": _sidecar,
    "ledger": _ledger,
    "trail": _trail,
    "isolation": _isolation,
}
