"""Which language a file is written in, by its name, its suffix, or its first line."""

from __future__ import annotations

import re
from types import MappingProxyType

_SUFFIXES = MappingProxyType(
    {
        "bash": "shell",
        "c": "c",
        "cc": "c",
        "cfg": "ini",
        "cjs": "javascript",
        "cpp": "c",
        "cs": "csharp",
        "css": "css",
        "csv": "text",
        "cts": "typescript",
        "dockerfile": "dockerfile",
        "fish": "shell",
        "go": "go",
        "h": "c",
        "html": "html",
        "ini": "ini",
        "java": "java",
        "js": "javascript",
        "json": "json",
        "jsx": "javascript",
        "kt": "java",
        "ksh": "shell",
        "lua": "lua",
        "markdown": "markdown",
        "md": "markdown",
        "mdx": "markdown",
        "mjs": "javascript",
        "mk": "makefile",
        "mts": "typescript",
        "php": "php",
        "pl": "perl",
        "pm": "perl",
        "ps1": "powershell",
        "pth": "python",
        "py": "python",
        "pyi": "python",
        "pyw": "python",
        "rb": "ruby",
        "rego": "rego",
        "rs": "rust",
        "rst": "text",
        "scala": "java",
        "sh": "shell",
        "sql": "sql",
        "svg": "html",
        "swift": "swift",
        "toml": "toml",
        "ts": "typescript",
        "tsx": "typescript",
        "txt": "text",
        "webmanifest": "json",
        "xml": "html",
        "yaml": "yaml",
        "yml": "yaml",
        "zsh": "shell",
    }
)
_NAMES = MappingProxyType(
    {
        ".bash_profile": "shell",
        ".bashrc": "shell",
        ".envrc": "shell",
        ".profile": "shell",
        ".zshrc": "shell",
        "containerfile": "dockerfile",
        "dockerfile": "dockerfile",
        "gemfile": "ruby",
        "gnumakefile": "makefile",
        "jenkinsfile": "java",
        "justfile": "makefile",
        "license": "text",
        "makefile": "makefile",
        "rakefile": "ruby",
        "readme": "text",
        "sconscript": "python",
        "sconstruct": "python",
        "wscript": "python",
    }
)
_INTERPRETERS = MappingProxyType(
    {
        "ash": "shell",
        "bash": "shell",
        "bun": "javascript",
        "dash": "shell",
        "deno": "typescript",
        "fish": "shell",
        "ksh": "shell",
        "lua": "lua",
        "make": "makefile",
        "node": "javascript",
        "nodejs": "javascript",
        "perl": "perl",
        "php": "php",
        "pwsh": "powershell",
        "pypy": "python",
        "python": "python",
        "ruby": "ruby",
        "sh": "shell",
        "zsh": "shell",
    }
)
_HOOK = re.compile(r"(?:^|/)(?:\.husky|\.?git-?hooks|hooks)/[a-z-]+$")


def detect_language(path: str, data: bytes) -> str | None:
    """The language of a file, or None where neither its name nor its first line tells."""
    name = path.rsplit("/", 1)[-1].lower()
    stem, _, suffix = name.rpartition(".")
    if name in _NAMES:
        return _NAMES[name]
    if stem.split(".")[0] in ("dockerfile", "containerfile", "makefile"):
        return _NAMES[stem.split(".")[0]]
    if stem and suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    return shebang_language(data) or ("shell" if _HOOK.search(path) else None)


def shebang_language(data: bytes) -> str | None:
    """The language of the interpreter that a first line ``#!…`` names, if any; ``unknown`` for others."""
    if not data.startswith(b"#!"):
        return None
    line = data[2:].split(b"\n", 1)[0].decode("latin-1")
    for word in line.split():
        program = word.rsplit("/", 1)[-1]
        if program != "env" and not program.startswith("-") and "=" not in program:
            return _INTERPRETERS.get(program.rstrip("0123456789."), "unknown")
    return "unknown"
