"""Writes what is generated from the code: ``python cmd/generate [--check]``.

``--check`` writes nothing and exits 1 naming each file that is out of date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import documents
import errors
import help as commands
import reference
import schemas

WRITERS = (schemas, documents, commands, reference, errors)
ROOT = Path(__file__).parents[2]


def main() -> int:
    """Write or check every generated file; 0 when all are current."""
    parser = argparse.ArgumentParser(prog="generate", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    options = parser.parse_args()
    stale = 0
    for path, text in (pair for writer in WRITERS for pair in writer.render()):
        file = ROOT / path
        current = file.read_text(encoding="utf-8") if file.exists() else None
        if current == text:
            continue
        if options.check:
            print(f"{path}: out of date; run `make generate`", file=sys.stderr)
            stale = 1
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
