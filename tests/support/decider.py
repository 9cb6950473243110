"""A program that decides one request and prints what came of it.

Arguments: state folder, key, ``approve``, ``reject`` or ``consume``. It waits for a line on standard input first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from support.ledger_parts import BOB
from tipstaff.errors import Error
from tipstaff.ledger.approvals import Approvals
from tipstaff.ledger.database import open_database


def main() -> int:
    """Decide and tell."""
    state, key, verb = sys.argv[1:]
    approvals = Approvals(open_database(Path(state)))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        if verb == "consume":
            print(approvals.consume(key).status)
        else:
            print(getattr(approvals, verb)(key, BOB, note=verb).status)
    except Error as error:
        print(error.code)
        return error.exit_code
    return 0


sys.exit(main())
