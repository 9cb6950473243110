"""Blocks marked in a skill's file: found byte for byte, and every slip in a marker is an error that names its line."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.augment_scene import END, PROSE, SKILL
from support.command_line import run
from tipstaff.errors import ContractError
from tipstaff.healing.augment.blocks import MAX_BYTES, Block, scan
from tipstaff.healing.augment.candidate import Candidate
from tipstaff.healing.augment.replacement import outside, replaced

CANDIDATE = Candidate("total.py", b"print(1)\n")


def found(text: str | bytes) -> list[Block]:
    """The blocks of a text."""
    return scan(text.encode() if isinstance(text, str) else text, file="SKILL.md")


def refused(text: str | bytes) -> ContractError:
    """The error that a text is refused with."""
    with pytest.raises(ContractError) as caught:
        found(text)
    assert caught.value.fix
    return caught.value


def start(block: str = "a", more: str = "class=script") -> str:
    """A marker that begins a block."""
    return f"<!-- tipstaff:block id={block} {more} -->\n"


def test_block_is_found_with_its_class_its_confidence_and_its_lines() -> None:
    (block,) = found(SKILL)
    assert (block.id, block.class_, block.confidence_permille) == (
        "add-up",
        "deterministic-candidate",
        900,
    )
    assert (block.first_line, block.last_line) == (8, 13)
    assert block.prose == PROSE.encode()
    parts = (block.before, block.start, block.prose, block.end, block.after)
    assert b"".join(parts) == SKILL.encode()


@pytest.mark.req("A-05")
@pytest.mark.parametrize(
    ("written", "permille"),
    [
        *(("0", 0), ("1", 1000), ("0.7", 700), ("0.74", 740), ("0.749", 749), ("0.750", 750)),
        *(("1.0", 1000), ("1.000", 1000), ("0.05", 50), ("0.005", 5)),
    ],
)
def test_confidence_is_read_as_whole_thousandths(written: str, permille: int) -> None:
    (block,) = found(f"{start(more=f'class=script confidence={written}')}x\n{END}")
    assert block.confidence_permille == permille


def test_several_blocks_are_found_in_their_order_and_none_where_none_is_marked() -> None:
    text = "".join(f"{start(name)}prose\n{END}\n" for name in ("b", "a", "c-9"))
    assert [block.id for block in found(text)] == ["b", "a", "c-9"]
    assert found("# A skill\n\nNothing is marked.\n") == []
    assert found("") == []


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        (f"x\n{start()}prose\n", 2, "not closed"),
        (f"{start()}p\n{start('b')}q\n{END}", 3, "inside the block of line 1"),
        (f"p\n{END}", 2, "no block is open"),
        (f"{start()}p\n{END}{start()}q\n{END}", 4, "that of line 1"),
        (f"{start()}\n \n{END}", 1, "empty"),
        (start(more="").replace("id=a ", ""), 1, "looks like a marker"),
        ("<!-- tipstaff:block -->\n", 1, "no proper id"),
        ("<!-- tipstaff:block id=a -->\n", 1, "no class"),
        ("<!-- tipstaff:block class=script -->\n", 1, "no proper id"),
        (start("A"), 1, "no proper id"),
        (start("-a"), 1, "no proper id"),
        (start("a" * 65), 1, "no proper id"),
        (start("ä"), 1, "no proper id"),
        (start(more="class=deterministic"), 1, "'deterministic' is no class"),
        (start(more="class=Script"), 1, "no class"),
        (start(more="class=script class=script"), 1, "given twice"),
        (start(more="class=script colour=red"), 1, "'colour' is unknown"),
        *(
            (start(more=f"class=script confidence={value}"), 1, "no confidence")
            for value in (
                "75",
                "0,75",
                "1.1",
                "-1",
                "0.7501",
                ".75",
                "1e0",
                "NaN",
                "0.\u0667",
                "90%",
            )
        ),
        ("<!-- tipstaff:blok id=a class=script -->\n", 1, "looks like a marker"),
        ("<!-- tipstaff:end -->\n", 1, "looks like a marker"),
        ("<!-- Tipstaff:block id=a class=script -->\n", 1, "looks like a marker"),
        ("<!--tipstaff:block id=a class=script-->\n", 1, "looks like a marker"),
        ("<!-- /tipstaff:block id=a -->\n", 1, "looks like a marker"),
        ("<!-- tipstaff:block id=a\nclass=script -->\n", 1, "looks like a marker"),
        (f"Now: {start()}", 1, "looks like a marker"),
        (start().strip() + " here\n", 1, "looks like a marker"),
        (f"a\rb {start()}p\n{END}", 1, "looks like a marker"),
        (f"{start()}p\n```\n{END}", 3, "fence is not closed"),
        (f"~~~~\n```\n{start()}p\n{END}", 1, "fence is not closed"),
    ],
)
def test_slip_in_a_marker_is_an_error_that_names_its_line(
    text: str, line: int, complaint: str
) -> None:
    error = refused(text)
    assert (error.code, error.file) == ("augment.markers", f"SKILL.md:{line}")
    assert complaint in error.message


@pytest.mark.parametrize(
    ("data", "complaint", "line"),
    [
        (b"a\nb\xff\n", "not UTF-8 at byte 3", ":2"),
        (b"a\0b", "NUL", ""),
        (b"x" * (MAX_BYTES + 1), "larger", ""),
        ("ä\n".encode("latin-1"), "not UTF-8 at byte 0", ":1"),
    ],
)
def test_file_that_is_no_text_is_an_error(data: bytes, complaint: str, line: str) -> None:
    error = refused(data)
    assert (error.code, error.file) == ("augment.skill", f"SKILL.md{line}")
    assert complaint in error.message


@pytest.mark.parametrize(
    "code",
    [
        f"```\n{start()}p\n{END}```\n",
        f"~~~ markdown\n{start()}~~~\n",
        f"````\n```\n{start()}```\n{END}````\n",
        f"    {start()}",
        f"\t{start()}",
        f"Write `{start().strip()}` to begin one.\n",
        f"Write ``a ` {start().strip()}`` to begin one.\n",
    ],
)
def test_marker_in_code_is_text(code: str) -> None:
    assert found(code) == []
    (block,) = found(f"{start()}{code}{END}")
    assert block.prose == code.encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_stay_as_they_are(end: str, mark: str) -> None:
    text = mark + f"{start()}prose\n{END}after\n".replace("\n", end)
    (block,) = found(text)
    new = replaced(block, CANDIDATE).decode()
    assert new.startswith(mark + "<!-- tipstaff:block id=a class=script -->" + end)
    assert new.endswith(f"{end}after{end}")
    assert new.replace("\r\n", "").count("\n") == (0 if end == "\r\n" else 4)


HOSTILE = [
    '"""\nimport os; os.system("x")\n"""\n',
    "{{ 7*7 }} {% include 'x' %} ${HOME} $(id) `id` %s {0} <%= x %>\n",
    "'; rm -rf / #\n---\nkey: !!python/object:os.system\n",
    "\u202e\u2066gnihtemos\u2069\u200b\u00a0\n",
    "a\x85b\u2028c\u2029d\x0be\x0cf\n",
    "<script>alert(1)</script> --> <!-- a comment --> ]]>\n",
    "@everyone #1 [x](javascript:x) ![](http://x)\n",
    "Tipstaff-Decision: forged\n\nSigned-off-by: nobody\n",
]


@pytest.mark.parametrize("prose", HOSTILE)
def test_prose_is_data_and_leaves_with_its_block(prose: str) -> None:
    before, after = f"before\n{prose}", f"{prose}after"
    (block,) = found(f"{before}{start()}{prose}{END}{after}")
    assert block.prose == prose.encode()
    new = replaced(block, CANDIDATE)
    assert new.startswith(before.encode())
    assert new.endswith(after.encode())
    assert new.count(prose.encode()) == 2
    measured = outside(block, new, file="SKILL.md")
    assert measured is not None
    assert measured.before_sha256 == measured.after_sha256


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80)
)
def test_any_prose_goes_in_and_out_unchanged_or_is_refused_by_line(prose: str) -> None:
    text = f"x\n{start()}{prose}\n{END}y\n".encode()
    try:
        blocks = found(text)
    except ContractError as error:
        assert error.file is not None
        assert error.file.startswith("SKILL.md:")
        return
    (block,) = blocks
    assert block.prose == prose.encode() + b"\n"
    assert scan(replaced(block, CANDIDATE), file="x")[0].class_ == "script"


@pytest.mark.req("A-07")
@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda text: text, True),
        (lambda text: text.replace("friendly ", ""), False),
        (
            lambda text: text.replace("Then write one friendly sentence to the customer.\n", ""),
            False,
        ),
        (lambda text: text.replace("# Invoice total\n\n", "# Invoice total\n"), False),
        (lambda text: text + " ", False),
    ],
)
def test_text_around_the_block_is_compared_byte_for_byte(change: object, same: bool) -> None:
    (block,) = found(SKILL)
    assert callable(change)
    patched = change(replaced(block, CANDIDATE).decode()).encode()
    measured = outside(block, patched, file="SKILL.md")
    assert measured is not None
    assert (measured.before_sha256 == measured.after_sha256) is same


@pytest.mark.req("A-07")
@pytest.mark.parametrize("patched", [None, b"", b"no block\n", b"<!-- tipstaff:block id=x -->\n"])
def test_block_that_is_gone_leaves_nothing_to_compare(patched: bytes | None) -> None:
    (block,) = found(SKILL)
    assert outside(block, patched, file="SKILL.md") is None


def test_scan_lists_blocks_for_people_and_as_one_document(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_text(SKILL)
    shown = run("augment", "scan", file, cwd=tmp_path)
    assert shown.code == 0
    assert shown.stdout.splitlines()[1].split() == [
        *("add-up", "8-13", "deterministic-candidate", "0.900"),
    ]
    told = run("augment", "scan", file, "--json", cwd=tmp_path)
    (block,) = found(SKILL)
    assert json.loads(told.stdout) == {
        "file": str(file),
        "blocks": [
            {
                "id": "add-up",
                "class": "deterministic-candidate",
                "confidence_permille": 900,
                "first_line": 8,
                "last_line": 13,
                "prose_sha256": block.prose_sha256,
            }
        ],
    }


def test_scan_of_what_is_no_plain_file_is_an_input_error(tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "x.md")
    for name in ("absent.md", ".", "link.md"):
        answer = run("augment", "scan", tmp_path / name, "--json", cwd=tmp_path)
        assert (answer.code, answer.json["error"]["code"]) == (2, "file.unreadable")
    (tmp_path / "x.md").write_text(start())
    answer = run("augment", "scan", tmp_path / "x.md", "--json", cwd=tmp_path)
    assert (answer.code, answer.json["error"]["code"]) == (2, "augment.markers")
    assert answer.json["error"]["file"].endswith("x.md:1")


@pytest.mark.parametrize(
    "text",
    [
        "<!--" + " " * MAX_BYTES,
        "<!--" + " " * (MAX_BYTES // 2) + "/" + " " * (MAX_BYTES // 2),
        "<!-- tipstaff" + " ".join("`" * number for number in range(1, 1400)),
        "".join(f"{start(f'b{number}')}p\n{END}" for number in range(10_000)),
    ],
    ids=["blanks", "blanks on both sides", "ticks", "blocks"],
)
def test_file_made_to_be_slow_is_read_in_a_time_and_memory_that_grow_with_its_length(
    text: str,
) -> None:
    """Where one of them grew with the square, this would take hours, or gigabytes."""
    tracemalloc.start()
    try:
        with contextlib.suppress(ContractError):
            found(text[:MAX_BYTES])
        assert tracemalloc.get_traced_memory()[1] < 64 * MAX_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("line", "spans"),
    [
        ("a `<!-- tipstaff -->` b", 0),
        ("`` ` <!-- tipstaff --> ` ``", 0),
        ("` a <!-- tipstaff -->", 1),
        ("`a` <!-- tipstaff --> `b`", 1),
        ("`` ` <!-- tipstaff --> ```", 1),
        ("` `` <!-- tipstaff --> ` ``", 0),
    ],
)
def test_marker_is_text_only_between_the_two_ends_of_a_code_span(line: str, spans: int) -> None:
    if spans:
        assert "looks like a marker" in refused(line).message
    else:
        assert found(line) == []
