"""What leaves a sandbox: regular files beneath one folder, and a word about everything else."""

from __future__ import annotations

import os
import random
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.sandboxes import snippet, strict
from tipstaff.sandbox import collection
from tipstaff.sandbox.backend import SandboxBackend
from tipstaff.sandbox.collection import Collected, take

SECRET = b"canary-9b1f"
WAYS = ("openat2", "walk")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to open beneath a folder: the kernel's, and step by step where it has none."""
    if request.param == "walk":
        monkeypatch.setattr(collection, "_OPENAT2", 100_000)  # no such call
    return str(request.param)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """What the sandbox sees as /scratch, beside a secret of the host."""
    (tmp_path / "secret").write_bytes(SECRET)
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A descriptor that only stands for the folder."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def taken(folder: Path, *names: str) -> Collected:
    """What is taken from the folder under these names."""
    with opened(folder) as descriptor:
        return take(descriptor, [f"/scratch/{name}" for name in names], root="/scratch")


def hostile(scratch: Path) -> dict[str, str]:
    """A tree of what must not come out, with the reason for each."""
    host = scratch.parent / "secret"
    folder = scratch / "tree"
    (folder / "deep").mkdir(parents=True)
    (folder / "link").symlink_to(host)
    (folder / "proc-link").symlink_to(f"/proc/self/root{host}")
    (folder / "up").symlink_to("..")
    (folder / "folder-link").symlink_to(host.parent)
    os.mkfifo(folder / "pipe")
    (folder / "hard").write_bytes(b"x")
    os.link(folder / "hard", folder / "harder")
    with (folder / "sparse").open("wb") as file:
        os.truncate(file.fileno(), 10 << 30)
    (folder / "huge").write_bytes(b"x" * (collection.MAX_FILE_BYTES + 1))
    (folder / "new\nline").write_bytes(b"x")
    (folder / "clear\x1b[2J").write_bytes(b"x")
    (folder / "\u202egnp.exe").write_bytes(b"x")
    os.close(os.open(os.fsencode(folder) + b"/\xff", os.O_CREAT))
    (folder / "Readme").write_bytes(b"x")
    (folder / "readme").write_bytes(b"x")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(folder)
        listener.bind("socket")
        os.chdir(here)
    expected = {
        "link": "is a link",
        "proc-link": "is a link",
        "up": "is a link",
        "folder-link": "is a link",
        "pipe": "is a named pipe",
        "socket": "is a socket",
        "hard": "a hard link",
        "harder": "a hard link",
        "sparse": "larger than 8 MiB",
        "huge": "larger than 8 MiB",
        "new\\u{a}line": "does not print",
        "clear\\u{1b}[2J": "does not print",
        "\\u{202e}gnp.exe": "does not print",
        "\\u{dcff}": "does not print",
        "readme": "the same name as /scratch/tree/Readme",
    }
    if os.geteuid() == 0:
        try:
            os.mknod(folder / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            expected["null"] = "is a device"
        except PermissionError:
            pass
    return expected


@pytest.mark.promise("BR-28", "T2", "row 98")
def test_of_a_hostile_tree_only_plain_files_are_taken_and_each_refusal_says_why(
    way: str, scratch: Path
) -> None:
    expected = hostile(scratch)
    (scratch / "tree/deep/plain").write_bytes(b"plain")
    os.chmod(scratch / "tree/deep/plain", 0o6777)
    found = taken(scratch, "tree")
    assert found.files == {"/scratch/tree/deep/plain": b"plain", "/scratch/tree/Readme": b"x"}
    said = {one.path.removeprefix("/scratch/tree/"): one.reason for one in found.refused}
    assert set(said) == set(expected)
    for name, reason in expected.items():
        assert reason in said[name]


@pytest.mark.promise("BR-28")
def test_a_file_behind_a_linked_folder_is_refused(way: str, scratch: Path) -> None:
    (scratch / "out").symlink_to(scratch.parent)
    found = taken(scratch, "out/secret", "absent", "out")
    assert found.files == {}
    assert [one.path for one in found.refused] == [
        "/scratch/out/secret",
        "/scratch/absent",
        "/scratch/out",
    ]
    assert found.refused[1].reason == "is not there"


@pytest.mark.promise("BR-28")
def test_counts_and_sizes_are_capped_while_reading(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "MAX_FILES", 5)
    monkeypatch.setattr(collection, "MAX_FILE_BYTES", 100)
    monkeypatch.setattr(collection, "MAX_TOTAL_BYTES", 250)
    for number in range(9):
        (scratch / f"small{number}").write_bytes(b"x" * 10)
        (scratch / f"large{number}").write_bytes(b"x" * 90)
    many = taken(scratch, *(f"small{number}" for number in range(9)))
    assert (len(many.files), len(many.refused)) == (5, 4)
    much = taken(scratch, *(f"large{number}" for number in range(9)))
    assert (len(much.files), len(much.refused)) == (2, 7)


def test_a_file_that_grows_after_the_look_is_not_read_beyond_the_cap(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "MAX_FILE_BYTES", 100)
    (scratch / "growing").write_bytes(b"x" * 50)
    before = collection._reopened

    def grow(entry: int, flags: int) -> int:
        (scratch / "growing").write_bytes(b"x" * 500)
        return before(entry, flags)

    monkeypatch.setattr(collection, "_reopened", grow)
    found = taken(scratch, "growing")
    assert found.files == {}
    assert "larger" in found.refused[0].reason


def spellings(seed: int, count: int) -> list[str]:
    """Path strings, most of which try to lead out."""
    pieces = [
        "..",
        ".",
        "",
        "a",
        "secret",
        "scratch",
        "link",
        "\0",
        "%2e%2e",
        "..\\",
        "~",
        "/",
        "proc/self/root",
        "…",
    ]
    chance = random.Random(seed)
    heads = [
        "/scratch/",
        "/scratch/../",
        "/scratch",
        "/scratchy/",
        "../",
        "/",
        "//scratch/",
        "/proc/self/root/scratch/",
    ]
    return [
        chance.choice(heads) + "/".join(chance.choices(pieces, k=chance.randint(0, 6)))
        for _ in range(count)
    ]


@pytest.mark.promise("T2", "row 98")
def test_no_spelling_of_a_path_leads_out(way: str, scratch: Path) -> None:
    (scratch / "link").symlink_to(scratch.parent)
    (scratch / "a").mkdir()
    (scratch / "a/secret").write_bytes(b"inside")
    seed = 20261130
    print("seed", seed)
    names = spellings(seed, 500)
    with opened(scratch) as descriptor:
        for name in names:
            found = take(descriptor, [name], root="/scratch")
            assert set(found.files.values()) <= {b"inside"}, name


def swap_races(scratch: Path, rounds: int) -> int:
    """How often a secret came out while files and folders are exchanged for links; each round takes twice."""
    inside = scratch / "folder"
    inside.mkdir()
    (inside / "secret").write_bytes(b"inside")
    (scratch / "file").write_bytes(b"inside")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for name, target in (("folder", scratch.parent), ("file", scratch.parent / "secret")):
                spare = scratch / f"{name}.link"
                spare.symlink_to(target)
                os.rename(scratch / name, scratch / f"{name}.away")
                os.rename(spare, scratch / name)
                over.wait(0.0005)  # long enough for the other thread to come by
                os.unlink(scratch / name)
                os.rename(scratch / f"{name}.away", scratch / name)

    swapper = threading.Thread(target=swap)
    swapper.start()
    outside = seen = 0
    try:
        for _ in range(rounds):
            found = taken(scratch, "folder/secret", "file")
            outside += SECRET in found.files.values()
            seen += b"inside" in found.files.values()
    finally:
        over.set()
        swapper.join()
    assert seen  # the race was one: sometimes the plain file was there
    return outside


@pytest.mark.promise("T2", "row 98")
def test_no_swap_between_look_and_open_leads_out(way: str, scratch: Path) -> None:
    assert swap_races(scratch, 300) == 0


@pytest.mark.nightly
@pytest.mark.promise("T2", "row 98")
def test_none_of_10000_swaps_leads_out(
    way: str, scratch: Path, record_property: pytest.RecordProperty
) -> None:
    record_property("swap races", 10_000)
    assert swap_races(scratch, 5_000) == 0


@pytest.mark.req("S-10")
@pytest.mark.promise("BR-28")
def test_a_run_says_what_it_was_asked_for_and_did_not_hand_back(
    backend: SandboxBackend, tmp_path: Path
) -> None:
    code = """
import os
os.makedirs("/scratch/out/deep")
open("/scratch/out/deep/plain", "w").write("plain")
os.chmod("/scratch/out/deep/plain", 0o4755)
os.symlink("/etc/passwd", "/scratch/out/link")
"""
    spec = snippet(code, tmp_path / "in", strict(), outputs=("/scratch/out", "/scratch/none"))
    result, outputs = backend.run(spec)
    assert outputs == {"/scratch/out/deep/plain": b"plain"}
    assert {one.path for one in result.refused} == {"/scratch/out/link", "/scratch/none"}
