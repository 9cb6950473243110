"""Which forge is chosen, and which addresses are on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.github_scene import Scene, git, refused
from support.github_server import SLUG, TOKEN
from tipstaff.enforce.forge import LocalForge, choose
from tipstaff.enforce.github import GitHubForge
from tipstaff.enforce.github_address import Server, slug_of


def choice(scene: Scene, environ: dict[str, str] | None = None) -> GitHubForge | LocalForge:
    given = scene.github.environment if environ is None else environ
    chosen = choose(scene.forge.repository, scene.root / ".tipstaff", given)
    assert isinstance(chosen, GitHubForge | LocalForge)
    return chosen


def test_a_github_remote_and_a_token_choose_github(scene: Scene) -> None:
    chosen = choice(scene)
    assert isinstance(chosen, GitHubForge)
    assert (chosen.name, chosen.slug) == ("github", SLUG)
    assert chosen.open(scene.pull_request) == scene.reference


def test_no_token_chooses_the_folder_and_says_so(scene: Scene) -> None:
    chosen = choice(scene, {"GITHUB_TOKEN": " "})
    assert (chosen.name, chosen.reason) == ("local", "GITHUB_TOKEN is not set")


@pytest.mark.parametrize("url", ["http://github.com/acme/widgets", "https://gitlab.com/a/b", "/x"])
def test_another_remote_chooses_the_folder(scene: Scene, url: str) -> None:
    git(scene.root, "remote", "set-url", "origin", url)
    assert "is not an https or ssh address on github.com" in choice(scene).reason


def test_no_remote_chooses_the_folder(scene: Scene) -> None:
    git(scene.root, "remote", "remove", "origin")
    assert choice(scene).reason == "there is no remote origin"


def test_an_address_that_would_show_the_token_is_refused(scene: Scene) -> None:
    environ = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "http://api.example.com"}
    error = refused(lambda: choice(scene, environ))
    assert (error.code, error.field) == ("forge.refused", "GITHUB_API_URL")


@pytest.mark.parametrize(
    ("environ", "web", "api"),
    [
        ({}, "https://github.com", "https://api.github.com"),
        (
            {"GITHUB_SERVER_URL": "https://ghe.example.com/"},
            "https://ghe.example.com",
            "https://ghe.example.com/api/v3",
        ),
        (
            {"GITHUB_SERVER_URL": "https://a.ghe.com", "GITHUB_API_URL": "https://api.a.ghe.com"},
            "https://a.ghe.com",
            "https://api.a.ghe.com",
        ),
    ],
)
def test_the_server_is_the_one_that_the_variables_name(
    environ: dict[str, str], web: str, api: str
) -> None:
    server = Server.from_environment({"GITHUB_TOKEN": TOKEN, **environ})
    assert server is not None
    assert (server.web, server.api) == (web, api)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/widgets",
        "https://github.com/acme/widgets.git",
        "https://x-access-token:secret@github.com/acme/widgets.git",
        "https://GitHub.com/acme/widgets/",
        "ssh://git@github.com/acme/widgets.git",
        "ssh://git@github.com:22/acme/widgets",
        "ssh://git@ssh.github.com:443/acme/widgets.git",
        "git@github.com:acme/widgets.git",
        "github.com:acme/widgets",
    ],
)
def test_an_address_on_the_host_is_its_owner_and_name(url: str) -> None:
    assert slug_of(url, "github.com") == SLUG


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/acme/widgets",
        "git://github.com/acme/widgets",
        "ext::sh -c x% github.com/acme/widgets",
        "file:///github.com/acme/widgets",
        "https://github.com.evil.example/acme/widgets",
        "https://evil.example/github.com/acme/widgets",
        "https://github.com/acme",
        "https://github.com/acme/widgets/tree/main",
        "https://github.com/acme/..",
        "https://github.com/../widgets",
        "https://github.com/acme/widgets?x=1",
        "https://github.com/acme/wid gets",
        "https://[github.com/acme/widgets",
        "git@github.com:/acme/widgets",
        "/srv/git/widgets.git",
        "",
    ],
)
def test_any_other_address_is_none(url: str) -> None:
    assert slug_of(url, "github.com") is None


def test_git_answers_the_server_with_the_token_and_no_one_else(tmp_path: Path) -> None:
    server = Server("https://github.com", "https://api.github.com", "a-token")
    environment = {**os.environ, **server.git_credentials(), "GIT_TERMINAL_PROMPT": "0"}

    def ask(host: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "credential", "fill"],
            input=f"protocol=https\nhost={host}\n\n",
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert "username=x-access-token\npassword=a-token" in ask("github.com").stdout
    assert "a-token" not in ask("elsewhere.example").stdout
