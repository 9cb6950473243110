"""What a policy may use: OPA's built-ins less those that reach out or answer differently from one call to the next.

``policy/capabilities.json`` is this reduction of the pinned version. Run ``python -m tipstaff.pdp.capabilities`` to
write it again after the pinned version changes. The engine itself has every built-in, so what matters is that no
bundle is signed that names another.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tipstaff import declared
from tipstaff.errors import DecisionError
from tipstaff.files import write_atomically
from tipstaff.pdp.opa import Opa, ensure

FILE = "capabilities.json"
# OPA doesn't mark these, yet the first two read the clock, and a parser of Rego hides what is judged.
_UNMARKED = frozenset(
    {
        "crypto.x509.parse_and_verify_certificates",
        "crypto.x509.parse_and_verify_certificates_with_options",
        "rego.parse_module",
    }
)
_PROSE = frozenset({"categories", "description"})


def reduce(opa: Opa) -> bytes:
    """The reduced capabilities of this OPA as JSON, one built-in a line; no host may be reached."""
    answer = opa.run(["capabilities", "--current"])
    if answer.returncode != 0:
        raise DecisionError(
            "opa.failed",
            answer.stderr.decode(errors="replace").strip(),
            file=str(opa.path),
            fix="use the pinned version of OPA",
        )
    everything = json.loads(answer.stdout)
    lines = ",\n    ".join(_line(item) for item in everything["builtins"] if is_kept(item))
    rest = {**everything, "allow_net": []}
    del rest["builtins"]
    head = "".join(f"  {_line(key)}: {_line(rest[key])},\n" for key in sorted(rest))
    return f'{{\n{head}  "builtins": [\n    {lines}\n  ]\n}}\n'.encode()


def is_kept(builtin: dict[str, Any]) -> bool:
    """Whether a policy may call the built-in."""
    return not (builtin.get("nondeterministic") or builtin["name"] in _UNMARKED)


def _line(value: Any) -> str:
    return json.dumps(_bare(value), sort_keys=True, separators=(",", ":"))


def _bare(value: Any) -> Any:
    """The value without the prose that OPA's compiler doesn't read."""
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key not in _PROSE}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    """Write the file into the checkout."""
    content = reduce(ensure(lambda line: print(line, file=sys.stderr)))
    write_atomically(declared.folder("policy") / FILE, content, mode=0o644)


if __name__ == "__main__":
    main()
