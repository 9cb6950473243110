"""The wheel carries the declared folders beside the code."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from support.readme import ROOT


def test_wheel_holds_what_the_program_reads(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            str(ROOT),
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("tipstaff-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("policy", "contracts", "sandbox"):
        here = {
            f"tipstaff/declared/{file.relative_to(ROOT)}"
            for file in (ROOT / folder).rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        assert here
        assert here - names == set()
    starter = ROOT / "cmd" / "tipstaff" / "starter"
    assert {
        f"tipstaff/starter/{file.relative_to(starter)}"
        for file in starter.rglob("*")
        if file.is_file()
    } <= names
    assert "tipstaff/py.typed" in names
    assert not [name for name in names if name.startswith("cmd/")]
