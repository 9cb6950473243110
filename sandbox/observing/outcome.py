"""What a driver leaves: an index as JSON, and the server's own bytes in files of lines that it points into."""

import json
import os

from session import Gone
from tape import Fault

NOT_PROBED = "the server ends, or says no more, at server/discover; it was greeted anew without"


def inner(error):
    """The first error of ours in a group, or else any of it."""
    waiting, other = [error], error
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        elif isinstance(one, (Fault, Gone)):
            return one
        else:
            other = one
    return other


def heard(tapes, most):
    """What came in all sessions beside answers."""
    return {
        "noise": [line for tape in tapes for line in tape.noise][:most],
        "noise_lines": sum(tape.noise_lines for tape in tapes),
        "notifications": sum(tape.notifications for tape in tapes),
        "requests": sorted({method for tape in tapes for method in tape.requests}),
    }


def numbered(sessions):
    """The sessions with the number of a line in place of each answer, and the lines, one list for each file."""
    files = []

    def line(answer, lines):
        lines.append(answer.replace(b"\r", b" ").replace(b"\n", b" "))
        return len(lines) - 1

    for session in sessions:
        for found in session["passes"]:
            lines = []
            for member, pages in found.items():
                found[member] = [line(page, lines) for page in pages]
            files.append(lines)
        lines = [session["greeting"].replace(b"\r", b" ").replace(b"\n", b" ")]
        session["greeting"] = 0
        for answers in session["calls"].values():
            for answer in answers:
                if "answer" in answer:
                    answer["answer"] = line(answer["answer"], lines)
        files.append(lines)
    return sessions, files


def leave(folder, index, files):
    """Write what was seen into a folder that is not there yet."""
    os.mkdir(folder, 0o700)
    for number, lines in enumerate(files):
        with open(f"{folder}/answers-{number}", "xb") as file:
            file.write(b"\n".join(lines))
    with open(f"{folder}/index.json", "x") as file:
        json.dump(index, file)
