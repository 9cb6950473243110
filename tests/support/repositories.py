"""Real git repositories with a small skill in them, and diffs made by git itself."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

SKILL = """\
---
name: word-count
description: Count the words of a text file.
---

# Word count

Run `scripts/count.py FILE`; it prints one number.
"""
SCRIPT = '''\
"""Count words."""

import sys


def count(text: str) -> int:
    """The number of words, split at white space."""
    return len(text.split())


if __name__ == "__main__":
    print(count(sys.stdin.read()))
'''
GOLDEN = '''\
"""What the skill must go on doing."""

import importlib.util
from pathlib import Path

_FILE = Path(__file__).parents[1] / "skills/word-count/scripts/count.py"
_SPEC = importlib.util.spec_from_file_location("word_count", _FILE)
skill = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(skill)


def test_two_words():
    assert skill.count("hello world") == 2


def test_no_word():
    assert skill.count("") == 0
'''
FILES: Mapping[str, str] = {
    "README.md": "# Skills\n",
    "skills/word-count/SKILL.md": SKILL,
    "skills/word-count/scripts/count.py": SCRIPT,
    "golden/test_word_count.py": GOLDEN,
    "skills/vendor/theirs/SKILL.md": "# Not ours\n",
}


def git(root: Path, *arguments: str, stdin: bytes | None = None) -> str:
    """Run git in a repository and return what it printed."""
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write(root: Path, files: Mapping[str, str | None]) -> None:
    """Write files below a folder; None removes one."""
    for name, content in files.items():
        file = root / name
        if content is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


def make_repository(root: Path, files: Mapping[str, str] = FILES) -> Path:
    """A repository on branch main with one commit of the files."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    write(root, files)
    commit(root, "start")
    return root


def commit(root: Path, message: str) -> str:
    """Commit everything that is there; returns the commit."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
    return git(root, "rev-parse", "HEAD")


def diff_of(root: Path, files: Mapping[str, str | None]) -> bytes:
    """The unified diff that would make these contents of HEAD; leaves the repository as it was."""
    write(root, files)
    git(root, "add", "-A", "--", *files)
    done = subprocess.run(
        ["git", "-C", str(root), "diff", "--cached", "--binary", "-M"],
        capture_output=True,
        check=True,
    )
    git(root, "reset", "-q", "--hard")
    return done.stdout
