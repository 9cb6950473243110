"""Every error Tipstaff raises: one root, one branch for each way of failing.

A refusal by policy is an answer (a verdict), not an error. ``ActionDenied`` is raised only where somebody
tries to carry out what was not allowed.
"""

from __future__ import annotations

from typing import Any, ClassVar


class Error(Exception):
    """The root. ``code`` is stable and public; ``fix`` says what to do next."""

    exit_code: ClassVar[int] = 3

    def __init__(
        self,
        code: str,
        message: str,
        *,
        fix: str,
        file: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix
        self.file = file
        self.field = field

    def diagnostics(self) -> dict[str, str | None]:
        """The error as data: code, message, file, field and fix."""
        return {
            "code": self.code,
            "message": self.message,
            "file": self.file,
            "field": self.field,
            "fix": self.fix,
        }

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.field) if part)
        return f"{where}: {self.message}" if where else self.message


class ContractError(Error):
    """What the caller gave (a file, an option, a document) is not what it must be. Exit 2."""

    exit_code = 2


class UnobservedError(ContractError):
    """A live server could not be observed, or not whole. Exit 3. ``report`` is what was seen of it, if anything."""

    exit_code = 3

    def __init__(
        self,
        code: str,
        message: str,
        *,
        fix: str,
        file: str | None = None,
        field: str | None = None,
        report: Any = None,
    ) -> None:
        super().__init__(code, message, fix=fix, file=file, field=field)
        self.report = report


class ActionDenied(Error):
    """Something that policy or a person did not allow was about to be carried out. Exit 1."""

    exit_code = 1


class DecisionError(Error):
    """The PDP gave no valid answer: absent, hung, broken, undefined, or of another revision. Exit 3."""


class SandboxError(Error):
    """No backend can isolate here, or the one chosen could not start. Exit 3."""


class EvidenceError(Error):
    """The ledger, the trail or a signature cannot be read, written or trusted. Exit 3."""


class ForgeError(Error):
    """The forge could not be reached, refused, or did not accept the token. Exit 3.

    Codes: ``forge.unauthorized``, ``forge.unreachable``, ``forge.refused``.
    """
