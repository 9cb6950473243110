"""Golden tests of a change, run for real: what counts, what does not, and what a candidate cannot reach."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.repositories import GOLDEN, SCRIPT, commit, diff_of, git, write
from support.sandboxes import strict
from tipstaff.errors import ContractError
from tipstaff.evidence import diff, golden
from tipstaff.evidence.golden import GoldenRun
from tipstaff.evidence.repository import Repository
from tipstaff.sandbox import selection
from tipstaff.sandbox.profile import load

COUNT = "skills/word-count/scripts/count.py"
BETTER = SCRIPT.replace("    return len", "    # White space of any kind.\n    return len")
BROKEN = SCRIPT.replace("len(text.split())", "0")
COMMAND = "python -m pytest -q golden"
PASSES = "def test_nothing():\n    assert True\n"
REPORT = (
    '<testsuite tests="9">' + "".join(f'<testcase name="t{n}"/>' for n in range(9)) + "</testsuite>"
)
FORGE = f"""
import atexit, os
def forge():
    open("/scratch/junit.xml", "w").write({REPORT!r})
    os._exit(0)
atexit.register(forge)
"""


@pytest.fixture(autouse=True)
def _python_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python`` is the one that runs the tests, for it has pytest."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")


def judged(
    root: Path,
    files: Mapping[str, str | None],
    *,
    command: str = COMMAND,
    test_paths: tuple[str, ...] = (),
    **limits: int,
) -> GoldenRun:
    """The golden run of a change to these files of HEAD."""
    repository = Repository(root)
    patch = diff.read(repository, diff_of(root, files))
    run = golden.run(repository, patch, command, profile=strict(**limits), test_paths=test_paths)
    assert run.tests is None or run.tests.diff_sha256 == patch.diff_sha256
    assert (run.tests is None) == (run.reason is not None)
    return run


def counts(run: GoldenRun) -> tuple[int, int, int]:
    """Passed, failed and skipped; fails with the reason where nothing was measured."""
    assert run.tests is not None, (run.reason, run.result)
    return run.tests.passed, run.tests.failed, run.tests.skipped


def extended(root: Path, files: Mapping[str, str]) -> None:
    """More files in the base commit."""
    write(root, files)
    commit(root, "more")


def test_a_good_change_passes_its_golden_tests(repository: Path) -> None:
    before = git(repository, "status", "--porcelain")
    run = judged(repository, {COUNT: BETTER})
    assert counts(run) == (2, 0, 0)
    assert run.sandbox is not None
    assert run.sandbox.backend == selection.strongest(strict()).name
    assert (run.sandbox.profile, run.sandbox.isolated) == ("strict", True)
    assert {"network", "write"} <= set(run.sandbox.held)
    assert git(repository, "status", "--porcelain") == before


def test_a_bad_change_fails_its_golden_tests(repository: Path) -> None:
    assert counts(judged(repository, {COUNT: BROKEN})) == (1, 1, 0)


def test_skips_and_errors_are_counted_as_what_they_are(repository: Path) -> None:
    extended(
        repository,
        {
            "golden/test_more.py": (
                "import pytest\n@pytest.fixture\ndef broken():\n    1 / 0\n"
                "def test_error(broken): pass\n@pytest.mark.skip\ndef test_skip(): pass\n"
            )
        },
    )
    assert counts(judged(repository, {COUNT: BETTER})) == (2, 1, 1)


@pytest.mark.promise("BR-29")
@pytest.mark.parametrize(
    "attack",
    [
        {"golden/test_word_count.py": PASSES},
        {"golden/test_word_count.py": None},
        {"golden/conftest.py": "collect_ignore = ['test_word_count.py']\n"},
        {"conftest.py": "def pytest_runtest_call(item):\n    item.obj = lambda: None\n"},
        {"pytest.ini": "[pytest]\naddopts = -k nothing_at_all\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k nothing_at_all'\n"},
        {"setup.cfg": "[tool:pytest]\naddopts = -k nothing_at_all\n"},
        {"tox.ini": "[pytest]\naddopts = -k nothing_at_all\n"},
        {"sitecustomize.py": FORGE},
        {"usercustomize.py": FORGE},
        {"evil.pth": "import os; os._exit(0)\n"},
        {"evil.egg-info/entry_points.txt": "[pytest11]\nevil = evil\n", "evil.py": FORGE},
        {"golden/test_more.py": PASSES},
    ],
    ids=lambda attack: next(iter(attack)),
)
def test_a_candidate_cannot_change_its_judge(
    repository: Path, attack: dict[str, str | None]
) -> None:
    assert counts(judged(repository, {COUNT: BROKEN, **attack})) == (1, 1, 0)


@pytest.mark.promise("BR-29")
@pytest.mark.parametrize(
    "name", ["pytest.py", "_pytest/__init__.py", "json.py", "xml/__init__.py", "src/random.py"]
)
def test_a_module_that_would_replace_one_of_the_judge_is_no_evidence(
    repository: Path, name: str
) -> None:
    run = judged(repository, {COUNT: BROKEN, name: FORGE})
    assert run.tests is None
    assert name in (run.reason or "")


def test_a_module_of_a_common_name_inside_a_package_is_fine(repository: Path) -> None:
    extended(repository, {"app/__init__.py": ""})
    assert counts(judged(repository, {COUNT: BETTER, "app/types.py": "A = 1\n"})) == (2, 0, 0)


@pytest.mark.promise("BR-29")
def test_a_report_printed_by_the_candidate_is_not_read(repository: Path) -> None:
    printing = BROKEN.replace("import sys\n", f"import sys\nprint({REPORT!r})\n")
    assert counts(judged(repository, {COUNT: printing})) == (1, 1, 0)


def with_script(body: str) -> dict[str, str]:
    return {"golden/run.py": body}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import os; os.symlink('/work/README.md', '/scratch/junit.xml')", "no JUnit XML"),
        ("import os; os.mkfifo('/scratch/junit.xml')", "no JUnit XML"),
        ("import os; os.mkdir('/scratch/junit.xml')", "no JUnit XML"),
        ("open('/scratch/junit.xml', 'w').truncate(20 << 20)", "no JUnit XML"),
        ("pass", "no JUnit XML"),
        ("open('/scratch/junit.xml', 'w')", "not one"),
        ("open('/scratch/junit.xml', 'w').write('<testsuite tests=\"3\"/>')", "no test case"),
        ("open('/scratch/junit.xml', 'w').write('<testsuite><testcase/>')", "not one"),
        (
            "open('/scratch/junit.xml', 'w').write('<!DOCTYPE a [<!ENTITY b \"c\">]>"
            '<testsuite><testcase name="&b;"/></testsuite>\')',
            "not one",
        ),
        (
            "open('/scratch/junit.xml', 'wb').write('<?xml version=\"1.0\" encoding=\"utf-16\"?>"
            "<testsuite><testcase/></testsuite>'.encode('utf-16'))",
            "not one",
        ),
    ],
)
def test_a_report_that_is_none_is_no_evidence(repository: Path, body: str, words: str) -> None:
    extended(repository, with_script(body))
    run = judged(repository, {COUNT: BETTER}, command="python golden/run.py")
    assert run.tests is None
    assert words in (run.reason or "")
    assert run.result is not None and run.sandbox is not None


@pytest.mark.req("T-07", "KG-08")
def test_a_run_without_any_test_is_no_evidence(repository: Path) -> None:
    run = judged(
        repository, {COUNT: BETTER}, command="python -m pytest -q golden -k nothing_at_all"
    )
    assert run.tests is None


@pytest.mark.promise("BR-29")
def test_a_crash_after_a_clean_report_is_not_a_pass(repository: Path) -> None:
    extended(
        repository,
        with_script(
            f"import os; open(os.environ['TIPSTAFF_JUNIT'], 'w').write({REPORT!r}); raise SystemExit(3)"
        ),
    )
    assert counts(judged(repository, {COUNT: BETTER}, command="python golden/run.py")) == (9, 1, 0)


@pytest.mark.promise("BR-29")
def test_tests_that_never_end_are_no_evidence(repository: Path) -> None:
    looping = SCRIPT.replace(
        "    return len", "    import time\n    time.sleep(60)\n    return len"
    )
    run = judged(repository, {COUNT: looping}, wall_s=2)
    assert run.tests is None
    assert run.result is not None and run.result.timed_out
    assert "2 s" in (run.reason or "")


@pytest.mark.promise("BR-29")
def test_a_candidate_that_floods_its_output_is_judged_by_the_same_report(repository: Path) -> None:
    flooding = BETTER.replace(
        "import sys\n", "import os, sys\nfor _ in range(64):\n    os.write(2, b'x' * 65536)\n"
    )
    run = judged(repository, {COUNT: flooding}, command=f"{COMMAND} -s", output_bytes=65536)
    assert run.result is not None
    assert run.result.truncated
    assert counts(run)[:2] == (2, 0)


@pytest.mark.promise("BR-29")
def test_a_listed_path_is_taken_from_the_base(repository: Path) -> None:
    extended(
        repository,
        {
            "checks/run.py": "import helper; helper.write()\n",
            "checks/helper.py": (
                "import os\ndef write():\n    open(os.environ['TIPSTAFF_JUNIT'], 'w').write("
                "'<testsuite><testcase><failure/></testcase></testsuite>')\n"
            ),
        },
    )
    forged = f"def write():\n    open('/scratch/junit.xml', 'w').write({REPORT!r})\n"
    change = {COUNT: BETTER, "checks/helper.py": forged}
    for listed in ("checks", "checks/", "checks/**", "**/helper.py"):
        run = judged(repository, change, command="python checks/run.py", test_paths=(listed,))
        assert counts(run)[1] == 1, listed


def test_code_that_the_command_names_and_the_change_edits_is_no_evidence(repository: Path) -> None:
    for command in (
        f"python -m pytest -q --doctest-modules {COUNT}",
        "python -m pytest -q skills golden",
    ):
        run = judged(repository, {COUNT: BROKEN}, command=command)
        assert run.tests is None
        assert COUNT in (run.reason or "")


def test_a_change_of_tests_only_proves_nothing(repository: Path) -> None:
    run = judged(repository, {"golden/test_word_count.py": GOLDEN + "\n" + PASSES})
    assert run.tests is None
    assert "only tests" in (run.reason or "")


def test_a_folder_that_becomes_a_file_does_not_hide_the_tests(repository: Path) -> None:
    (repository / "golden/test_word_count.py").unlink()
    (repository / "golden").rmdir()
    write(repository, {COUNT: BROKEN, "golden": "in the way"})
    git(repository, "add", "-A")
    made = git(repository, "diff", "--cached", "--binary", "--no-renames").encode() + b"\n"
    git(repository, "reset", "-q", "--hard")
    opened = Repository(repository)
    patch = diff.read(opened, made)
    run = golden.run(opened, patch, COMMAND, profile=strict(), test_paths=())
    assert counts(run) == (1, 1, 0)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "empty"),
        ("python -m pytest 'golden", "quotation"),
        ("cd golden && pytest", "'&'"),
        ("pytest golden | tee log", "'|'"),
        ("pytest golden > log", "'>'"),
        ("pytest $HOME", "$H"),
        ('pytest "$(ls)"', "$("),
        ("pytest `ls`", "`"),
        ("pytest golden/*.py", "'*'"),
        ("A=b pytest", "A=b"),
        ("pytest; true", "';'"),
        ("no-such-program-here golden", "not on PATH"),
        ("./no-such-script", "not a file"),
        ("../outside.sh", "not a file"),
    ],
)
def test_a_command_that_cannot_run_is_refused_with_a_fix(
    repository: Path, command: str, words: str
) -> None:
    with pytest.raises(ContractError) as raised:
        judged(repository, {COUNT: BETTER}, command=command)
    assert words in raised.value.message
    assert raised.value.field == "tests"
    assert raised.value.fix


def test_quoted_signs_reach_the_program_as_they_are(repository: Path) -> None:
    run = judged(
        repository,
        {COUNT: BETTER},
        command="""python -m pytest -q golden -k 'two or (no and word)'""",
    )
    assert counts(run) == (2, 0, 0)


def test_a_script_of_the_repository_is_run_as_it_is_in_the_base(repository: Path) -> None:
    script = "#!/bin/sh\nexec python -m pytest -q --junitxml=$TIPSTAFF_JUNIT -p no:cacheprovider golden\n"
    write(repository, {"golden/run.sh": script})
    (repository / "golden/run.sh").chmod(0o755)
    commit(repository, "script")
    change = {COUNT: BROKEN, "golden/run.sh": "#!/bin/sh\nexit 0\n"}
    run = judged(repository, change, command="golden/run.sh")
    assert run.tests is None or run.tests.failed


@pytest.mark.parametrize(
    "command", ["pytest -q golden", "python -m pytest -q golden/test_word_count.py::test_no_word"]
)
def test_pytest_is_known_by_each_of_its_names(repository: Path, command: str) -> None:
    assert counts(judged(repository, {COUNT: BETTER}, command=command))[1] == 0


@pytest.mark.req("S-06")
def test_strict_without_a_backend_measures_nothing_and_runs_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection.Kind, "programs", lambda self: ())
    run = judged(repository, {COUNT: BETTER})
    assert (run.tests, run.sandbox, run.result) == (None, None, None)
    assert (run.reason or "").startswith("sandbox.unavailable")


@pytest.mark.req("S-08")
def test_dev_without_a_backend_measures_and_says_that_nothing_was_isolated(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection.Kind, "programs", lambda self: ())
    opened = Repository(repository)
    patch = diff.read(opened, diff_of(repository, {COUNT: BETTER}))
    run = golden.run(opened, patch, COMMAND, profile=load("dev"), test_paths=())
    assert counts(run) == (2, 0, 0)
    assert run.sandbox is not None
    assert (run.sandbox.backend, run.sandbox.isolated, run.sandbox.held) == ("none", False, [])


def test_an_editable_installation_means_the_candidate_inside(
    repository: Path, tmp_path: Path
) -> None:
    extended(
        repository,
        {
            "src/mine/__init__.py": "VALUE = 1\n",
            "golden/test_mine.py": "import mine\ndef test_value():\n    assert mine.VALUE == 1\n",
        },
    )
    environment = tmp_path / "environment"
    _make_environment(environment, repository / "src")
    command = f"{environment}/bin/python -m pytest -q golden/test_mine.py"
    assert counts(judged(repository, {COUNT: BETTER}, command=command)) == (1, 0, 0)
    changed = {"src/mine/__init__.py": "VALUE = 2\n"}
    assert counts(judged(repository, changed, command=command)) == (0, 1, 0)


def _make_environment(folder: Path, source: Path) -> None:
    """A virtual environment with this one's packages, and an editable installation of the source."""
    import venv

    import pytest as here

    venv.create(folder, with_pip=False)
    packages = next(folder.glob("lib/python3*/site-packages"))
    (packages / "editable.pth").write_text(f"{source}\n")
    theirs = Path(here.__file__).parents[1]
    for name in ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments"):
        if (theirs / name).is_dir():
            shutil.copytree(theirs / name, packages / name)
        else:
            shutil.copy(theirs / f"{name}.py", packages)
