"""Lays out the files of a modification, takes them back as a plan says, and prints what is there afterwards.

Run as ``rehearsal.py JOB FOLDER`` with ``JOB`` a file ``{current, steps}``: files ``path: {content, mode}``, and steps
``{path, action, content, mode}``.
"""

import hashlib
import json
import os
import stat
import sys
from pathlib import Path


def main(job_file, folder):
    """Do it, and print each file with its digest, mode and kind."""
    with open(job_file, encoding="utf-8") as file:
        job = json.load(file)
    root = Path(folder)
    root.mkdir()
    for path, state in job["current"].items():
        write(root / path, state)
    for step in job["steps"]:
        target = root / step["path"]
        if step["action"] == "remove":
            target.unlink()
            prune(target.parent, root)
        elif step["action"] == "restore":
            write(target, step)
    print(json.dumps(listing(root)))


def write(target, state):
    """Replace a file as a whole, with its mode."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(target.name + ".new")
    beside.write_text(state["content"], encoding="utf-8", newline="")
    beside.chmod(int(state["mode"], 8))
    beside.rename(target)


def prune(folder, root):
    """Remove folders that are empty now."""
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def listing(root):
    """Every entry below the folder that is no folder."""
    found = {}
    for parent, _, names in os.walk(root):
        for name in names:
            path = Path(parent, name)
            status = path.lstat()
            plain = stat.S_ISREG(status.st_mode)
            found[str(path.relative_to(root))] = {
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest() if plain else None,
                "mode": format(stat.S_IMODE(status.st_mode), "04o"),
            }
    return found


main(*sys.argv[1:])
