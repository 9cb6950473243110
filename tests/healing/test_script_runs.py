"""Runs of a script in sandboxes of their own: whatever makes its output depend on more than the input shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.augment_scene import CASES, GOLDEN_FOLDER, PLACE, SCRIPT, digest, files
from support.repositories import make_repository
from support.sandboxes import strict
from tipstaff.evidence.edit import edited
from tipstaff.evidence.repository import Repository
from tipstaff.healing.augment import runs
from tipstaff.healing.augment.runs import Measured, Setting
from tipstaff.healing.augment.skill import Case
from tipstaff.sandbox.selection import strongest

CASE = Case("a", b"given\n", b"expected\n")


def measured(
    tmp_path: Path,
    script: str,
    *,
    cases: tuple[Case, ...] = (CASE,),
    warm: bool = False,
    **limits: int,
) -> Measured:
    """Eight runs of a script that lies in a skill of a real repository."""
    root = make_repository(tmp_path / "repository", files())
    repository = Repository.open(root)
    tree = edited(repository, "HEAD", {PLACE: script.encode()})
    profile = strict(**limits).model_copy(update={"warm": warm})
    setting = Setting(strongest(profile), profile, repository, tree)
    return runs.measure(setting, PLACE, GOLDEN_FOLDER, cases, runs=8)


def outputs(tmp_path: Path, script: str, *, warm: bool = False, **limits: int) -> list[str | None]:
    """What eight runs on one input gave."""
    return measured(tmp_path, script, warm=warm, **limits).outputs["a"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last run does not wait for the next second."""
    monkeypatch.setattr(runs, "_APART_S", 0.0)


UNSTEADY = {
    "the time of day": "import time\nprint(time.time_ns())\n",
    "the process id": "import os\nprint(os.getpid())\n",
    "whether the process id is odd": "import os\nprint(os.getpid() % 2)\n",
    "random numbers": "import random\nprint(random.random())\n",
    "the seed of hashes": "print(*{'a', 'b', 'c', 'd', 'e', 'f', 'g'})\n",
    "the locale": "import os\nprint(os.environ['LANG'])\n",
    "the time zone": "import time\nprint(time.localtime(0).tm_hour)\n",
    "the local date": "import datetime\nprint(datetime.date.today())\n",
    "a counter in a temporary folder": (
        "import pathlib\nfile = pathlib.Path('/tmp/calls')\n"
        "calls = len(file.read_text()) if file.exists() else 0\n"
        "file.write_text('x' * (calls + 1))\nprint(calls)\n"
    ),
    "a cache in its home": (
        "import pathlib\nfile = pathlib.Path.home() / 'cache'\n"
        "print('cached' if file.exists() else 'fresh')\nfile.touch()\n"
    ),
}


@pytest.mark.req("A-03")
@pytest.mark.promise("BR-29")
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("source", sorted(UNSTEADY))
def test_output_that_depends_on_more_than_the_input_differs(tmp_path: Path, source: str) -> None:
    found = outputs(tmp_path, UNSTEADY[source])
    assert None not in found
    assert len(set(found)) > 1


@pytest.mark.req("A-03")
def test_last_run_starts_a_second_after_the_first(tmp_path: Path) -> None:
    found = outputs(tmp_path, "import time\nprint(int(time.time()))\n")
    assert len(set(found)) > 1


@pytest.mark.req("A-02", "A-03")
@pytest.mark.usefixtures("quick")
def test_output_that_depends_on_the_input_alone_is_the_same_eight_times(tmp_path: Path) -> None:
    cases = tuple(Case(name, *map(str.encode, pair)) for name, pair in CASES.items())
    found = measured(tmp_path, SCRIPT, cases=cases)
    assert found.outputs == {name: [digest(pair[1])] * 8 for name, pair in CASES.items()}
    assert found.sandbox.isolated
    assert {"network", "write"} <= set(found.sandbox.held)


@pytest.mark.req("A-03")
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "source", ["the local date", "the locale", "a counter in a temporary folder"]
)
def test_runs_that_share_a_warm_sandbox_differ_in_the_same_things(
    tmp_path: Path, source: str
) -> None:
    assert len(set(outputs(tmp_path, UNSTEADY[source], warm=True))) == 2


@pytest.mark.usefixtures("quick")
def test_runs_that_share_a_warm_sandbox_are_as_many(tmp_path: Path) -> None:
    assert len(set(outputs(tmp_path, UNSTEADY["the time of day"], warm=True))) == 8


FAILING = {
    "ends with an error": "raise SystemExit(3)\n",
    "dies": "import os\nprint('x', flush=True)\nos.kill(os.getpid(), 9)\n",
    "prints what is no text": "import sys\nsys.stdout.buffer.write(bytes([255]))\n",
    "prints without end": "print('x' * 5000)\n",
    "is no Python": "this is not Python\n",
}


@pytest.mark.req("A-01")
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("how", sorted(FAILING))
def test_run_without_a_whole_output_has_none(tmp_path: Path, how: str) -> None:
    assert outputs(tmp_path, FAILING[how], output_bytes=4096) == [None] * 8


@pytest.mark.req("A-01")
@pytest.mark.usefixtures("quick")
def test_run_that_does_not_end_has_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository", files())
    repository = Repository.open(root)
    tree = edited(
        repository, "HEAD", {PLACE: b"import time\nprint(1, flush=True)\ntime.sleep(99)\n"}
    )
    profile = strict(wall_s=1)
    setting = Setting(strongest(profile), profile, repository, tree)
    assert runs.measure(setting, PLACE, GOLDEN_FOLDER, [CASE], runs=1).outputs == {"a": [None]}


@pytest.mark.req("A-02")
@pytest.mark.promise("BR-29")
@pytest.mark.usefixtures("quick")
def test_runs_see_the_skill_and_no_golden_case_of_it(tmp_path: Path) -> None:
    script = (
        "import os\n"
        "seen = {os.path.join(folder, name) for folder, _, names in os.walk('.') for name in names}\n"
        "print(*sorted(name for name in seen if '.input-' not in name), sep='\\n')\n"
    )
    found = outputs(tmp_path, script)
    assert set(found) == {digest("./SKILL.md\n./scripts/invoice_total.py\n")}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("text", ["$(id); `id` > x\n", "'\"; exit 1 #\n", "", "\u202e\ufeff\0x"])
def test_input_is_data_on_standard_input(tmp_path: Path, text: str) -> None:
    case = Case("a", text.encode(), b"")
    script = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n"
    found = measured(tmp_path, script, cases=(case,)).outputs["a"]
    assert set(found) == {digest(text)}


@pytest.mark.usefixtures("quick")
def test_skill_at_the_top_of_its_repository_is_run_alike(tmp_path: Path) -> None:
    top = {name.removeprefix("skills/invoice-total/"): text for name, text in files().items()}
    repository = Repository.open(make_repository(tmp_path / "repository", top))
    script = b"import os\nprint(*sorted(n for n in os.listdir() if n[0] != '.'))\n"
    tree = edited(repository, "HEAD", {"scripts/a.py": script})
    profile = strict()
    setting = Setting(strongest(profile), profile, repository, tree)
    found = runs.measure(setting, "scripts/a.py", "golden", [CASE], runs=2).outputs["a"]
    assert set(found) == {digest("SKILL.md scripts\n")}
