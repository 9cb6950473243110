"""An overlay's rule that nobody would read is refused before it is signed; what is read, and helpers, are built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tipstaff.errors import ContractError
from tipstaff.pdp.bundle import build, new_key
from tipstaff.pdp.opa import Opa

UNREAD = {
    "a truth, too deep": "package org.a.b\n\ndeny if true\n",
    "a set, too deep": 'package org.a.b\n\ndeny contains "no"\n',
    "a list, too deep": 'package org.a.b\n\nescalate := ["no"]\n',
    "an object, too deep": 'package org.a.b\n\ndeny["x"] := "no"\n',
    "a name with dots, too deep": 'package org.a\n\nb.deny contains "no"\n',
    "not deep enough": "package org\n\nrequire_approval if true\n",
    "with arguments": 'package org.a\n\ndeny(x) := "no" if x\n',
    "duties, too deep": 'package org.a.b\n\nobligations contains {"id": "x"}\n',
}
READ = {
    "a set": 'package org.a\n\ndeny contains "no"\n',
    "a name with dots": 'package org\n\na.deny contains "no"\n',
    "a helper": "package org.a.lists\n\nnames := {1}\n\nis_denied(x) := x in names\n",
    "nothing": "package org.a\n",
}


def signed(opa: Opa, folder: Path, text: str) -> Path:
    (folder / "policy/org/a").mkdir(parents=True)
    (folder / "policy/org/a/a.rego").write_text(text)
    key = folder / "key.pem"
    new_key(key)
    return build(opa, folder / "policy", name="org", key=key, out=folder / "policy.tar.gz").file


@pytest.mark.parametrize("kind", UNREAD)
def test_rule_that_nobody_reads_is_refused_by_its_file(kind: str, opa: Opa, tmp_path: Path) -> None:
    with pytest.raises(ContractError) as refused:
        signed(opa, tmp_path, UNREAD[kind])
    assert refused.value.code == "policy.invalid"
    assert refused.value.file == "org/a/a.rego"
    assert not (tmp_path / "policy.tar.gz").exists()


@pytest.mark.parametrize("kind", READ)
def test_rule_that_is_read_is_built(kind: str, opa: Opa, tmp_path: Path) -> None:
    assert signed(opa, tmp_path, READ[kind]).exists()
