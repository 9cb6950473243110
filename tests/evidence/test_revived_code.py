"""Old lines that new ones bring to life, and old lines that stay what they were."""

from __future__ import annotations

from tipstaff.evidence.capabilities import detect


def test_quote_that_ends_dead_code_revives_it() -> None:
    before = "x = '''\nimport os\nos.system('x')\n'''\n"
    after = "x = '''\n'''\nimport os\nos.system('x')\n'''\n'''\n"
    assert "raw_shell_execution" in detect("x.py", "python", after, {2, 6}, base=before)


def test_name_that_comes_to_mean_a_shell_revives_its_old_calls() -> None:
    before = "def f():\n    s.run('x', shell=flag)\n"
    after = "import subprocess as s\n" + before
    assert "raw_shell_execution" in detect("x.py", "python", after, {1}, base=before)


def test_comment_mark_that_ends_dead_script_revives_it() -> None:
    before = "/*\nrequire('child_process')\n*/\n"
    assert "raw_shell_execution" in detect("x.js", "javascript", f"/*\n*/\n{before[3:]}", {2})


def test_fence_around_old_prose_revives_its_code() -> None:
    text = "```python\nimport os\nos.system('x')\n```\n"
    assert "raw_shell_execution" in detect("x.md", "markdown", text, {1, 4})


def test_long_f_string_is_read_at_its_own_lines() -> None:
    text = 'import os\n\n\n\nx = (f\'a\'\n  f"""\n{os.system(\'x\')}\n""")\n'
    assert "raw_shell_execution" in detect("x.py", "python", text, {7})


def test_old_uses_beside_an_innocent_addition_are_not_found() -> None:
    before = "import os\nos.system('x')\n"
    assert detect("x.py", "python", f"{before}y = 1\n", {3}, base=before) == set()
