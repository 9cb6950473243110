"""What a command's server is made of: its code and packages, the same on each machine that has the same ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.repositories import git
from tipstaff.drift.observing import origin
from tipstaff.drift.observing.origin import Origin, find


def environment(folder: Path, code: str = "TOOLS = []\n", version: str = "1.2.3") -> Path:
    """A virtual environment with a server, what it needs, what only an extra needs, and something else."""
    site = folder / "lib" / "python3.11" / "site-packages"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    script = folder / "bin" / "weather-server"
    script.write_text(f"#!{folder}/bin/python\nimport weather\n")
    script.chmod(0o755)
    needs = ["base_lib>=1", 'slow-lib; extra == "slow"', 'tested[fast]; python_version > "3"']
    package(site, "weather", version, {"weather/__init__.py": code}, needs)
    package(site, "base.lib", "4.0", {"base_lib.py": ""})
    package(site, "slow-lib", "5.0", {"slow_lib.py": ""})
    package(site, "tested", "6.0", {"tested.py": ""}, ['quick; extra == "fast"'])
    package(site, "quick", "7.0", {"quick.py": ""})
    package(site, "unrelated", "8.0", {"unrelated.py": ""})
    entry = site / f"weather-{version}.dist-info" / "entry_points.txt"
    entry.write_text("[console_scripts]\nweather-server = weather:main\n")
    return folder


def package(
    site: Path, name: str, version: str, files: dict[str, str], needs: list[str] | None = None
) -> None:
    info = f"{name}-{version}.dist-info"
    (site / info).mkdir(parents=True)
    requires = "".join(f"Requires-Dist: {need}\n" for need in needs or [])
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
    (site / info / "METADATA").write_text(metadata)
    for path, text in files.items():
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_text(text)
    rows = [*files, f"{info}/METADATA", f"{info}/RECORD", f"{info}/INSTALLER", "../../../bin/x"]
    (site / info / "INSTALLER").write_text(site.parts[-5])
    (site / info / "RECORD").write_text("".join(f"{row},,\n" for row in rows))


def of(folder: Path, root: Path) -> Origin:
    return find([str(folder / "bin" / "weather-server")], root)


def test_console_script_stands_for_its_package_and_what_that_needs(tmp_path: Path) -> None:
    found = of(environment(tmp_path / "one"), tmp_path)
    assert found.dependencies == {
        "base-lib": "4.0",
        "quick": "7.0",
        "tested": "6.0",
        "weather": "1.2.3",
    }
    assert tmp_path / "one" in found.readonly
    by_module = find([str(tmp_path / "one/bin/python"), "-m", "weather"], tmp_path)
    assert by_module.dependencies == found.dependencies
    assert by_module.executable_sha256 == found.executable_sha256


@pytest.mark.promise("row 116")
def test_code_of_a_package_is_digested_wherever_it_lies(tmp_path: Path) -> None:
    one, two = (of(environment(tmp_path / name), tmp_path) for name in ("one", "two"))
    assert one.executable_sha256 == two.executable_sha256
    changed = of(environment(tmp_path / "three", "TOOLS = ['evil']\n"), tmp_path)
    assert changed.executable_sha256 != one.executable_sha256
    assert changed.dependencies == one.dependencies


def modules(folder: Path, code: str = "serve()\n") -> Path:
    """A folder of modules with a server, what it needs, and another version of that further in."""
    for place, needs in {
        "@acme/weather": {"base": "^1"},
        "base": {},
        "other": {"base": "^2"},
        "@acme/weather/node_modules/deep": {"base": "*"},
    }.items():
        home = folder / "node_modules" / place
        home.mkdir(parents=True, exist_ok=True)
        manifest = {"name": place.split("node_modules/")[-1], "version": "1.0.0"}
        (home / "package.json").write_text(json.dumps({**manifest, "dependencies": needs}))
    main = folder / "node_modules/@acme/weather/main.js"
    main.write_text(f"#!/usr/bin/env node\n{code}")
    main.chmod(0o755)
    (folder / "node_modules/.bin").mkdir()
    (folder / "node_modules/.bin/weather").symlink_to("../@acme/weather/main.js")
    return folder


@pytest.mark.parametrize("words", [["{}/.bin/weather"], ["node", "{}/@acme/weather/main.js"]])
def test_script_of_npm_stands_for_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").write_bytes(b"\x7fELF")
    (tmp_path / "bin" / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    folder = modules(tmp_path / "app") / "node_modules"
    found = find([word.format(folder) for word in words], tmp_path)
    assert found.dependencies == {"@acme/weather": "1.0.0", "base": "1.0.0"}
    assert folder in found.readonly
    other = modules(tmp_path / "changed", "evil()\n") / "node_modules"
    changed = find([word.format(other) for word in words], tmp_path)
    assert changed.executable_sha256 != found.executable_sha256


def test_file_of_the_project_is_seen_in_a_copy_of_what_git_knows(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "servers").mkdir(parents=True)
    git(root, "init", "-q")
    (root / ".gitignore").write_text("secret.env\n")
    (root / "secret.env").write_text("TOKEN=x\n")
    (root / "servers" / "weather.py").write_text("serve()\n")
    (root / ".tipstaff").mkdir()
    (root / ".tipstaff" / "state").write_text("kept\n")
    found = find([sys.executable, "servers/weather.py", "--town", "Bern"], root)
    work = found.workdir(tmp_path)
    kept = sorted(path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file())
    assert kept == [".gitignore", "servers/weather.py"]
    assert found.command_in("/work")[1:] == ["servers/weather.py", "--town", "Bern"]
    assert root not in found.readonly


def test_path_that_the_command_names_is_seen_in_place(tmp_path: Path) -> None:
    data, script = tmp_path / "data", tmp_path / "code" / "weather.py"
    data.mkdir()
    script.parent.mkdir()
    script.write_text("serve()\n")
    root = tmp_path / "elsewhere"
    root.mkdir()
    found = find([sys.executable, str(script), str(data)], root)
    assert {data, script.parent} <= set(found.readonly)
    assert found.project is None


def test_what_differs_between_starts_is_set(tmp_path: Path) -> None:
    variables = find([sys.executable, "-V"], tmp_path).variables("/usr/bin")
    assert variables.items() >= origin.FIXED.items()
