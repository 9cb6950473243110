"""A configuration file that has two readings or no end is exit 2 that names it, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.workshop import Workshop, contents
from tipstaff.documents import strict_yaml
from tipstaff.errors import ContractError

ODD = {
    "a mapping in itself": "schema_version: 1\nautonomy: &a {audit: *a}\n",
    "a file in itself": "&a {schema_version: 1, paths: *a}\n",
    "an anchor": "schema_version: 1\npaths: {allowed: &a ['**'], read_only: *a}\n",
    "a merge": "schema_version: 1\nautonomy: {<<: {audit: auto}}\n",
    "a list as a key": "schema_version: 1\n? [a, b]\n: 1\n",
    "a mapping as a key": "schema_version: 1\n? {a: b}\n: 1\n",
    "a number as a key": "schema_version: 1\n1: 2\n",
    "nothing as a key": "schema_version: 1\n~: 2\n",
    "a tagged integer": 'schema_version: !!int "x"\n',
    "a tagged boolean": 'schema_version: !!bool "maybe"\n',
    "a tagged time": 'schema_version: !!timestamp "x"\n',
    "a tagged object": 'schema_version: !!python/object/apply:os.system ["id"]\n',
    "a number as a text": 'schema_version: "1"\n',
    "a number with a point": "schema_version: 1.0\n",
    "a truth": "schema_version: true\n",
    "an octal number": "schema_version: 01\n",
    "a number to base 60": "schema_version: 1\nsandbox: {limits: {cpu_s: 1:30}}\n",
    "a number beyond all": f"schema_version: 1\nsandbox: {{limits: {{cpu_s: {'9' * 5000}}}}}\n",
    "half a pair": 'schema_version: 1\npaths: {allowed: ["\\ud800"]}\n',
    "a NUL": 'schema_version: 1\npolicy: {overlay: "a\\0b", public_key: x}\n',
    "an escape": 'schema_version: 1\npaths: {allowed: ["\\e[31m"]}\n',
    "a depth": f"schema_version: 1\npaths: {'[' * 3000}{']' * 3000}\n",
    "a length": f"schema_version: 1\n{'# more' * (1 << 18)}\n",
}


@pytest.mark.parametrize("name", ["tipstaff.yaml", "tipstaff.local.yaml"])
@pytest.mark.parametrize("odd", ODD)
def test_file_that_is_not_plain_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str, name: str
) -> None:
    from tipstaff.project import Project

    (tmp_path / name).write_text(ODD[odd])
    with pytest.raises(ContractError) as refused:
        Project.find(tmp_path)
    assert refused.value.file == str(tmp_path / name)
    assert refused.value.fix


def pipe(file: Path) -> None:
    os.mkfifo(file)


def endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


@pytest.mark.parametrize("place", [pipe, endless, Path.mkdir])
def test_file_that_is_no_file_is_refused_at_once(
    workshop: Workshop, place: Callable[[Path], None]
) -> None:
    (workshop.root / "tipstaff.yaml").unlink()
    place(workshop.root / "tipstaff.yaml")
    before = contents(workshop.state)
    refused = workshop.propose_cli(workshop.diff(), "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "file.unreadable")
    assert contents(workshop.state) == before


def test_what_is_asked_about_is_read_no_further_than_its_limit(workshop: Workshop) -> None:
    decide = workshop.run("decide", "/dev/zero", "--json")
    assert (decide.code, decide.json["error"]["code"]) == (2, "json.too_large")
    propose = workshop.run(
        *("change", "propose", "--class", "heal_additive", "--diff", "/dev/zero", "--json")
    )
    assert (propose.code, propose.json["error"]["code"]) == (2, "diff.too_large")


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 2])
def test_version_that_is_not_the_integer_is_refused(workshop: Workshop, version: object) -> None:
    document = {"kind": "control", "subject": {"id": "x"}, "action": {}, "resource": {"id": "x"}}
    with pytest.raises(ContractError) as refused:
        workshop.decide({"schema_version": version, **document})
    assert refused.value.field == "schema_version"


def test_plain_words_and_numbers_are_what_they_show() -> None:
    text = b"\xef\xbb\xbfa: off\nb: no\nc: true\nd: 10\ne: -3\nf: 2026-01-01\ng: 0\nh: 0x10\ni: 1_000\n"
    value = {"a": "off", "b": "no", "c": True, "d": 10, "e": -3, "f": "2026-01-01", "g": 0}
    assert strict_yaml.loads(text, file="x") == {**value, "h": 16, "i": "1_000"}
