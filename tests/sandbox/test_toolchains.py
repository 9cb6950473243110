"""Finding what a program needs, without running anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tipstaff.errors import ContractError
from tipstaff.sandbox.toolchain import Host, find, find_interpreter


def program(path: Path, text: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def interpreter(prefix: Path) -> Path:
    (prefix / "lib/python3.11/site-packages").mkdir(parents=True)
    return program(prefix / "bin/python3.11")


def environment(folder: Path, base: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "lib/python3.11/site-packages").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\nversion = 3.11.7\n")
    (folder / "bin/python").symlink_to(base / "bin/python3.11")
    return folder / "bin/python"


def host(*folders: Path, **variables: str) -> Host:
    return Host(":".join(str(folder) for folder in folders), folders[0], variables)


def test_a_virtual_environment_brings_its_base(tmp_path: Path) -> None:
    base = tmp_path / "base"
    interpreter(base)
    python = environment(tmp_path / "project/.venv", base)
    found = find("python", host(python.parent))
    assert found.program == str(python)
    assert set(found.readonly) == {base, tmp_path / "project/.venv"}
    assert found.path == (str(python.parent),)


def test_an_environment_made_through_a_link_sees_the_link_too(tmp_path: Path) -> None:
    real = tmp_path / "store/cpython-3.11.7"
    interpreter(real)
    (tmp_path / "store/cpython-3.11").symlink_to(real)
    python = environment(tmp_path / "venv", tmp_path / "store/cpython-3.11")
    found = find(str(python), host(tmp_path))
    assert {real, tmp_path / "store/cpython-3.11"} <= set(found.readonly)


def test_a_script_brings_its_interpreter(tmp_path: Path) -> None:
    base = tmp_path / "base"
    interpreter(base)
    python = environment(tmp_path / "venv", base)
    script = program(tmp_path / "venv/bin/pytest", f"#!{python}\n")
    found = find("pytest", host(script.parent))
    assert found.program == str(script)
    assert {base, tmp_path / "venv"} <= set(found.readonly)


def test_a_script_of_the_users_own_brings_the_users_packages(tmp_path: Path) -> None:
    base = tmp_path / "base"
    interpreter(base)
    script = program(tmp_path / "local/bin/pytest", f"#!{base}/bin/python3.11\n")
    packages = tmp_path / "local/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    found = find("pytest", host(script.parent))
    assert packages in found.readonly
    assert tmp_path / "local" not in found.readonly
    assert found.user_base == tmp_path / "local"


@pytest.mark.parametrize("chosen_by", ["variable", "file", "default"])
def test_a_pyenv_shim_stands_for_the_chosen_version(tmp_path: Path, chosen_by: str) -> None:
    root, project = tmp_path / "pyenv", tmp_path / "project"
    project.mkdir()
    interpreter(root / "versions/3.11.7")
    (root / "versions/3.11.7/bin/python").symlink_to("python3.11")
    program(root / "shims/python", "#!/usr/bin/env bash\n")
    variables = {}
    if chosen_by == "variable":
        variables["PYENV_VERSION"] = "3.11.7"
    else:
        place = project / ".python-version" if chosen_by == "file" else root / "version"
        place.write_text("3.12.0\n3.11.7\n")
    found = find("python", Host(str(root / "shims"), project, variables))
    assert found.program == str(root / "versions/3.11.7/bin/python3.11")
    assert found.readonly == (root / "versions/3.11.7",)


def test_a_shim_that_stands_for_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyenv/versions").mkdir(parents=True)
    program(tmp_path / "pyenv/shims/python", "#!/usr/bin/env bash\n")
    with pytest.raises(ContractError) as raised:
        find("python", host(tmp_path / "pyenv/shims"))
    assert "shim" in raised.value.message


def test_another_program_brings_its_real_folder_only(tmp_path: Path) -> None:
    real = program(tmp_path / "tools/bin/runner")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/runner").symlink_to(real)
    found = find("runner", host(tmp_path / "bin"))
    assert (found.program, found.readonly) == (str(real), (real.parent,))


def test_a_program_of_the_system_brings_nothing() -> None:
    found = find("/bin/sh", Host("", Path("/"), {}))
    assert (found.program, found.readonly) == ("/bin/sh", ())


def test_editable_installations_are_found(tmp_path: Path) -> None:
    base = tmp_path / "base"
    interpreter(base)
    python = environment(tmp_path / "venv", base)
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    for name in ("one/src", "two"):
        (tmp_path / name).mkdir(parents=True)
    (packages / "one.pth").write_text(f"{tmp_path}/one/src\nimport os\n")
    (packages / "__editable___two_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'two': '{tmp_path}/two/two', 'n.s': '{tmp_path}/deep/n/s'}}\n"
    )
    found = find(str(python), host(tmp_path))
    assert set(found.sources) == {tmp_path / "one/src", tmp_path / "two", tmp_path / "deep"}


def test_scripts_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    program(tmp_path / "one", f"#!{tmp_path}/two\n")
    program(tmp_path / "two", f"#!{tmp_path}/one\n")
    with pytest.raises(ContractError):
        find("one", host(tmp_path))


def test_a_file_without_a_first_line_has_no_interpreter(tmp_path: Path) -> None:
    assert find_interpreter(program(tmp_path / "run", "echo\n"), host(tmp_path)) is None
    (tmp_path / "link").symlink_to("/bin/sh")
    assert find_interpreter(tmp_path / "link", host(tmp_path)) is None


def test_a_program_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o755)
    script = program(tmp_path / "script", f"#!{pipe}\n")
    for name in (str(pipe), str(script)):
        with pytest.raises(ContractError) as raised:
            find(name, host(tmp_path))
        assert raised.value.code == "tests.program_missing"


@pytest.mark.req("S-05")
@pytest.mark.parametrize("line", ["#!{place}", "#! {place} -x", "#!/usr/bin/env {place}"])
def test_a_script_of_the_input_has_no_program_shown_that_is_not_on_path(
    tmp_path: Path, line: str
) -> None:
    hidden = program(tmp_path / "private/bin/tool")
    script = program(tmp_path / "in/run", line.format(place=hidden) + "\n")
    with pytest.raises(ContractError) as raised:
        find_interpreter(script, host(tmp_path))
    assert "neither the system's nor on PATH" in raised.value.message
    found = find_interpreter(script, host(hidden.parent))
    assert found is not None
    assert found.readonly == (hidden.parent,)


@pytest.mark.parametrize("line", ["#!/bin/sh", "#!/usr/bin/env sh", "#!/usr/../bin/sh"])
def test_a_script_of_the_input_has_the_systems_interpreters(tmp_path: Path, line: str) -> None:
    found = find_interpreter(program(tmp_path / "run", f"{line}\n"), Host("/usr/bin", tmp_path))
    assert found is not None
    assert found.readonly == ()


def test_a_way_round_by_dots_is_no_system_folder(tmp_path: Path) -> None:
    hidden = program(tmp_path / "private/tool")
    script = program(tmp_path / "run", f"#!/usr/..{hidden}\n")
    with pytest.raises(ContractError):
        find_interpreter(script, Host("/usr/bin", tmp_path))
