"""A governed project with a real server of its own, which advertises what a file beside it holds."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

from support.contracts import capture
from support.observing import QUICK, SERVERS
from support.repair_scene import FILES, Edit, nothing
from support.repositories import commit, write
from support.workshop import Workshop


class Served:
    """A project whose server advertises what a file beside it holds."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.root = workshop.root
        folder = self.root / "server"
        folder.mkdir()
        shutil.copy(SERVERS / "from_file.py", folder / "serve.py")
        self.serve(nothing)
        write(self.root, FILES)
        server = {"command": [sys.executable, "server/serve.py"]}
        workshop.configure(
            contracts={"servers": {"weather": server}, "dependents": ["skills", "agent"]},
            sandbox={"backends": [QUICK]},
        )
        commit(self.root, "use a weather server")

    def serve(self, edit: Edit) -> None:
        """Let the server advertise this from now on."""
        value: dict[str, Any] = capture()
        edit(value)
        (self.root / "server/tools.json").write_text(json.dumps(value["tools"]))

    def pin(self) -> None:
        """Take the first snapshot and commit it."""
        done = self.workshop.run("contracts", "snapshot", "weather")
        assert done.code == 0, done.stderr
        commit(self.root, "pin the weather server")
