"""A new file that is imported in place of an existing one touches what exists, though no line of it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.diff_reading import measure, only
from support.git_scene import Scene
from support.workshop import AUTOMATIC, Workshop

EXISTING = {
    "pkg/__init__.py": b"",
    "pkg/shapes.py": b"def area():\n    return 1\n",
    "spread/part.py": b"x = 1\n",
    "web/tool/index.js": b"exports.x = 1\n",
    "web/data.json": b"{}\n",
    "web/view.ts": b"export const x = 1\n",
    "docs/shapes.md": b"# Shapes\n",
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "project", EXISTING)


@pytest.mark.parametrize(
    ("name", "touches"),
    [
        ("pkg/shapes/__init__.py", True),
        ("pkg/shapes/more.py", False),
        ("pkg/shapes.pyi", True),
        ("pkg.py", True),
        ("spread.py", True),
        ("spread/__init__.py", False),
        ("spread/other.py", False),
        ("shapes.py", False),
        ("docs/shapes.py", False),
        ("web/tool.js", True),
        ("web/tool/more.js", False),
        ("web/data.js", True),
        ("web/view.js", True),
        ("web/view.json", False),
        ("web/view.test.ts", False),
        ("web/shapes.md", False),
    ],
)
def test_new_file_touches_the_module_whose_name_it_takes(
    scene: Scene, name: str, touches: bool
) -> None:
    file = only(
        measure(scene, scene.edit({name: b"{}\n" if name.endswith("json") else b"x = 2\n"}))
    )
    assert (file.status, file.touches_existing_definition) == ("added", touches)


def test_package_in_place_of_a_module_is_not_additive(workshop: Workshop) -> None:
    workshop.configure(autonomy=AUTOMATIC)
    verdict = workshop.propose({"golden/test_word_count/__init__.py": "x = 1\n"}).verdict
    assert verdict.effect == "require_approval"
    assert "change.not_additive" in verdict.codes
