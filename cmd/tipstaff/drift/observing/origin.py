"""Where a command's server comes from: what it must see to start, and which code and packages it is made of.

Nothing is executed to find out. What is digested is the same on every machine that has the same packages.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tipstaff import git
from tipstaff.drift.observing import node_packages
from tipstaff.drift.observing.python_packages import Installed
from tipstaff.errors import ContractError, Error, UnobservedError
from tipstaff.sandbox import toolchain
from tipstaff.sandbox.toolchain import Host, Toolchain, is_python

# What would else differ from one start, or one machine, to the next.
FIXED = {"PYTHONHASHSEED": "0", "TZ": "UTC"}
_SCRIPTS = frozenset({".py", ".js", ".mjs", ".cjs", ".ts"})
_RUNNERS = frozenset({"node", "nodejs", "bun", "deno", "sh", "bash"})
_ENVIRONMENT = "pyvenv.cfg"
_STATE = b".tipstaff/"


@dataclass(frozen=True)
class Origin:
    """What a command needs inside: its words there, its toolchain, and host paths that are seen in place.

    ``project`` is the folder whose files it needs, ``dependencies`` maps each package to its version, and
    ``executable_sha256`` is the digest of the server's own code.
    """

    words: tuple[str, ...]
    tools: Toolchain
    readonly: tuple[Path, ...]
    project: Path | None
    dependencies: Mapping[str, str]
    executable_sha256: str | None

    def workdir(self, private: Path) -> Path:
        """The input folder: a private copy of the project where the command names a file of it, else an empty one."""
        work = private / "work"
        work.mkdir(mode=0o755)
        if self.project is not None:
            _copy(self.project, work)
        return work

    def command_in(self, work: str) -> list[str]:
        """The command as it is inside."""
        return [str(PurePosixPath(work) / self.words[0]), *self.words[1:]]

    def variables(self, path: str) -> dict[str, str]:
        """What the program's environment gives, and what makes two runs alike."""
        found = {
            "PATH": self.tools.search_path(path),
            "PYTHONDONTWRITEBYTECODE": "1",
            **FIXED,
        }
        if self.tools.user_base is not None:
            found["PYTHONUSERBASE"] = str(self.tools.user_base)
        return found


def find(command: Sequence[str], root: Path) -> Origin:
    """The origin of a command given in the folder ``root``; raises ``UnobservedError`` if there is no such program."""
    host = Host.current(root)
    words, shown, needs_project = _arguments(command[1:], root)
    try:
        program, tools, in_project = _program(command[0], root, host)
    except (ContractError, OSError) as error:
        said = error.message if isinstance(error, Error) else f"{command[0]}: {error.strerror}"
        raise UnobservedError(
            "contract.unreachable", said, fix="install the server, or give its program's full path"
        ) from error
    modules = [
        found for path in map(Path, tools.readonly) if (found := node_packages.root_of(path))
    ]
    script = _script(program, words, root)
    dependencies, digest = _made_of(Path(command[0]).name, tools, words, script)
    return Origin(
        words=(program, *words),
        tools=tools,
        readonly=(*tools.readonly, *tools.sources, *modules, *shown),
        project=root if in_project or needs_project else None,
        dependencies=dependencies,
        executable_sha256=digest,
    )


def _program(word: str, root: Path, host: Host) -> tuple[str, Toolchain, bool]:
    """The program's path, its toolchain, and whether it is a file of the project."""
    path = root / word
    if "/" in word and path.is_file() and _is_own(path, root):
        needs = toolchain.find_interpreter(path, host) or Toolchain(word)
        return path.relative_to(root).as_posix(), needs, True
    tools = toolchain.find(str(path) if "/" in word else word, host)
    return tools.program, tools, False


def _arguments(words: Sequence[str], root: Path) -> tuple[tuple[str, ...], tuple[Path, ...], bool]:
    """The arguments as they are inside, the paths among them that are shown, and whether one is in the project."""
    inside, shown, in_project = [], [], False
    for word in words:
        path = root / word
        if not word or len(word) > 4000 or word.startswith("-") or not path.exists():
            inside.append(word)
        elif not word.startswith("/") and _is_own(path, root):
            inside.append(word)
            in_project = in_project or path.is_file() or "/" in word
        else:
            inside.append(str(path))
            shown.append(_around(path))
    return tuple(inside), tuple(shown), in_project


def _is_own(path: Path, root: Path) -> bool:
    """Whether a path is of the project itself: below it, and in no folder of installed packages."""
    if not path.resolve().is_relative_to(root.resolve()) or node_packages.root_of(path.resolve()):
        return False
    return not any((folder / _ENVIRONMENT).exists() for folder in path.parents)


def _around(path: Path) -> Path:
    """What has to be seen for a named path: all modules, the script's folder, or itself alone."""
    modules = node_packages.root_of(path) or node_packages.root_of(path.resolve())
    if modules is not None:
        return modules
    is_script = path.is_file() and path.suffix in _SCRIPTS
    return path.parent if is_script and not (path.parent / ".git").exists() else path


def _script(program: str, words: Sequence[str], root: Path) -> Path | None:
    """The file that is the server's own code, where it is one: the program, or what an interpreter is told to run."""
    path = root / program
    if not is_python(program) and path.name not in _RUNNERS:
        return path.resolve() if path.is_file() else None
    for word in words:
        if word == "-m":
            return None
        if not word.startswith("-"):
            named = root / word
            return named.resolve() if named.is_file() else None
    return None


def _made_of(
    name: str, tools: Toolchain, words: Sequence[str], script: Path | None
) -> tuple[dict[str, str], str | None]:
    """The packages that a server is made of, and the digest of its own code."""
    package = None if script is None else node_packages.owner(script)
    if package is not None:
        return node_packages.dependencies(package), node_packages.digest(package)
    digest = None if script is None else _content(script)
    prefixes = [path for path in tools.readonly if (path / "lib").is_dir()]
    prefixes = [path for path in prefixes if (path / _ENVIRONMENT).is_file()] or prefixes
    installed = Installed.below(prefixes)
    if not installed.packages:
        return {}, digest
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else None
    owner = installed.owner(name, module) if module or script is None or _is_stub(script) else None
    if owner is not None:
        return installed.needed(owner), installed.digest(owner)
    return installed.needed(None), digest


def _is_stub(script: Path) -> bool:
    return script.parent.name == "bin"


def _content(path: Path) -> str:
    """The digest of a file; without the line that names its interpreter, which differs from machine to machine."""
    with path.open("rb") as file:
        first = file.readline(4096)
        whole = hashlib.sha256(b"" if first.startswith(b"#!") else first)
        while chunk := file.read(1 << 20):
            whole.update(chunk)
    return whole.hexdigest()


def _copy(root: Path, work: Path) -> None:
    """A copy of what git knows of a project, or would add to it; nothing where it is no repository."""
    listed = git.run(
        ("ls-files", "-z", "--cached", "--others", "--exclude-standard"), git.Call(root)
    )
    for name in filter(None, listed.out.split(b"\0")):
        path = root / name.decode("utf-8", "surrogateescape")
        target = work / name.decode("utf-8", "surrogateescape")
        if name.startswith(_STATE) or path.is_symlink() or not path.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
