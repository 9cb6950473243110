"""What one sandboxed run is to be, and what it turned out to be."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tipstaff.documents.base import Contract, SchemaVersion, Sha256, Timestamp

Kernel = Literal["host", "gvisor", "guest"]


class RunLimits(Contract):
    """CPU and wall seconds, memory and sizes in MiB, processes, open files, captured output bytes a stream.

    ``scratch_mb`` and ``inodes`` (files, folders and links) hold for each writable folder.
    """

    cpu_s: int = Field(ge=1, le=100_000)
    memory_mb: int = Field(ge=1, le=1 << 20)
    wall_s: int = Field(ge=1, le=100_000)
    processes: int = Field(ge=1, le=1 << 15)
    open_files: int = Field(ge=8, le=1 << 20)
    file_size_mb: int = Field(ge=1, le=1 << 20)
    scratch_mb: int = Field(ge=1, le=1 << 20)
    inodes: int = Field(ge=8, le=1 << 24)
    output_bytes: int = Field(ge=1024, le=1 << 30)


class SandboxProfile(Contract):
    """A named set of limits and visible host paths; ``isolated`` profiles refuse to run without a backend.

    ``warm`` lets repeated runs of one command share a sandbox, each with fresh folders and processes.
    """

    schema_version: SchemaVersion
    name: Literal["strict", "dev"]
    isolated: bool
    warm: bool
    limits: RunLimits
    system_paths: list[str]
    environment: dict[str, str]
    required_protections: list[str]


class Refused(Contract):
    """An output that was asked for and not taken, by its path inside, and why."""

    path: str
    reason: str


class SandboxResult(Contract):
    """One run as it went. A timeout is exit code 124; ``oom`` is None where that cannot be told.

    ``held`` names the protections that a probe inside the same layout saw hold, ``kernel`` whose system calls that
    probe reached. ``limit`` is the one of ``limits`` for which the run was ended. ``spec_sha256`` covers what the
    caller chose, ``input_sha256`` what the input folder was. ``warm``: it was not the first run in its sandbox, or not
    meant to be the last.
    """

    backend: str
    backend_version: str | None
    kernel: Kernel
    profile: str
    isolated: bool
    warm: bool
    held: list[str]
    exit_code: int
    timed_out: bool
    oom: bool | None
    limit: str | None = None
    stdout: str
    stderr: str
    truncated: bool
    limits: RunLimits
    started_at: Timestamp
    duration_ms: int = Field(ge=0)
    spec_sha256: Sha256
    input_sha256: Sha256
    refused: list[Refused]
