"""The declared profiles, and what happens to one that is not as it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tipstaff.documents.config import Limits
from tipstaff.errors import ContractError
from tipstaff.sandbox.backend import PROTECTIONS
from tipstaff.sandbox.profile import limited, load

STRICT = (Path(__file__).parents[2] / "sandbox/profiles/strict.yaml").read_text()


@pytest.mark.req("S-04")
def test_strict_has_the_default_limits_and_requires_every_protection() -> None:
    profile = load("strict")
    limits = profile.limits
    assert (limits.cpu_s, limits.memory_mb, limits.wall_s, limits.processes) == (30, 512, 60, 64)
    assert (limits.output_bytes, limits.file_size_mb, limits.scratch_mb) == (1 << 20, 32, 64)
    assert profile.isolated
    assert set(profile.required_protections) == set(PROTECTIONS)


def test_dev_differs_from_strict_in_isolation_and_warm_runs_only() -> None:
    strict, dev = load("strict").model_dump(), load("dev").model_dump()
    differing = {key for key in strict if strict[key] != dev[key]}
    assert differing == {"name", "isolated", "warm", "required_protections"}
    assert (strict["warm"], dev["warm"], dev["isolated"]) == (False, True, False)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("wall_s: 60", "wall_s: 0", "limits.wall_s"),
        ("wall_s: 60", 'wall_s: "60"', "limits.wall_s"),
        ("wall_s: 60", "wall_seconds: 60", "limits"),
        ("name: strict", "name: dev", "name"),
        ("  - network", "  - netwrok", "required_protections"),
        ("  - /usr\n", "  - usr\n", "system_paths"),
        ("isolated: true", "isolated: true\nisolated: false", None),
        ("schema_version: 1", "schema_version: 2", "schema_version"),
    ],
)
def test_a_wrong_profile_is_refused_naming_the_field(
    tmp_path: Path, old: str, new: str, field: str | None
) -> None:
    assert old in STRICT
    (tmp_path / "strict.yaml").write_text(STRICT.replace(old, new))
    with pytest.raises(ContractError) as raised:
        load("strict", folder=tmp_path)
    assert raised.value.file == str(tmp_path / "strict.yaml")
    assert field is None or (raised.value.field or "").startswith(field)


def test_an_unknown_profile_is_refused_naming_the_known_ones() -> None:
    with pytest.raises(ContractError) as raised:
        load("../strict")
    assert "strict" in raised.value.fix


def test_the_team_sets_limits_and_the_local_file_only_lowers_them() -> None:
    profile = limited(
        load("strict"),
        team=Limits(wall_s=300, memory_mb=256),
        local=Limits(wall_s=100, memory_mb=900),
    )
    assert (profile.limits.wall_s, profile.limits.memory_mb, profile.limits.cpu_s) == (100, 256, 30)
