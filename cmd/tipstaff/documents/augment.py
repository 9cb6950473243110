"""What is known of a block of prose that a script is to replace, and the recorded runs of the prose.

Outputs are known by the SHA-256 of their bytes. How many runs there were, how many outputs differ, and whether that is
good enough, rules count for themselves.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tipstaff.documents.base import Contract, Identifier, SchemaVersion, Sha256, Timestamp


class BlockFacts(Contract):
    """A marked block of a skill's file: what its marker says of it, and the SHA-256 of the prose in it.

    Confidence is in thousandths; None where the marker states none.
    """

    path: str
    id: Identifier
    class_: str | None = Field(None, alias="class")
    confidence_permille: int | None = None
    prose_sha256: Sha256


class ScriptFacts(Contract):
    """The script that replaces the prose, and where the change puts it."""

    path: str
    sha256: Sha256


class OutsideFacts(Contract):
    """SHA-256 of the file's text without the block, before and after the change."""

    before_sha256: Sha256
    after_sha256: Sha256


class TokenFacts(Contract):
    """Tokens of the prose and of what replaces it, as one tokenizer counts them.

    ``vocabulary_sha256`` is the digest of the table that it counted with.
    """

    tokenizer: str
    version: str
    vocabulary_sha256: Sha256
    before: int = Field(ge=0)
    after: int = Field(ge=0)


class ProseFacts(Contract):
    """Where the runs of the prose come from: a recording or a person's command, the model they name, and when."""

    source: Literal["recording", "command"]
    model: str
    recorded_from: Timestamp
    recorded_until: Timestamp
    sha256: Sha256


class MeasuredInput(Contract):
    """One golden input: digests of it, of the output that is expected, and of each run's output on both sides.

    A run of the script that gave no whole output is a null. None in place of a list means that nothing ran.
    """

    name: str
    input_sha256: Sha256
    expected_sha256: Sha256
    script_outputs: list[Sha256 | None] | None = None
    prose_outputs: list[Sha256] | None = None


class ControlFacts(Contract):
    """The same golden tests with the script replaced by one that does nothing but fail."""

    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    skipped: int = Field(ge=0)


class AugmentMeasures(Contract):
    """What was measured about replacing a block by a script; None means that it was not."""

    block: BlockFacts
    script: ScriptFacts
    outside: OutsideFacts | None = None
    tokens: TokenFacts | None = None
    prose: ProseFacts | None = None
    inputs: list[MeasuredInput] = Field(default_factory=list)
    control: ControlFacts | None = None


class ProseRun(Contract):
    """One output of the prose, with the SHA-256 of its UTF-8 bytes, and when it was made."""

    output: str
    output_sha256: Sha256
    recorded_at: Timestamp


class ProseRunsOnInput(Contract):
    """The runs of the prose on one golden input."""

    name: str
    input_sha256: Sha256
    runs: list[ProseRun]


class ProseRuns(Contract):
    """Recorded runs of a block's prose by a model, on golden inputs.

    ``prose_sha256`` is the digest of the block's prose as ``tipstaff augment scan --json`` prints it.
    """

    schema_version: SchemaVersion
    block: Identifier
    prose_sha256: Sha256
    model: Identifier
    inputs: list[ProseRunsOnInput]
