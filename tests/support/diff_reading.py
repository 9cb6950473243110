"""Reading diffs in tests: a project, its facts, and its refusals, with nobody's own things touched."""

from __future__ import annotations

import pytest

from support.git_scene import Scene
from tipstaff.documents.input import ChangedFile
from tipstaff.errors import ContractError
from tipstaff.evidence.diff import Patch, read
from tipstaff.evidence.repository import Repository

BASE = {
    "a.py": b"import os\n\n\ndef f():\n    return 1\n",
    "skills/w/SKILL.md": b"# W\n\none\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "blob.bin": b"\0\1\2" * 100,
    "run.sh": b"#!/bin/sh\necho hi\n",
    "x.json": b'{\n  "a": 1\n}\n',
}


def measure(scene: Scene, diff: bytes) -> Patch:
    before = scene.fingerprint()
    try:
        return read(Repository.open(scene.root), diff)
    finally:
        assert scene.fingerprint() == before


def only(patch: Patch) -> ChangedFile:
    (file,) = patch.files
    return file


def refused(scene: Scene, diff: bytes, code: str) -> ContractError:
    with pytest.raises(ContractError) as caught:
        measure(scene, diff)
    assert caught.value.code == code, caught.value
    assert caught.value.fix
    return caught.value


def new_file(path: str, mode: str = "100644") -> bytes:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..e69de29\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    ).encode()
