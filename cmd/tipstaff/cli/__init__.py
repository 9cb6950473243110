"""The command line. ``main`` runs it and returns the exit code.

0 allowed or clean, 1 not allowed or findings, 2 input or usage, 3 could not evaluate. Data goes to stdout, talk to
stderr; with ``--json`` stdout is one JSON document, also when something fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. ``argv`` is what stands after the program's name; the process's own, if None."""
    # Nobody else's package may look into what is validated here, and looking for such ones takes its time.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from tipstaff.cli.program import run

    code = run(list(sys.argv[1:] if argv is None else argv))
    if argv is None:
        sys.exit(code)
    return code
