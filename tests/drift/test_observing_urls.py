"""A server at a URL is asked in bounded time and memory, by headers whose values nobody gets to see."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.observing import On, modern, serving
from support.observing import seen as seen_here
from tipstaff.drift.observing.observe import observe
from tipstaff.drift.observing.target import Observation, Target
from tipstaff.errors import ContractError, UnobservedError

SECRET = "s3cret-value-of-a-header"
Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that end with the test."""
    with ExitStack() as stack:
        yield lambda *words: stack.enter_context(serving(*words))


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_TOKEN", SECRET)


def seen(url: str, root: Path, **headers: str) -> Observation:
    headers = headers or {"Authorization": "WEB_TOKEN"}
    return observe(Target("web", url=url, headers=headers), On(), root=root)


@pytest.mark.parametrize("way", ["plain", "events"])
def test_server_at_a_url_gives_its_contract(serve: Serve, tmp_path: Path, way: str) -> None:
    url = serve(way)
    found = seen(url, tmp_path)
    assert [tool["name"] for tool in found.snapshot.tools] == ["forecast"]
    assert (found.snapshot.source.transport, found.snapshot.source.url) == ("http", url)
    assert (found.report.sandbox, found.report.watched) == (None, "nothing")
    assert SECRET not in repr(found)


def test_server_of_the_sdk_says_the_same_at_a_url_and_as_a_command(tmp_path: Path) -> None:
    with serving("http", program="modern.py") as url:
        there = seen(url, tmp_path)
    here = seen_here(modern(), root=tmp_path)
    assert there.report.era == here.report.era == "discover"
    for member in ("tools", "prompts", "resources", "resource_templates", "instructions"):
        assert getattr(there.snapshot, member) == getattr(here.snapshot, member)


@pytest.mark.promise("M4", "row 114")
@pytest.mark.parametrize(
    ("way", "code", "said"),
    [
        ("unauthorized", "contract.unreachable", "HTTP 401"),
        ("huge", "contract.incomplete", "larger than 1048576 bytes"),
        ("echo", "contract.incomplete", "header Authorization back"),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                ("silent", "contract.unreachable", "no byte"),
                ("page", "contract.unreachable", "ended before"),
                ("compressed", "contract.incomplete", "compresses"),
                ("endless", "contract.incomplete", "more than 100 pages"),
                ("trickle", "contract.incomplete", "no answer"),
            )
        ),
    ],
)
def test_hostile_url_is_an_error_in_bounded_time(
    serve: Serve, tmp_path: Path, way: str, code: str, said: str
) -> None:
    begun = time.monotonic()
    with pytest.raises(UnobservedError, match=said) as refusal:
        seen(serve(way), tmp_path)
    assert refusal.value.code == code
    assert SECRET not in str(refusal.value) + refusal.value.fix
    assert time.monotonic() - begun < 300


def test_redirect_to_another_origin_is_not_followed(serve: Serve, tmp_path: Path) -> None:
    elsewhere = serve("plain")
    with pytest.raises(UnobservedError, match="which is not followed") as refusal:
        seen(serve("elsewhere", elsewhere), tmp_path)
    assert refusal.value.code == "contract.unreachable"


def test_address_where_nobody_listens_is_unreachable(tmp_path: Path) -> None:
    with serving("plain") as url:
        pass
    with pytest.raises(UnobservedError) as refusal:
        seen(url, tmp_path)
    assert refusal.value.code == "contract.unreachable"


@pytest.mark.parametrize(("value", "said"), [(None, "not set"), ("a\nb", "no header"), ("", "no")])
def test_variable_that_cannot_be_a_header_is_named_and_its_value_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, said: str
) -> None:
    if value is not None:
        monkeypatch.setenv("OTHER_TOKEN", value)
    with pytest.raises(ContractError, match=said) as refusal:
        seen("http://127.0.0.1:9/mcp", tmp_path, Authorization="OTHER_TOKEN")
    assert (refusal.value.code, refusal.value.exit_code) == ("contract.variable", 2)
    assert refusal.value.field == "OTHER_TOKEN"
