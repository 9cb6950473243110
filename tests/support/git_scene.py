"""Real git repositories for tests, and a way to see that nobody touched them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "LC_ALL": "C",
}


class Scene:
    """A repository below a temporary folder, driven by the real git with plain settings."""

    def __init__(self, root: Path, files: Mapping[str | bytes, bytes] | None = None) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        if files is not None:
            self.write(files)
            self.save()

    def git(self, *arguments: str | bytes, stdin: bytes = b"", check: bool = True) -> bytes:
        done = subprocess.run(
            ["git", "-c", "core.autocrlf=false", *arguments],
            cwd=self.root,
            env=_ENVIRONMENT,
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def write(self, files: Mapping[str | bytes, bytes]) -> None:
        for name, data in files.items():
            path = os.path.join(os.fsencode(self.root), os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)

    def save(self, message: str = "state") -> str:
        self.git("add", "-A", "--force")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").decode().strip()

    def diff(self, *options: str) -> bytes:
        """The diff of the working tree against HEAD, new files included; then everything is put back."""
        self.git("add", "-A", "--force")
        text = self.git("diff", "--cached", "--binary", *options, "HEAD")
        self.git("reset", "-q", "--hard", "HEAD")
        return text

    def edit(self, files: Mapping[str | bytes, bytes | None], *options: str) -> bytes:
        """The diff that writes these files; None deletes one."""
        self.write({name: data for name, data in files.items() if data is not None})
        for name, data in files.items():
            if data is None:
                os.unlink(os.path.join(os.fsencode(self.root), os.fsencode(name)))
        return self.diff(*options)

    def fingerprint(self) -> dict[str, str]:
        """Everything a user would miss: HEAD, references, index, configuration, working tree with its modes."""
        found = {"refs": self.git("for-each-ref").decode()}
        git_dir = self.root / ".git"
        for path in sorted(self.root.rglob("*")):
            inside = path.is_relative_to(git_dir)
            if inside and path.relative_to(git_dir).parts[:1] == ("objects",):
                continue
            name = os.fsencode(path).hex()
            if path.is_symlink():
                found[name] = f"link {os.readlink(path)}"
            elif path.is_file():
                mode = path.stat().st_mode
                found[name] = f"{mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        return found
