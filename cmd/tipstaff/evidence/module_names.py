"""Whether a new file answers to the name of a module that exists, so that others who import that name get the file."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import split, splitext

from tipstaff.evidence import paths
from tipstaff.evidence.language import detect_language

_FAMILIES = {
    "javascript": "script",
    "json": "script",
    "python": "python",
    "typescript": "script",
}
_FOLDERS = frozenset({"__init__", "index"})


class ModuleNames:
    """The names by which the files of a tree are imported."""

    def __init__(self, files: Iterable[bytes]) -> None:
        self._modules: set[tuple[str, str]] = set()
        self._folders: set[tuple[str, str]] = set()
        for file in map(paths.shown, files):
            family = _FAMILIES.get(detect_language(file, b"") or "")
            if family is None:
                continue
            self._modules.add((family, _module(file)))
            folder = split(file)[0]
            while folder and (family, folder) not in self._folders:
                self._folders.add((family, folder))
                folder = split(folder)[0]

    def are_taken_by(self, path: bytes, language: str | None) -> bool:
        """Whether a file of this language, new at this path, is found in place of an existing one.

        ``pkg/shapes/__init__.py`` is found before ``pkg/shapes.py``, and ``shapes.py`` before a folder of that name.
        """
        family, file = _FAMILIES.get(language or ""), paths.shown(path)
        if family is None or language == "json":
            return False
        name = (family, _module(file))
        is_folder = splitext(split(file)[1])[0] in _FOLDERS
        return name in self._modules or (not is_folder and name in self._folders)


def _module(path: str) -> str:
    """The path by which a module is imported: without its suffix, and a folder's own file as the folder."""
    stem = splitext(path)[0]
    folder, last = split(stem)
    return folder if folder and last in _FOLDERS else stem
