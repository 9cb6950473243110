"""How far a project has come: no older bundle comes back, and a lost mark is never taken for none."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from support.racing import race
from tipstaff.errors import DecisionError
from tipstaff.pdp import archive
from tipstaff.pdp import marks as marks_module
from tipstaff.pdp.bundle import Bundle
from tipstaff.pdp.identity import LARGEST
from tipstaff.pdp.marks import STEP, Marks

OURS = Bundle("org", Path("policy.tar.gz"), "org+7", "d", "key one", sequence=7, digest="a")
NUMBERS = {"higher": 8, "same": 7, "lower": 6}
PAYLOADS = {"same content": "a", "other content": "b"}
EXPECTED = {
    ("higher", "same content"): None,
    ("higher", "other content"): None,
    ("same", "same content"): None,
    ("same", "other content"): "bundle.revision_reused",
    ("lower", "same content"): "bundle.rollback",
    ("lower", "other content"): "bundle.rollback",
}
CONDITIONS = ("same process", "restarted", "copy missing", "copy torn")


@pytest.fixture(autouse=True)
def _own_home(home: Path) -> None:
    """Marks are witnessed in a home of the test's own."""


def _refusal(act: Callable[[], object]) -> str | None:
    try:
        act()
    except DecisionError as error:
        return error.code
    return None


@pytest.mark.req("E-08")
@pytest.mark.promise("B2", "row 45", "row 46", "row 49")
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("number", NUMBERS)
def test_bundle_after_an_accepted_one_is_taken_only_if_it_is_newer_or_the_same(
    number: str, payload: str, condition: str, tmp_path: Path
) -> None:
    marks = Marks(tmp_path / "state")
    assert marks.accept(OURS)
    if condition == "copy missing":
        marks.file.unlink()
    if condition == "copy torn":
        marks.file.write_bytes(marks.file.read_bytes()[:-9])
    if condition != "same process":
        marks = Marks(tmp_path / "state")
    sequence = NUMBERS[number]
    next_one = replace(
        OURS, revision=f"org+{sequence}", sequence=sequence, digest=PAYLOADS[payload]
    )
    wanted = EXPECTED[number, payload]
    assert _refusal(lambda: marks.accept(next_one)) == (
        "bundle.mark_lost" if condition.startswith("copy") else wanted
    )
    if wanted is None and not condition.startswith("copy"):
        assert marks.highest("org") == sequence
        assert _refusal(lambda: Marks(tmp_path / "state").accept(OURS)) == (
            "bundle.rollback" if sequence > OURS.sequence else None
        )


def test_first_bundle_is_trusted_and_noted_in_both_places(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "state")
    assert marks.read() == {}
    assert marks.accept(OURS)
    assert not marks.accept(OURS)
    assert marks.file.read_bytes() == marks.witness.read_bytes()
    assert tmp_path / "state" not in marks.witness.parents


@pytest.mark.promise("B2", "row 47")
@pytest.mark.parametrize(
    ("sequence", "code"),
    [
        (7 + STEP, None),
        (7 + STEP + 1, "bundle.fast_forward"),
        (LARGEST, "bundle.fast_forward"),
        (LARGEST + 1, "bundle.fast_forward"),
        (2**63, "bundle.fast_forward"),
    ],
)
def test_step_is_limited(sequence: int, code: str | None, tmp_path: Path) -> None:
    marks = Marks(tmp_path / "state")
    marks.accept(OURS)
    assert _refusal(lambda: marks.accept(replace(OURS, sequence=sequence, digest="b"))) == code
    assert marks.highest("org") == (7 if code else sequence)


def test_number_beyond_what_json_holds_is_refused_at_first_use_too(tmp_path: Path) -> None:
    beyond = replace(OURS, sequence=LARGEST + 1)
    assert _refusal(lambda: Marks(tmp_path).accept(beyond)) == "bundle.fast_forward"


def _deleted(file: Path) -> None:
    file.unlink()


def _emptied(file: Path) -> None:
    file.write_bytes(b"")


def _lowered(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"[7,", b"[3,"))


def _lowered_with_its_digest(file: Path) -> None:
    from tipstaff.pdp.marks import _digest

    document = json.loads(file.read_bytes())
    del document["sha256"]
    for values in document["marks"].values():
        values[1] = "another"
    file.write_text(json.dumps({**document, "sha256": _digest(document)}))


def _linked(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


def _of_another_project(file: Path) -> None:
    other = Marks(file.parents[3] / "other" / "state")
    other.accept(replace(OURS, sequence=1))
    file.write_bytes(other.witness.read_bytes())


@pytest.mark.promise("B2", "row 49")
@pytest.mark.parametrize("copy", ["file", "witness"])
@pytest.mark.parametrize(
    "harm",
    [_deleted, _emptied, _lowered, _lowered_with_its_digest, _linked, _of_another_project],
)
def test_copy_that_is_lost_or_altered_refuses_everything(
    harm: Callable[[Path], None], copy: str, tmp_path: Path
) -> None:
    marks = Marks(tmp_path / "state")
    marks.accept(OURS)
    harm(getattr(marks, copy))
    for bundle in (OURS, replace(OURS, sequence=8), replace(OURS, name="new")):
        assert _refusal(lambda bundle=bundle: Marks(tmp_path / "state").accept(bundle)) == (
            "bundle.mark_lost"
        )


def test_person_says_where_to_begin_anew(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "state")
    marks.accept(OURS)
    marks.file.unlink()
    earlier = replace(OURS, sequence=2, digest="c")
    marks.reset((earlier,))
    assert not marks.accept(earlier)
    assert marks.highest("org") == 2


@pytest.mark.promise("B7")
def test_crash_between_the_two_copies_loses_nothing(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "state")
    marks.accept(OURS)
    before = marks.file.read_bytes()
    marks.accept(replace(OURS, sequence=8, digest="b"))
    marks.file.write_bytes(before)
    assert marks.highest("org") == 8
    assert _refusal(lambda: marks.accept(OURS)) == "bundle.rollback"


@pytest.mark.promise("B7")
def test_crash_between_the_first_two_copies_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = Marks(tmp_path / "state")
    real = marks_module.write_atomically

    def crash(file: Path, data: bytes) -> None:
        real(file, data)
        if file == marks.witness:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(marks_module, "write_atomically", crash)
        with pytest.raises(KeyboardInterrupt):
            marks.accept(OURS)
    assert marks.highest("org") == 7
    assert _refusal(lambda: marks.accept(replace(OURS, sequence=6))) == "bundle.rollback"
    assert marks.accept(replace(OURS, sequence=8, digest="b"))


@pytest.mark.promise("B7")
def test_of_many_who_are_first_at_once_each_is_accepted(tmp_path: Path) -> None:
    for number in range(20):
        marks = Marks(tmp_path / f"state{number}")
        assert race([partial(marks.accept, OURS)] * 8) == [("done", 0)] * 8


def test_state_that_moves_with_its_project_keeps_its_marks(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "state")
    marks.accept(OURS)
    (tmp_path / "state").rename(tmp_path / "moved")
    moved = Marks(tmp_path / "moved")
    assert _refusal(lambda: moved.accept(replace(OURS, sequence=6))) == "bundle.rollback"
    assert moved.accept(replace(OURS, sequence=8, digest="b"))
    assert Marks(tmp_path / "moved").highest("org") == 8


@pytest.mark.promise("row 49")
def test_state_that_vanished_is_lost_and_a_clone_elsewhere_begins_anew(tmp_path: Path) -> None:
    Marks(tmp_path / "state").accept(OURS)
    shutil.rmtree(tmp_path / "state")
    assert _refusal(lambda: Marks(tmp_path / "state").accept(OURS)) == "bundle.mark_lost"
    assert Marks(tmp_path / "clone/state").accept(OURS)


def test_each_signer_has_an_own_order(tmp_path: Path) -> None:
    marks = Marks(tmp_path)
    marks.accept(OURS)
    assert marks.accept(replace(OURS, public_key="key two", sequence=1))
    assert marks.highest("org") == 7


def test_key_in_another_spelling_is_the_same_signer(tmp_path: Path) -> None:
    pem = "-----BEGIN PUBLIC KEY-----\nMFkw\nEwYH\n-----END PUBLIC KEY-----\n"
    marks = Marks(tmp_path / "state")
    marks.accept(replace(OURS, public_key=pem))
    for spelt in (f"a comment\n{pem}", pem.replace("MFkw\n", "MF\nkw"), pem + pem):
        older = replace(OURS, public_key=spelt, sequence=OURS.sequence - 1)
        assert _refusal(lambda bundle=older: marks.accept(bundle)) == "bundle.rollback"


def test_what_a_checkout_builds_has_no_mark(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "state")
    built = replace(OURS, name="tipstaff", sequence=0)
    assert not marks.accept(built)
    assert not marks.accept(replace(built, digest="b"))
    assert not marks.file.exists()
    marks.accept(replace(built, sequence=4))
    assert _refusal(lambda: marks.accept(built)) == "bundle.rollback"


@pytest.mark.promise("B2")
def test_mark_that_cannot_be_kept_refuses(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "state")
    marks.file.parent.parent.mkdir()
    marks.file.parent.write_text("a file where the folder would be")
    assert _refusal(lambda: marks.accept(OURS)) in ("bundle.mark_unwritable", "bundle.mark_lost")
    os.unlink(marks.file.parent)
    marks.witness.parent.parent.mkdir(parents=True, exist_ok=True)
    marks.witness.parent.write_text("here, too")
    assert _refusal(lambda: marks.accept(OURS)) in ("bundle.mark_unwritable", "bundle.mark_lost")


def test_numbers_are_whole_in_the_archive_too() -> None:
    document = b'{"org":{"bundle":{"sequence":1},"big":9007199254740993,"real":1.50}}'
    assert archive.pruned(document, "org", "bundle") == (
        b'{"org":{"big":9007199254740993,"real":1.50}}'
    )
