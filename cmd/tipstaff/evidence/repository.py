"""A git repository, read and extended by plumbing only.

Nothing here writes to the user's working tree, index, HEAD or stash: patches are applied in a temporary index,
and the only references ever moved are the branches that ``create_branch`` makes. A process killed at any point
leaves at most unreferenced objects and a temporary folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tipstaff import git
from tipstaff.errors import ContractError, EvidenceError
from tipstaff.evidence import extraction, paths, tree_diff
from tipstaff.evidence.tree_diff import LineChange, RawChange

_BATCH_BYTES = 32 << 20
_APPLY_MEMORY_BYTES = 1 << 30
_PUSH_TIMEOUT_S = 300.0
_PUSH_VARIABLES = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS")
_MAX_SUFFIX = 1000


class Repository:
    """The repository whose working tree is ``root``.

    Paths given as text are spelled as documents spell them (``tipstaff.evidence.paths``).
    """

    def __init__(self, root: Path) -> None:
        """Raises ``ContractError``: no repository here, bare, without commits, or not trusted by git."""
        self.root, self.git_dir = git.discover(Path(root))
        if not self._has_commits():
            raise ContractError(
                "repository.no_commits",
                "the repository has no commits, so there is nothing that a change could apply to",
                file=str(self.root),
                fix="commit the current state first",
            )

    @classmethod
    def open(cls, start: Path) -> Repository:
        """The repository that holds the folder ``start``; raises as the constructor does."""
        return cls(start)

    def resolve(self, revision: str) -> str:
        """The id of the commit that a revision names; raises ``ContractError`` if there is none."""
        answer = None
        if revision and not revision.startswith("-") and revision.isprintable():
            name = f"{revision}^{{commit}}"
            answer = self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        if answer is None or answer.status:
            raise ContractError(
                "repository.unknown_revision",
                f"{revision!r} names no commit of this repository",
                file=str(self.root),
                field="base",
                fix="name a commit, a branch or a tag that git log shows",
            )
        return answer.out.decode("ascii").split()[-1]

    def run(
        self,
        *arguments: str | bytes,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        """The standard output of one git command in the root; raises ``EvidenceError`` if git fails."""
        return self._checked(*arguments, stdin=stdin or b"", env=env or {})

    def blob(self, tree: str, path: str | bytes) -> bytes | None:
        """The bytes of the regular file at a path of a tree, or None where there is none."""
        name = paths.raw(path) if isinstance(path, str) else path
        listing = self.run("ls-tree", "-z", "--full-tree", tree, "--", name)
        for line in listing.split(b"\0")[:-1]:
            facts, found = line.split(b"\t", 1)
            mode, _kind, oid = facts.decode("ascii").split()
            if found == name and mode in extraction.REGULAR:
                return self.run("cat-file", "blob", oid)
        return None

    def blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        """The bytes of each blob, by its object id; raises ``EvidenceError`` for an absent one."""
        wanted = sorted(set(oids))
        out = self.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
        found = {}
        position = 0
        for oid in wanted:
            end = out.index(b"\n", position)
            header = out[position:end].decode("ascii").split()
            if len(header) != 3 or header[1] != "blob":
                raise _failure(f"{oid} is not a file of this repository")
            position = end + 1 + int(header[2]) + 1
            found[oid] = out[end + 1 : position - 1]
        return found

    def sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """The size in bytes of each object, by its id."""
        lines = "".join(f"{oid}\n" for oid in sorted(set(oids))).encode()
        out = self.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=lines)
        return {
            oid: int(size) for oid, size in (line.split() for line in out.decode().splitlines())
        }

    def entries(self, tree: str) -> list[extraction.Entry]:
        """Every file, link and submodule of a tree."""
        return extraction.parse(self.run("ls-tree", "-r", "-l", "-z", "--full-tree", tree))

    def extract(self, tree: str, destination: Path) -> tuple[str, ...]:
        """Write the files of a tree as they are stored into an empty folder; returns the submodules left out."""
        entries = self.entries(tree)
        extraction.prepare(destination)
        files = [entry for entry in entries if entry.mode in extraction.REGULAR]
        links = [entry for entry in entries if entry.mode == extraction.LINK]
        for batch in _batches([*files, *links]):
            data = self.blobs(entry.oid for entry in batch)
            extraction.write(destination, ((entry, data[entry.oid]) for entry in batch))
        return tuple(paths.shown(e.path) for e in entries if e.mode == extraction.SUBMODULE)

    def apply(self, diff: bytes, base: str, *, strip: int = 1) -> str:
        """The tree that the diff makes of the base commit's tree.

        ``strip`` is the number of leading folders cut from the diff's names. Raises ``ContractError``
        (``diff.does_not_apply``) with git's words.
        """
        with self._desk() as desk:
            self._checked("read-tree", f"{base}^{{tree}}", env=desk.env, cwd=desk.folder)
            options = ("apply", "--cached", "--whitespace=nowarn", f"-p{strip}", "-")
            call = git.Call(
                desk.folder,
                stdin=diff,
                environment=self._here(desk.env),
                memory_bytes=_APPLY_MEMORY_BYTES,
            )
            answer = git.run(options, call)
            if answer.status:
                raise ContractError(
                    "diff.does_not_apply",
                    f"git says: {answer.complaint or f'exit status {answer.status}'}",
                    fix=f"make the diff against {base[:12]} with git diff, unchanged on its way here",
                )
            return self._checked("write-tree", env=desk.env, cwd=desk.folder).decode().strip()

    def changes(self, base: str, tree: str) -> list[RawChange]:
        """Every path that differs between two trees or commits."""
        return tree_diff.parse_raw(self.compare(*tree_diff.RAW, base, tree))

    def line_changes(self, base: str, tree: str) -> list[LineChange]:
        """The lines that differ, file by file in the order of ``changes``; every file is read as text."""
        return tree_diff.parse_lines(self.compare(*tree_diff.LINES, base, tree))

    def compare(self, *arguments: str) -> bytes:
        """The output of a git command that compares trees, without attributes that the user's own tree sets."""
        with self._desk() as desk:
            return self._checked(*arguments, env=desk.env, cwd=desk.folder)

    def commit(self, tree: str, parent: str, message: str, *, author: str) -> str:
        """Make a commit that no reference holds yet. ``author`` is ``Name <mail>`` or a plain id."""
        name, mail = git.identity(author)
        who = {"AUTHOR_NAME": name, "AUTHOR_EMAIL": mail}
        who |= {"COMMITTER_NAME": name, "COMMITTER_EMAIL": mail}
        env = {f"GIT_{key}": value for key, value in who.items()}
        text = message.replace("\0", "").encode("utf-8", "replace")
        out = self.run("commit-tree", tree, "-p", parent, "-F", "-", stdin=text, env=env)
        return out.decode("ascii").strip()

    def create_branch(self, name: str, commit: str) -> str:
        """Make a branch at a commit in one step; returns its name, with ``-2``, ``-3``… where it exists."""
        absent = "0" * len(commit)
        for count in range(1, _MAX_SUFFIX):
            chosen = name if count == 1 else f"{name}-{count}"
            reference = f"refs/heads/{chosen}"
            if self._ask("check-ref-format", reference).status:
                raise ContractError(
                    "repository.branch_name",
                    f"{chosen!r} is not a branch name",
                    fix="use letters, digits, - and / only",
                )
            env = dict.fromkeys(("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"), "tipstaff")
            update = ("update-ref", "--no-deref", "-m", "tipstaff", reference, commit, absent)
            answer = self._ask(*update, env=env)
            if not answer.status:
                return chosen
            if self._ask("rev-parse", "--verify", "--quiet", reference).status:
                raise _failure(answer.complaint)
        raise _failure(f"{_MAX_SUFFIX} branches named {name} exist")

    def delete_branch(self, name: str, commit: str) -> bool:
        """Delete a branch that still points at the commit and is checked out nowhere; returns whether it did."""
        reference = f"refs/heads/{name}"
        used = self._ask("for-each-ref", "--format=%(worktreepath)", reference)
        if used.status or used.out.strip():
            return False
        return not self._ask("update-ref", "--no-deref", "-d", reference, commit).status

    def remote_url(self, name: str) -> str | None:
        """The URL that git would push to for a remote, or None where there is no such remote."""
        if not re.fullmatch(r"[\w][\w./-]*", name):
            return None
        answer = self._ask("remote", "get-url", "--push", name)
        return None if answer.status else os.fsdecode(answer.out[:-1])

    def push(
        self, remote: str, commit: str, branch: str, *, environment: Mapping[str, str] | None = None
    ) -> None:
        """Push a commit as a branch that the remote must not have yet; raises ``EvidenceError``.

        ``environment`` are variables for this one call, such as credentials for the remote.
        """
        reference = f"refs/heads/{branch}"
        variables = {key: os.environ[key] for key in _PUSH_VARIABLES if key in os.environ}
        variables |= environment or {}
        call = git.Call(self.root, environment=self._here(variables), timeout_s=_PUSH_TIMEOUT_S)
        options = ("push", "--quiet", "--no-verify", f"--force-with-lease={reference}:")
        answer = git.run((*options, "--", remote, f"{commit}:{reference}"), call)
        if answer.status:
            raise EvidenceError(
                "git.push",
                f"the branch {branch} could not be pushed to {remote}: {answer.complaint}",
                fix="check the remote, the network and your credentials with git push --dry-run",
            )

    def _has_commits(self) -> bool:
        if not self._ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}").status:
            return True
        return bool(self._ask("rev-list", "--all", "-n1").out.strip())

    def _here(self, extra: Mapping[str, str]) -> dict[str, str]:
        return {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.root), **extra}

    def _ask(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> git.Answer:
        call = git.Call(cwd or self.root, stdin=stdin, environment=self._here(env or {}))
        return git.run(arguments, call)

    def _checked(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> bytes:
        answer = self._ask(*arguments, stdin=stdin, env=env, cwd=cwd)
        if answer.status:
            raise _failure(answer.complaint or f"git {arguments[0]!r} ended with {answer.status}")
        return answer.out

    @contextmanager
    def _desk(self) -> Iterator[_Desk]:
        """A throw-away index and an empty working tree, so that no attribute file of the user's is read."""
        with TemporaryDirectory(prefix="tipstaff-") as folder:
            tree = Path(folder, "tree")
            tree.mkdir()
            index = str(Path(folder, "index"))
            yield _Desk(tree, {"GIT_INDEX_FILE": index, "GIT_WORK_TREE": str(tree)})


@dataclass(frozen=True)
class _Desk:
    folder: Path
    env: dict[str, str]


def _failure(message: str) -> EvidenceError:
    return EvidenceError(
        "git.failed", message, fix="run git fsck and git status in the repository, then try again"
    )


def _batches(entries: list[extraction.Entry]) -> Iterator[list[extraction.Entry]]:
    batch: list[extraction.Entry] = []
    size = 0
    for entry in entries:
        if batch and size + entry.size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch
