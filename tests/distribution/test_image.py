"""The container image: what its file promises, and (by night) what the built image does."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support.installation import tracked
from support.readme import ROOT
from tipstaff import __version__
from tipstaff.pdp.opa import VERSION

DOCKERFILE = (ROOT / ".container" / "Dockerfile").read_text(encoding="utf-8")
_TAG = f"tipstaff-test:{os.getpid()}"


def test_bases_are_arguments_with_a_named_version() -> None:
    bases = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", DOCKERFILE, re.MULTILINE))
    used = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert {f"${{{name}}}" for name in bases} == set(used)
    assert [base for base in bases.values() if not re.search(r":\d+\.\d+-", base)] == []


def test_image_holds_the_version_of_opa_that_the_code_expects() -> None:
    assert re.findall(r"^ARG OPA_VERSION=(\S+)$", DOCKERFILE, re.MULTILINE) == [VERSION]


def test_image_runs_the_program_as_a_user_without_rights() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (\S+)$", last, re.MULTILINE) == ["10001:10001"]
    assert 'ENTRYPOINT ["tipstaff"]' in last
    assert "sudo" not in DOCKERFILE


def test_no_secret_is_built_in() -> None:
    settings = re.findall(r"^(?:ARG|ENV) (.*)$", DOCKERFILE, re.MULTILINE)
    assert settings
    assert [line for line in settings if re.search(r"token|secret|password|key", line, re.I)] == []


def test_build_sees_only_what_it_needs() -> None:
    listed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in listed if line and not line.startswith("#")]
    assert rules[0] == "*"
    seen = {line[1:] for line in rules if line.startswith("!")}
    assert seen == {*("cmd/tipstaff", "contracts", "policy", "sandbox")} | {
        *("LICENSE", "README.md", "pyproject.toml")
    }
    assert {name for name in seen if not (ROOT / name).exists()} == set()
    assert {"**/*.key", "**/*.pem"} <= set(rules)
    assert ".container/Dockerfile" in tracked()


@pytest.mark.nightly
@pytest.mark.network
def test_built_image_judges_a_governed_repository(project: Path) -> None:
    flags = shlex.split(os.environ.get("IMAGE_FLAGS", ""))
    for name, base in re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", DOCKERFILE, re.MULTILINE):
        known = any(flag.startswith(f"{name}=") for flag in flags)
        if not known and _docker("pull", "--quiet", base).returncode != 0:
            pytest.skip(
                f"{base} cannot be had here; IMAGE_FLAGS='--build-arg {name}=...' names another"
            )
    file = ROOT / ".container" / "Dockerfile"
    built = _docker("build", *flags, "--file", str(file), "--tag", _TAG, str(ROOT))
    assert built.returncode == 0, built.stdout[-4000:]
    try:
        seen = json.loads(_docker("image", "inspect", _TAG).stdout)[0]["Config"]
        assert seen["User"] == "10001:10001"
        assert _docker("run", "--rm", _TAG, "--version").stdout == f"tipstaff {__version__}\n"
        for verb in (["check"], ["policy", "test"], ["tiers", "--json"]):
            done = _docker(*_confined(project), _TAG, *verb)
            assert done.returncode == 0, done.stdout
    finally:
        _docker("image", "rm", "--force", _TAG)


def _confined(project: Path) -> list[str]:
    owner = f"--user={os.getuid()}:{os.getgid()}"
    confined = ["--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    return ["run", "--rm", *confined, owner, f"--volume={project}:/work"]


def _docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
