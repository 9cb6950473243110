"""Files that depend on a contract: each place that names what changed, and the texts with what was surely renamed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tipstaff.evidence.repository import Repository
from tipstaff.healing.repair.hits import Finder, Hit
from tipstaff.healing.repair.names import Names
from tipstaff.healing.repair.sources import Skipped, sources

MAX_HITS = 5000
MAX_REWRITTEN_FILES = 200


@dataclass
class Dependents:
    """What a search found: ``rewritten`` are hits that ``files`` have under their new name, ``todo`` all others.

    ``unseen`` counts hits beyond what is kept.
    """

    rewritten: list[Hit] = field(default_factory=list)
    todo: list[Hit] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    skipped: Skipped = field(default_factory=Skipped)
    unseen: int = 0

    def without(self, out_of_reach: Collection[str]) -> Dependents:
        """The same with some files left as they are, because no proposal may touch them."""
        left = [
            replace(hit, doubt="is in a file that no proposal may touch")
            for hit in self.rewritten
            if hit.path in out_of_reach
        ]
        return replace(
            self,
            rewritten=[hit for hit in self.rewritten if hit.path not in out_of_reach],
            todo=_in_order([*self.todo, *left]),
            files={path: data for path, data in self.files.items() if path not in out_of_reach},
        )


def find(
    repository: Repository, commit: str, names: Names, folders: Sequence[str] | None
) -> Dependents:
    """Look through the files of a commit for the names that changed, and rewrite what was surely renamed."""
    found = Dependents()
    if not names.changed:
        return found
    finder = Finder(names)
    for source in sources(repository, commit, folders, found.skipped):
        hits = finder.hits(source.path, source.text)
        sure = [hit for hit in hits if not hit.doubt]
        if sure and len(found.files) >= MAX_REWRITTEN_FILES:
            hits = [
                replace(hit, doubt=hit.doubt or "is beyond what one proposal rewrites")
                for hit in hits
            ]
            sure = []
        if len(found.todo) + len(found.rewritten) + len(hits) > MAX_HITS:
            found.unseen += len(hits)
            continue
        if sure:
            found.files[source.path] = rewritten(source.text, sure).encode()
        found.rewritten += sure
        found.todo += [hit for hit in hits if hit.doubt]
    return found


def rewritten(text: str, hits: Iterable[Hit]) -> str:
    """The text with each hit under its new name; places that two names share are left."""
    parts: list[str] = []
    done = 0
    for hit in sorted(hits, key=lambda hit: hit.start):
        if hit.start < done or hit.name.new is None:
            continue
        parts += [text[done : hit.start], hit.name.new]
        done = hit.end
    return "".join([*parts, text[done:]])


def grouped(hits: Iterable[Hit]) -> list[tuple[Hit, int]]:
    """Hits to tell of, each with how many more of its file it stands for: a name that was not renamed is told once."""
    more: dict[tuple[object, ...], int] = defaultdict(int)
    first: dict[tuple[object, ...], Hit] = {}
    for hit in hits:
        place = hit.line if hit.name.new is not None else 0
        key = (hit.path, place, hit.name.tool, hit.name.parameter)
        more[key] += key in first
        first.setdefault(key, hit)
    return [(hit, more[key]) for key, hit in first.items()]


def _in_order(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (hit.path, hit.start))
