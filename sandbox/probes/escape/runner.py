"""Runs escape programs, each in a child of its own, and prints one JSON line for each.

Arguments: the file that describes the host's traps, then the names of cases. A name ``files.hard_link`` is the
function ``hard_link`` of ``files.py``; it gets the description and returns the names of what it could do. A
refusal is an ``OSError``. Nothing is judged here. Runs on the standard library alone.
"""

import errno
import importlib
import json
import os
import select
import signal
import sys

PATIENCE_S = 60.0
WORDS = 4096


def words(error):
    """What an error says, in one short line."""
    number = getattr(error, "errno", None)
    return errno.errorcode.get(number, "") or f"{type(error).__name__}: {error}"[:200]


def report(case, at):
    """What one program could do, and how it ended."""
    module, _, function = case.partition(".")
    seen = {"case": case, "done": [], "said": ""}
    try:
        at = {**at, "case": case, "trap": at["traps"].get(case)}
        seen["done"] = list(getattr(importlib.import_module(module), function)(at) or [])
        seen["said"] = "\n".join(at.get("said", []))[:WORDS]
    except (OSError, MemoryError, ValueError) as error:
        seen["said"] = words(error)
    return seen


def in_child(case, at):
    """The report of a program in a child; None where it ended without one."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        at = {**at, "said": []}
        try:
            os.write(writer, json.dumps(report(case, at)).encode())
        except BaseException as error:
            os.write(2, f"{case}: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(0)
    os.close(writer)
    found = b""
    while select.select([reader], [], [], PATIENCE_S)[0]:
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            break
        found += chunk
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    os.waitpid(child, 0)
    return found or None


def main(file, cases):
    """Run the cases in order."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    with open(os.path.join(here, file), encoding="utf-8") as stream:
        at = json.load(stream)
    at["work"] = os.path.dirname(here)
    at["scratch"] = os.environ.get("HOME", "/scratch")
    for case in cases:
        os.write(1, json.dumps({"case": case}).encode() + b"\n")
        found = in_child(case, at)
        if found is not None:
            os.write(1, found + b"\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
