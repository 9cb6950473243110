"""`tipstaff init`: what a repository needs to be governed, and nothing overwritten."""

from __future__ import annotations

from pathlib import Path

import click

from tipstaff import __version__
from tipstaff.cli.output import json_option, print_json, say
from tipstaff.cli.policy.bundles import team_key
from tipstaff.cli.writing import demand_absent, write_text
from tipstaff.engine.policy import OVERLAY_FOLDER
from tipstaff.errors import ContractError
from tipstaff.pdp.bundle import OVERLAY, new_key, overlay_file, public_key
from tipstaff.pdp.issuing import Issuer
from tipstaff.pdp.opa import ensure
from tipstaff.project import LOCAL_FILE, TEAM_FILE, prepare, state_folder

_STARTER = Path(__file__).parents[1] / "starter"
_IGNORED = (".tipstaff/", LOCAL_FILE)
_WORKFLOWS = ".github/workflows"
_INSTALL = "pip install tipstaff"


@click.command()
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@json_option
def init(folder: Path, force: bool, as_json: bool) -> int:
    """Set a repository up for Tipstaff.

    Writes tipstaff.yaml, a policy overlay with a test, CI workflows and .gitignore lines.

    Makes a key for the team in the state folder, puts its public half into tipstaff.yaml, and signs the overlay. An
    existing file is never overwritten without --force; then nothing at all is written.
    """
    root = folder.absolute()
    if not (root / ".git").exists():
        raise ContractError(
            "project.no_git",
            "not the top of a git repository",
            file=str(root),
            fix="run `git init` first, or name the repository's top folder",
        )
    files = _files()
    signed = overlay_file(root / OVERLAY_FOLDER)
    wanted = [root / name for name in [TEAM_FILE, *files, signed.name]]
    demand_absent(root, wanted, code="init.exists", otherwise="remove them", force=force)
    opa = ensure(say)
    state = prepare(state_folder(root))
    key = team_key(state)
    public = public_key(key) if key.exists() else new_key(key)
    for name, content in files.items():
        write_text(root / name, content)
    write_text(root / TEAM_FILE, _team_file(public))
    bundle, _ = Issuer(opa, root / OVERLAY_FOLDER, OVERLAY, key, state).sign(None)
    written = [TEAM_FILE, *files, signed.name, *_ignore(root)]
    if as_json:
        print_json({"root": str(root), "written": written, "overlay_revision": bundle.revision})
        return 0
    for name in written:
        click.echo(f"wrote {name}")
    say("next: commit what was written, then run `tipstaff doctor`")
    return 0


def _files() -> dict[str, str]:
    source = _STARTER / OVERLAY_FOLDER
    overlay = {
        f"{OVERLAY_FOLDER}/{path.relative_to(source)}": path.read_text(encoding="utf-8")
        for path in sorted(source.rglob("*"))
        if path.is_file()
    }
    workflows = {
        f"{_WORKFLOWS}/{path.name}": path.read_text(encoding="utf-8").replace(
            _INSTALL, f"{_INSTALL}=={__version__}"
        )
        for path in sorted((_STARTER / "workflows").glob("*.yml"))
    }
    return {**overlay, **workflows}


def _team_file(public: str) -> str:
    key = "".join(f"    {line}\n" for line in public.strip().splitlines())
    return (_STARTER / TEAM_FILE).read_text(encoding="utf-8") + f"  public_key: |\n{key}"


def _ignore(root: Path) -> list[str]:
    file = root / ".gitignore"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    missing = [line for line in _IGNORED if line not in lines]
    if not missing:
        return []
    write_text(file, "".join(f"{line}\n" for line in [*lines, *missing]))
    return [".gitignore"]
