"""The state folder holds keys and the trail; git takes nothing of it, whatever a repository's .gitignore says."""

from __future__ import annotations

from support.repositories import git
from support.workshop import Workshop


def test_state_is_not_taken_even_where_a_change_says_it_should_be(workshop: Workshop) -> None:
    ignored = workshop.root / ".gitignore"
    ignored.write_text(f"{ignored.read_text()}!.tipstaff/\n!**/keys/**\n")
    assert any((workshop.state / "keys").iterdir())
    git(workshop.root, "add", "-A")
    assert ".tipstaff" not in git(workshop.root, "ls-files")
