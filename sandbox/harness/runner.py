"""Resolves a ``module:attribute`` and asks it, inside a sandbox; one answer, or none.

Run as ``runner.py JOB ANSWER`` with ``JOB`` a file ``{reference, code, modification}``: ``modification`` is what a
prover is asked about, and null where a gate's settings are asked for.
"""

import ctypes
import importlib
import inspect
import json
import os
import sys

_CHILD_SUBREAPER = 36


def main(job_file, answer_file):
    """Ask once; the answer is written at the very end, by the process that began."""
    first = os.getpid()
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    with open(job_file, encoding="utf-8") as file:
        job = json.load(file)
    sys.path.insert(0, job["code"])
    found = resolve(job["reference"])
    answer = settings(found) if job["modification"] is None else proof(found, job["modification"])
    text = json.dumps(answer, allow_nan=False)
    if os.getpid() != first:
        os._exit(3)
    if left_processes():
        sys.exit("it left processes behind")
    with open(answer_file, "x", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def resolve(reference):
    """What the reference names."""
    module, _, attribute = reference.partition(":")
    found = importlib.import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
        if inspect.ismodule(found):
            sys.exit(f"{name} is another module; name it itself")
    return found


def settings(found):
    """A gate's settings: an object, something that has them as ``settings``, or a builder of either."""
    built = found() if callable(found) else found
    return getattr(built, "settings", built)


def proof(found, modification):
    """A prover's answer; what needs no argument builds the prover."""
    prover = found() if not takes_one(found) else found
    if not callable(prover):
        sys.exit("what was named is no prover")
    return prover(modification)


def takes_one(found):
    """Whether it can be asked about a modification as it is."""
    try:
        inspect.signature(found).bind({})
    except (TypeError, ValueError):
        return False
    return True


def left_processes():
    """Whether anything that was started was not waited for; whether it has ended meanwhile is chance."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


main(*sys.argv[1:])
