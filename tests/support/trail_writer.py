"""A program that appends to a trail and prints each record's ``seq`` once it is acknowledged.

Arguments: folder, name of the writer, number of records (0: until killed), ``close`` or ``leave``.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from support.ledger_parts import note, trail


def main() -> None:
    """Append and tell."""
    folder, name, records, ending = sys.argv[1:]
    mine = trail(Path(folder))
    numbers = range(int(records)) if int(records) else count()
    for number in numbers:
        mine.append(note(f"{name}:{number}"))
        print(f"{name}:{number}", flush=True)
    if ending == "close":
        mine.close()


main()
