"""The house rules that a program can check."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tipstaff
from support.readme import ROOT

_CODE = {".py", ".rego", ".sh"}
_HEAVY = ["opa_client", "requests", "aiohttp", "httpx", "jsonschema", "deepdiff", "sqlalchemy"]
_HEAVY += ["docker", "mcp", "rich", "github", "cryptography"]
_LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)))"


def test_no_source_file_is_longer_than_400_lines() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in tracked.stdout.split("\0") if Path(name).suffix in _CODE]
    lengths = {file: len(file.read_bytes().splitlines()) for file in files if file.exists()}
    assert len(lengths) > 50
    assert {file: length for file, length in lengths.items() if length > 400} == {}


def test_package_loads_nothing_heavy() -> None:
    assert _loaded("import tipstaff") == []


def test_help_loads_nothing_heavy() -> None:
    script = "from tipstaff.cli import main; main(['--help'])"
    assert _loaded(script, "pydantic") == []


def test_listing_requests_of_a_file_loads_nothing_heavy() -> None:
    call = ["governed-harness", "approvals", "--store", "absent.jsonl", "--json"]
    assert _loaded(f"from tipstaff.cli import main; main({call})") == []


def test_proposing_a_change_does_not_load_what_compares_contracts() -> None:
    loaded = _loaded("import tipstaff.healing.proposal", "tipstaff.drift", "tipstaff.healing")
    assert "tipstaff.healing" in loaded
    assert "tipstaff.drift" not in loaded


def test_public_names_resolve_and_are_documented() -> None:
    for name in tipstaff.__all__:
        value = getattr(tipstaff, name)
        if name != "__version__":
            assert inspect.getdoc(value), name


def test_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tipstaff.nonsense


def test_generated_files_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "cmd" / "generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.req("E-14")
def test_folder_cmd_does_not_hide_pythons_own_module() -> None:
    assert not (ROOT / "cmd" / "__init__.py").exists()
    for name in ("pyproject.toml", "policy", "cmd", "sandbox", "contracts", "tests", "README.md"):
        assert (ROOT / name).exists()
    pdb = subprocess.run(
        [sys.executable, "-m", "pdb", "-h"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "usage: pdb" in pdb.stdout, pdb.stderr


def _loaded(script: str, *more: str) -> list[str]:
    """Which heavy modules a fresh interpreter has loaded after a script."""
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\n{_LOADED}"], capture_output=True, text=True, check=True
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    return [name for name in modules if name in (*_HEAVY, *more)]
