"""Reading diffs held against real git, random trees, and bytes that nobody meant."""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.git_scene import Scene
from tipstaff.errors import ContractError
from tipstaff.evidence import paths
from tipstaff.evidence.diff import Patch, read
from tipstaff.evidence.repository import Repository

_numbers = itertools.count()
_SLOW = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_names = st.sampled_from(
    [
        b"a.py",
        b"b.md",
        b"d/c.json",
        b"d/e.yaml",
        b"d/f g.txt",
        b"\xc3\xa9.txt",
        b"x\xff.sh",
        b'q"\n.md',
    ]
)
_line = st.sampled_from(
    [b"x = 1", b"", b"y: 2\r", b"- /dev/null", b"++ b/a.py", b"@@ -1 +1 @@", b"\\ z"]
)
_text = st.lists(_line, max_size=6).map(lambda lines: b"".join(line + b"\n" for line in lines))
_data = _text | _text.map(lambda text: text + b"end") | st.binary(max_size=12)
_file = st.tuples(_data, st.booleans())
_trees = st.dictionaries(_names, _file, max_size=5)

Tree = dict[bytes, tuple[bytes, bool]]


def put(scene: Scene, tree: Tree) -> None:
    scene.git("rm", "-rqf", "--ignore-unmatch", ".")
    scene.write({name: data for name, (data, _) in tree.items()})
    for name, (_, executable) in tree.items():
        os.chmod(os.path.join(os.fsencode(scene.root), name), 0o755 if executable else 0o644)


def lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")[:-1] + (
        [data.rsplit(b"\n", 1)[-1] + b"\0end"] if data[-1:] not in (b"", b"\n") else []
    )


def is_supersequence(new: list[bytes], old: list[bytes]) -> bool:
    rest = iter(new)
    return all(line in rest for line in old)


def agrees(patch: Patch, before: Tree, after: Tree) -> None:
    changed = {name for name in before.keys() | after if before.get(name) != after.get(name)}
    named = {paths.raw(file.path) for file in patch.files}
    named |= {paths.raw(file.old_path) for file in patch.files if file.old_path is not None}
    assert named == changed
    for file in patch.files:
        new = after.get(paths.raw(file.path), (b"", False))
        old = before.get(paths.raw(file.old_path or file.path), (b"", False))
        assert file.binary == (b"\0" in old[0] or b"\0" in new[0])
        if file.binary:
            assert not file.additions_only
            continue
        gained = len(lines(new[0])) - len(lines(old[0]))
        assert file.added - file.removed == gained
        only_added = is_supersequence(lines(new[0]), lines(old[0]))
        assert file.additions_only == (only_added and file.status != "deleted")
        blocks = difflib.SequenceMatcher(
            None, lines(old[0]), lines(new[0]), False
        ).get_matching_blocks()
        assert file.removed <= len(lines(old[0])) - sum(block.size for block in blocks)
        if file.status in ("modified", "renamed"):
            assert file.mode_changed == (old[1] != new[1])


@_SLOW
@given(
    before=_trees, after=_trees, options=st.sampled_from([(), ("-M",), ("-U1",), ("--full-index",)])
)
def test_facts_agree_with_an_independent_reckoning(
    tmp_path: Path, before: Tree, after: Tree, options: tuple[str, ...]
) -> None:
    scene = Scene(tmp_path / f"r{next(_numbers)}", {})
    put(scene, before)
    base = scene.save()
    put(scene, after)
    diff = scene.diff(*options)
    scene.write({"loose": b"dirty"})
    untouched = scene.fingerprint()
    if before == after:
        with pytest.raises(ContractError):
            read(Repository.open(scene.root), diff)
        return
    patch = read(Repository.open(scene.root), diff)
    assert scene.fingerprint() == untouched
    assert patch.base == base
    agrees(patch, before, after)
    repository = Repository(scene.root)
    made = {
        entry.path: repository.blobs([entry.oid])[entry.oid]
        for entry in repository.entries(patch.tree)
    }
    assert made == {name: data for name, (data, _) in after.items()}
    numstat = scene.git("diff-tree", "-r", "-z", "-M", "--numstat", base, patch.tree).split(b"\0")
    counts = [row.split(b"\t")[:2] for row in numstat if row.count(b"\t") == 2]
    plain = [
        (file, count) for file, count in zip(patch.files, counts, strict=True) if count[0] != b"-"
    ]
    assert all(file.added - file.removed == int(new) - int(old) for file, (new, old) in plain)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(
        tmp_path_factory.mktemp("lasting") / "project",
        {"a.py": b"x = 1\ny = 2\n", "b.bin": b"\0\1" * 50, "d/c.md": b"# C\n\ntext\n"},
    )


def samples(scene: Scene) -> Iterator[bytes]:
    yield scene.edit({"a.py": b"x = 1\ny = 2\nimport os\n"})
    yield scene.edit({"b.bin": b"\0\2" * 60, "new file.md": b"x\n"})
    yield scene.edit({"d/c.md": None, "e.md": b"# C\n\ntext\nmore\n"}, "-M")


def survives(scene: Scene, diff: bytes) -> None:
    try:
        patch = read(Repository.open(scene.root), diff)
    except ContractError as error:
        assert error.code.startswith("diff.")
        error.diagnostics()
    else:
        for file in patch.files:
            assert paths.refusal(paths.raw(file.path)) is None
            file.model_dump_json().encode("utf-8")


_hostile = st.sampled_from(
    [
        *(
            b"--- a/../x\n",
            b"+++ /etc/x\n",
            b"diff --git a/x b/x\n",
            b"new file mode 120000\n",
            b"\0",
        ),
        *(
            b"@@ -1 +1 @@\n",
            b"@@ -1,99999999999 +1 @@\n",
            b"rename from a.py\n",
            b"rename to .git/x\n",
        ),
        *(
            b"GIT binary patch\n",
            b"literal 5\n",
            b"delta 3\n",
            b'+++ "b/\\777"\n',
            b"\\ No newline\n",
        ),
        *(
            b"index 0..1 160000\n",
            b"old mode 777777\n",
            b"\r",
            b"\n",
            b"\xff\xfe",
            b'"',
            b"-",
            b"+",
        ),
    ]
)


@settings(deadline=None, max_examples=60)
@given(data=st.binary(max_size=200) | st.lists(_hostile, max_size=8).map(b"".join))
def test_random_bytes_end_in_nothing_but_a_contract_error(lasting: Scene, data: bytes) -> None:
    survives(lasting, data)


@settings(deadline=None, max_examples=80)
@given(
    which=st.integers(0, 2),
    cuts=st.lists(st.tuples(st.floats(0, 1), _hostile), min_size=1, max_size=4),
)
def test_mutated_diff_ends_in_facts_or_a_contract_error(
    lasting: Scene, which: int, cuts: list[tuple[float, bytes]]
) -> None:
    diff = _cached(lasting)[which]
    for place, piece in cuts:
        at = int(place * len(diff))
        diff = diff[:at] + piece + diff[at + (len(piece) if at % 2 else 0) :]
    survives(lasting, diff)


_diffs: dict[Path, list[bytes]] = {}


def _cached(scene: Scene) -> list[bytes]:
    if scene.root not in _diffs:
        _diffs[scene.root] = list(samples(scene))
    return _diffs[scene.root]


def test_every_prefix_of_a_diff_ends_in_facts_or_a_contract_error(lasting: Scene) -> None:
    diff = _cached(lasting)[1]
    before = lasting.fingerprint()
    for length in range(0, len(diff), 9):
        survives(lasting, diff[:length])
    assert lasting.fingerprint() == before


def test_binary_that_unpacks_without_end_is_refused_within_the_limits(lasting: Scene) -> None:
    bomb = b"\0" * (40 << 20)
    scene = lasting
    scene.write({"bomb": bomb})
    diff = scene.diff()
    assert len(diff) < 1 << 20
    with pytest.raises(ContractError) as caught:
        read(Repository.open(scene.root), diff)
    assert caught.value.code == "diff.too_large"
    assert scene.git("status", "--porcelain") == b""
