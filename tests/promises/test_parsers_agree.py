"""What our strict reader takes, OPA reads as the same value; everything else our reader refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.figures import dice, figure
from tipstaff.documents.strict_json import canonical, loads
from tipstaff.errors import ContractError
from tipstaff.pdp.opa import Opa

BATCH = 5_000
SCALARS = [
    "null",
    "true",
    "false",
    '"a"',
    '""',
    '"\\u00e9"',
    '"é"',
    '"e\u0301"',
    '"😀"',
    '"\\ud83d\\ude00"',
]
SCALARS += [
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1e2",
    "1E-2",
    "0.1",
    "0.30000000000000004",
    "-0.0",
    "1e-400",
]
SCALARS += ["9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740991"]
SCALARS += [
    "1e308",
    "1e309",
    "123456789012345678901",
    "0.1e1",
    "5e-324",
    '"\\u0000"',
    '"\\n"',
    '"\u2028"',
]
ODD = [
    "NaN",
    "Infinity",
    "01",
    "1.",
    ".5",
    "+1",
    "'a'",
    '"\\ud800"',
    '"\\udc00a"',
    '"\t"',
    "tru",
    "",
    "0x1",
]
KEYS = ['"a"', '"A"', '"\\u0061"', '"é"', '"e\u0301"', '"__proto__"', '""', '"$ref"', '"b"', '"😀"']


def written(chance: Any, depth: int = 0) -> str:
    """One JSON text, now and then one that is none."""
    kind = chance.random()
    if depth > 3 or kind < 0.4:
        return str(chance.choice(ODD if chance.random() < 0.06 else SCALARS))
    inner = [written(chance, depth + 1) for _ in range(chance.randrange(4))]
    space = chance.choice(["", " ", "\n", "\t"])
    if kind < 0.7:
        return f"[{space}{(',' + space).join(inner)}]"
    members = [f"{chance.choice(KEYS)}{space}:{one}" for one in inner]
    return f"{{{(space + ',').join(members)}{space}}}"


@pytest.mark.promise("T3", "row 7", "row 8", "row 9", "row 11", "BR-10")
@figure("documents", commit=1_000, full=50_000)
def test_our_reader_and_opa_agree_or_ours_refuses(
    opa: Opa,
    tmp_path: Path,
    documents: int,
    record_property: Callable[[str, object], None],
) -> None:
    chance, taken, refused = dice(), [], 0
    while len(taken) + refused < documents:
        text = written(chance)
        try:
            taken.append((text, loads(text.encode())))
        except ContractError:
            refused += 1
    assert len(taken) > documents // 3
    for start in range(0, len(taken), BATCH):
        batch = taken[start : start + BATCH]
        file = tmp_path / "input.json"
        sent = [canonical([value]).decode() for _, value in batch]
        texts = json.dumps([f"[{text}]" for text, _ in batch])
        file.write_text(f'{{"sent": [{",".join(sent)}], "texts": {texts}}}', encoding="utf-8")
        query = (
            "[count(input.sent), [i | some i, text in input.texts; "
            "json.unmarshal(text) != input.sent[i]], input.sent]"
        )
        answer = opa.run(
            ["eval", "--strict-builtin-errors", "-f", "json", "-i", str(file), query], timeout_s=300
        )
        assert answer.returncode == 0, answer.stdout.decode()[-2000:]
        count, differing, echoed = json.loads(answer.stdout)["result"][0]["expressions"][0]["value"]
        assert count == len(batch)
        assert [batch[place][0] for place in differing] == []
        assert [one[0] for one in echoed] == [value for _, value in batch]
    record_property(
        "T3",
        f"{documents:,} documents: {len(taken):,} read alike by OPA, {refused:,} refused by ours",
    )
