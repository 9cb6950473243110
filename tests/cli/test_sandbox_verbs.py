"""What a person sees of isolation: backends probed, one command run, the suite's matrix; and what they mistype."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from support.command_line import Result, run
from support.leaky import LeakyBackend
from tipstaff.errors import ContractError
from tipstaff.sandbox import selection, transfer
from tipstaff.sandbox.backend import PROTECTIONS

VERB = "tipstaff.cli.sandbox.run"
SCRIPT = "#!/bin/sh\ncat /work/a.txt\nmkdir -p /scratch/out/.git/hooks\n"
SCRIPT += (
    "echo made > /scratch/out/made; cp /bin/true /scratch/out/.git/hooks/pre-commit\nexit ${1:-0}\n"
)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder with a script, run where nothing else is."""
    return with_script(tmp_path / "in")


def with_script(folder: Path) -> Path:
    """Make the folder, with a script and what it reads."""
    folder.mkdir()
    (folder / "a.txt").write_text("seen\n")
    (folder / "go.sh").write_text(SCRIPT)
    (folder / "go.sh").chmod(0o755)
    return folder


def sandboxed(given: Path, *arguments: str | Path) -> Result:
    """``tipstaff sandbox run`` beside the folder."""
    return run("sandbox", "run", *arguments, cwd=given.parent)


@pytest.mark.req("S-10")
def test_output_is_printed_and_what_was_asked_for_is_handed_back(given: Path) -> None:
    answer = sandboxed(given, "--input", "in", "--collect", "out", "--", "./go.sh")
    assert (answer.code, answer.stdout) == (0, "seen\n")
    assert "handed back: /scratch/out/made" in answer.stderr
    out = given.parent / "sandbox-output/out"
    assert (out / "made").read_text() == "made\n"


@pytest.mark.promise("X8", "row 104", "BR-28")
def test_what_is_handed_back_is_neither_a_program_nor_in_a_place_that_runs_it(given: Path) -> None:
    (given.parent / ".git").mkdir()
    answer = sandboxed(given, "--input", "in", "--collect", "out", "--", "./go.sh")
    assert answer.code == 0
    assert os.listdir(given.parent / ".git") == []
    hook = given.parent / "sandbox-output/out/.git/hooks/pre-commit"
    assert stat.S_IMODE(hook.stat().st_mode) & 0o111 == 0


@pytest.mark.req("S-10")
def test_record_has_the_commands_own_exit_code_and_the_process_says_that_it_failed(
    given: Path,
) -> None:
    answer = sandboxed(
        given, "--json", "--input", "in", "--collect", "out/made", "--", "./go.sh", "7"
    )
    assert answer.code == 1
    record = answer.json
    assert record["exit_code"] == 7
    assert set(record["held"]) == set(PROTECTIONS)
    (collected,) = record["collected"]
    assert (collected["path"], collected["bytes"]) == ("/scratch/out/made", 5)


def test_output_that_was_asked_for_and_not_left_is_a_failure(given: Path) -> None:
    answer = sandboxed(given, "--collect", "none", "--", "true")
    assert answer.code == 1
    assert "not handed back: /scratch/none is not there" in answer.stderr


def test_arguments_after_the_command_are_its_own(given: Path) -> None:
    answer = sandboxed(given, "python3", "-c", "import sys; print(sys.argv[1:])", "--json", "--out")
    assert (answer.code, answer.stdout) == (0, "['--json', '--out']\n")


def test_the_original_is_neither_changed_nor_handed_over(given: Path) -> None:
    before = {path: path.stat() for path in (given, *given.iterdir())}
    answer = sandboxed(
        given, "--input", "in", "--", "sh", "-c", "echo x > /work/a.txt || echo refused"
    )
    assert "refused" in answer.stdout
    for path, status in before.items():
        now = path.stat()
        assert (now.st_uid, now.st_mode, now.st_mtime_ns) == (
            status.st_uid,
            status.st_mode,
            status.st_mtime_ns,
        )


BAD: list[tuple[list[str], str]] = [
    (["--profile", "lax", "--", "true"], "usage"),
    (["--profile", "dev", "--", "true"], "sandbox.profile_not_chosen"),
    (["--backend", "docker", "--", "true"], "usage"),
    (["--backend", "none", "--", "true"], "usage"),
    (["--network", "on", "--", "true"], "usage"),
    (["--collect", "../x", "--", "true"], "sandbox.collect"),
    (["--collect", "a/../../x", "--", "true"], "sandbox.collect"),
    (["--collect", "/etc/passwd", "--", "true"], "sandbox.collect"),
    (["--collect", "/scratchy/x", "--", "true"], "sandbox.collect"),
    (["--collect", "", "--", "true"], "sandbox.collect"),
    (["--collect", "a\nb", "--", "true"], "sandbox.collect"),
    (["--out", "in", "--", "true"], "sandbox.out"),
    (["--out", "no/such/out", "--", "true"], "sandbox.out"),
    (["--input", "absent", "--", "true"], "sandbox.input"),
    (["--input", "linked", "--", "true"], "sandbox.input"),
    (["--input", "in/a.txt", "--", "true"], "sandbox.input"),
    (["--input", "piped", "--", "true"], "sandbox.input"),
    (["--input", "socketed", "--", "true"], "sandbox.input"),
    (["--", "no-such-command"], "sandbox.command"),
    (["--", "/no/such/command"], "sandbox.command"),
    (["--input", "in", "--", "./absent.sh"], "sandbox.command"),
    (["--input", "in", "--", "../out.sh"], "sandbox.command"),
    (["--input", "in", "--", "./a.txt"], "sandbox.command"),
    (["--input", "deep", "--", "true"], "sandbox.input"),
    (["--", ""], "sandbox.command"),
    ([], "usage"),
]


@pytest.mark.req("S-11")
@pytest.mark.promise("row 106")
@pytest.mark.parametrize(("arguments", "code"), BAD)
def test_bad_input_is_refused_with_its_code_and_nothing_is_run(
    arguments: list[str], code: str, given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{VERB}.isolating", lambda found: pytest.fail("something was run"))
    (given.parent / "linked").symlink_to("in")
    (given.parent / "piped").mkdir()
    os.mkfifo(given.parent / "piped/pipe")
    (given.parent / "deep" / "/".join("d" * 600)).mkdir(parents=True)
    (given.parent / "socketed").mkdir()
    monkeypatch.chdir(given.parent / "socketed")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        answer = sandboxed(given, "--json", *arguments)
    assert answer.code == 2
    assert answer.json["error"]["code"] == code
    assert answer.json["error"]["fix"]
    assert not (given.parent / "sandbox-output").exists()


def test_a_folder_that_is_too_large_is_refused(
    given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("MAX_INPUT_BYTES", 10), ("MAX_INPUT_ENTRIES", 1)):
        with monkeypatch.context() as patch, pytest.raises(ContractError) as raised:
            patch.setattr(transfer, name, most)
            transfer.copy_in(given, given.parent / "copy")
        assert raised.value.code == "sandbox.input"
        assert not (given.parent / "copy").exists()


def test_a_file_that_grows_while_it_is_copied_is_refused_and_not_read_to_its_end(
    given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = os.stat

    def smaller(path: Any, **options: Any) -> os.stat_result:
        status = stated(path, **options)
        return os.stat_result((*status[:6], 0, *status[7:])) if path == "a.txt" else status

    with monkeypatch.context() as patch, pytest.raises(ContractError, match="changed") as raised:
        patch.setattr(transfer.os, "stat", smaller)
        transfer.copy_in(given, given.parent / "copy")
    assert raised.value.code == "sandbox.input"
    assert not (given.parent / "copy").exists()


def test_a_folder_that_cannot_be_read_is_refused(
    given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root reads everything, so that the refusal is the system call's here."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(transfer.os, "listdir", refuse)
    answer = sandboxed(given, "--json", "--input", "in", "--", "true")
    assert answer.code == 2
    assert answer.json["error"]["code"] == "sandbox.input"


def test_a_copy_keeps_links_and_drops_rights(given: Path) -> None:
    (given / "outward").symlink_to("/etc/passwd")
    (given / "go.sh").chmod(0o6755)
    transfer.copy_in(given, given.parent / "copy")
    copy = given.parent / "copy"
    assert os.readlink(copy / "outward") == "/etc/passwd"
    assert stat.S_IMODE((copy / "go.sh").stat().st_mode) & 0o7111 == 0o111


@pytest.mark.req("S-06")
@pytest.mark.promise("row 105")
def test_without_a_backend_nothing_is_run_and_the_exit_code_is_3(
    given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection.Kind, "programs", lambda self: ())
    answer = sandboxed(given, "--json", "--", "true")
    assert answer.code == 3
    assert answer.json["error"]["code"] == "sandbox.unavailable"
    assert run("sandbox", "escape", "--json").code == 3
    told = run("sandbox", "doctor", "--json")
    assert told.code == 1
    assert all(probe["fix"] and not probe["available"] for probe in told.json["backends"])


@pytest.mark.req("S-02", "S-03")
def test_doctor_tells_of_each_backend_what_it_holds(given: Path) -> None:
    answer = run("sandbox", "doctor", "--json", cwd=given)
    assert answer.code == 0
    names = [probe["backend"] for probe in answer.json["backends"]]
    assert set(names) >= {kind.name for kind in selection.KINDS}
    working = [probe for probe in answer.json["backends"] if probe["available"]]
    assert all(set(probe["held"]) == set(PROTECTIONS) for probe in working)
    assert not any(probe["unenforced"] for probe in working)
    table = run("sandbox", "doctor", cwd=given).stdout
    assert f"{len(PROTECTIONS)} of {len(PROTECTIONS)}" in table


@pytest.mark.promise("ahead 15")
def test_matrix_has_a_column_for_each_backend_and_a_leak_turns_it_red(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = ("--case", "network.tcp_loopback")
    sound = run("sandbox", "escape", *case)
    assert sound.code == 0
    head, line = sound.stdout.splitlines()
    assert head.startswith("CASE") and "BUBBLEWRAP" in head
    assert line.split()[:2] == ["network.tcp_loopback", "held"]
    monkeypatch.setattr(
        "tipstaff.cli.sandbox.escape.strict_backends", lambda name: [LeakyBackend()]
    )
    leaky = run("sandbox", "escape", "--json", *case)
    assert leaky.code == 1
    assert leaky.json["counts"] == {"escaped": 1}
    (row,) = leaky.json["cases"]
    assert row["found"]["leaky"]["outcome"] == "escaped"
    assert "listener" in row["found"]["leaky"]["said"]


def test_an_argument_called_json_behind_the_command_does_not_change_how_errors_look(
    given: Path,
) -> None:
    answer = sandboxed(given, "--", "no-such-command", "--json")
    assert (answer.code, answer.stdout) == (2, "")
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer.stderr)
