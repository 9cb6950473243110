"""The order of backends is fixed: configuration leaves some out, and never changes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.sandboxes import strict
from tipstaff.errors import ContractError, SandboxError
from tipstaff.evidence.isolation import configured
from tipstaff.project import Project
from tipstaff.sandbox import selection


def project(folder: Path, team: str, local: str | None = None) -> Project:
    """A project with these sandbox settings in its files."""
    (folder / ".git").mkdir()
    (folder / "tipstaff.yaml").write_text(f"schema_version: 1\nsandbox: {team}\n")
    if local is not None:
        (folder / "tipstaff.local.yaml").write_text(f"schema_version: 1\nsandbox: {local}\n")
    return Project.find(folder)


@pytest.mark.req("S-02")
def test_of_all_that_work_the_strongest_runs() -> None:
    working = [probe.backend for probe in selection.survey() if probe.available]
    assert len(working) >= 2
    assert selection.strongest(strict()).name == working[0]
    assert [kind.name for kind in selection.KINDS if kind.name in working] == working


@pytest.mark.req("S-02")
def test_a_backend_that_is_left_out_does_not_run() -> None:
    assert selection.strongest(strict(), only=("nsjail",)).name == "nsjail"
    assert selection.strongest(strict(), only=("bubblewrap", "nsjail")).name == "bubblewrap"
    with pytest.raises(SandboxError) as raised:
        selection.strongest(strict(), only=())
    assert raised.value.code == "sandbox.unavailable"
    assert "leaves no backend" in raised.value.message


@pytest.mark.req("S-02")
@pytest.mark.parametrize(
    "order",
    [
        ("nsjail", "bubblewrap"),
        ("bubblewrap", "gvisor"),
        ("gvisor", "firecracker", "nsjail"),
        ("nsjail", "nsjail"),
    ],
)
def test_another_order_is_refused_and_the_right_one_named(order: Sequence[str]) -> None:
    with pytest.raises(ContractError) as raised:
        selection.kinds(order)
    assert (raised.value.code, raised.value.exit_code) == ("sandbox.reorder", 2)
    assert raised.value.fix.startswith("leave some out")


@pytest.mark.parametrize("word", ["none", "docker", "runsc", "Bubblewrap", ""])
def test_a_word_that_is_no_backend_is_refused(word: str) -> None:
    with pytest.raises(ContractError) as raised:
        selection.kinds((word,))
    assert (raised.value.code, raised.value.exit_code) == ("document.invalid", 2)


@pytest.mark.req("S-02")
@pytest.mark.parametrize("file", ["team", "local"])
def test_another_order_in_a_file_is_an_error_that_names_file_and_field(
    tmp_path: Path, file: str
) -> None:
    wrong = "{backends: [nsjail, bubblewrap]}"
    with pytest.raises(ContractError) as raised:
        project(tmp_path, *((wrong,) if file == "team" else ("{profile: strict}", wrong)))
    assert (raised.value.code, raised.value.exit_code) == ("sandbox.reorder", 2)
    assert raised.value.field == "sandbox.backends"
    assert (raised.value.file or "").endswith(".yaml")


@pytest.mark.req("S-02")
@pytest.mark.parametrize(
    ("team", "local", "left"),
    [
        ("{}", None, None),
        ("{backends: [bubblewrap, nsjail]}", None, ("bubblewrap", "nsjail")),
        ("{}", "{backends: [nsjail]}", ("nsjail",)),
        ("{backends: [gvisor, nsjail]}", "{backends: [bubblewrap, nsjail]}", ("nsjail",)),
        ("{backends: [gvisor]}", "{backends: [bubblewrap]}", ()),
        ("{backends: []}", None, ()),
    ],
)
def test_the_local_file_only_leaves_more_out(
    tmp_path: Path, team: str, local: str | None, left: tuple[str, ...] | None
) -> None:
    assert configured(project(tmp_path, team, local)).backends == left


@pytest.mark.req("S-11")
@pytest.mark.promise("row 106", "row 107")
@pytest.mark.parametrize("key", ["deny_network", "allow_network", "enabled"])
@pytest.mark.parametrize("value", ["true", "false", "[]", '["*"]', '["*.com", "*.com"]'])
@pytest.mark.parametrize("file", ["team", "local"])
def test_neither_network_nor_isolation_is_a_setting(
    tmp_path: Path, file: str, key: str, value: str
) -> None:
    wrong = f"{{{key}: {value}}}"
    with pytest.raises(ContractError) as raised:
        project(tmp_path, *((wrong,) if file == "team" else ("{profile: strict}", wrong)))
    assert raised.value.exit_code == 2
    assert raised.value.field == f"sandbox.{key}"


@pytest.mark.parametrize("key", ["cpu_s", "memory_mb", "wall_s", "processes"])
@pytest.mark.parametrize(
    "value", ["0", "-1", ".nan", ".inf", "1.5", "true", '"1"', "1e99", "9" * 30]
)
def test_an_absurd_limit_is_an_error_that_names_the_key(
    tmp_path: Path, key: str, value: str
) -> None:
    with pytest.raises(ContractError) as raised:
        project(tmp_path, f"{{limits: {{{key}: {value}}}}}")
    assert raised.value.exit_code == 2
    assert raised.value.field in (f"sandbox.limits.{key}", None)
