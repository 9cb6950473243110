"""The layout as data: what is bound, where, and in which order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sandboxes import strict
from tipstaff.errors import SandboxError
from tipstaff.sandbox.backend import RunSpec
from tipstaff.sandbox.bubblewrap import layout
from tipstaff.sandbox.bubblewrap.backend import BubblewrapBackend

WRITABLE = ["/dev/shm", "/tmp", "/scratch"]
NAMES = st.text("abw.-", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(
    st.sampled_from(["work", "scratch", "tmp", "opt", "usr", "home"]) | NAMES,
    min_size=1,
    max_size=4,
).map(lambda parts: Path("/", *parts))


def spec(*readonly: Path) -> RunSpec:
    return RunSpec(("/usr/bin/true", "--flag"), Path("/private/copy"), strict(), readonly=readonly)


def mounts(line: list[str]) -> list[tuple[str, str]]:
    """Each mount of an argument list: its option and its place."""
    found = []
    sizes = {"--ro-bind": 2, "--ro-bind-try": 2, "--proc": 1, "--dev": 1, "--tmpfs": 1}
    for position, word in enumerate(line[: line.index("--")]):
        if word in sizes:
            found.append((word, line[position + sizes[word]]))
    return found


def test_the_command_line_is_the_same_for_the_same_run() -> None:
    backend = BubblewrapBackend(Path("/opt/bwrap"), strict())
    line = backend.argv(spec())
    assert line == backend.argv(spec())
    assert line[0] == "/opt/bwrap"
    assert line[line.index("--") + 1] == "/bin/sh"
    assert line[-2:] == ["/usr/bin/true", "--flag"]


@pytest.mark.req("KG-10", "S-05")
def test_everything_of_the_host_is_bound_read_only() -> None:
    line = layout.arguments(spec(Path("/opt/python")))
    assert not {
        "--bind",
        "--dev-bind",
        "--bind-try",
        "--dev-bind-try",
        "--bind-fd",
        "--share-net",
    } & set(line)
    assert [place for kind, place in mounts(line) if kind == "--tmpfs"] == WRITABLE
    assert line[line.index("/private/copy") - 1 : line.index("/private/copy") + 2] == [
        "--ro-bind",
        "/private/copy",
        "/work",
    ]
    assert line[line.index("/private/copy") + 2 :][:4] == [
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
    ]


def test_every_namespace_is_new_and_every_capability_is_dropped() -> None:
    line = layout.arguments(spec())
    for option in (
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
    ):
        assert option in line
    assert line[line.index("--cap-drop") + 1] == "ALL"


@settings(deadline=None)
@given(st.lists(PATHS, max_size=4))
def test_no_mount_point_ever_lies_inside_the_input(readonly: list[Path]) -> None:
    try:
        line = layout.arguments(spec(*readonly))
    except SandboxError as error:
        assert error.code == "sandbox.visible_path"
        return
    places = [Path(place) for _, place in mounts(line)]
    work = places[-1]
    assert str(work) == spec(*readonly).work
    assert not any(work in place.parents for place in places)
    assert not any(
        place in (Path("/scratch"), Path("/proc"), Path("/dev")) for place in map(Path, readonly)
    )


@pytest.mark.parametrize(
    "path", ["/", "/scratch", "/scratch/x", "/proc/1", "/dev", "/tmp", "opt", "/opt/../etc"]
)
def test_a_path_that_would_cover_the_layout_is_refused(path: str) -> None:
    with pytest.raises(SandboxError) as raised:
        layout.arguments(spec(Path(path)))
    assert raised.value.code == "sandbox.visible_path"


def test_a_toolchain_below_work_moves_the_input_elsewhere() -> None:
    line = layout.arguments(spec(Path("/work/project/.venv")))
    assert mounts(line)[-2:] == [("--ro-bind", "/work/project/.venv"), ("--ro-bind", "/copy")]
    assert line[line.index("--chdir") + 1] == "/copy"


def test_paths_below_visible_ones_are_not_bound_again() -> None:
    line = layout.arguments(spec(Path("/opt/a/b"), Path("/opt/a"), Path("/usr/lib/python3")))
    assert [place for kind, place in mounts(line) if kind == "--ro-bind"] == ["/opt/a", "/work"]


def test_the_digest_of_a_run_covers_all_that_was_chosen() -> None:
    base = spec()
    variants = [
        base,
        replace(base, argv=("/usr/bin/false",)),
        replace(base, environment={"A": "b"}),
        replace(base, outputs=("/scratch/out",)),
        replace(base, readonly=(Path("/opt"),)),
        replace(base, profile=strict(wall_s=5)),
    ]
    assert len({variant.spec_sha256 for variant in variants}) == len(variants)
    assert replace(base, workdir=Path("/elsewhere")).spec_sha256 == base.spec_sha256


def test_the_digest_of_an_input_is_that_of_its_identity_or_else_of_all_in_it(
    tmp_path: Path,
) -> None:
    base = replace(spec(), workdir=tmp_path)
    seen = {base.input_sha256, replace(base, identity="tree").input_sha256}
    (tmp_path / "file").write_text("one")
    seen.add(base.input_sha256)
    (tmp_path / "file").write_text("two")
    seen.add(base.input_sha256)
    (tmp_path / "file").chmod(0o755)
    seen.add(base.input_sha256)
    (tmp_path / "link").symlink_to("file")
    seen.add(base.input_sha256)
    (tmp_path / "link").unlink()
    (tmp_path / "folder").mkdir()
    seen.add(base.input_sha256)
    (tmp_path / "file").rename(tmp_path / "folder/file")
    seen.add(base.input_sha256)
    assert len(seen) == 8
    again = replace(base, argv=("/bin/false",)).input_sha256
    assert again in seen
