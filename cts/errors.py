"""Errors a user can cause: what is wrong, where, and what would be right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class CtsError(Exception):
    """An error with a stable, searchable code.

    `where` names the file, the YAML path or the instruction; `remedy` says what would be right.
    """

    code: str
    what: str
    where: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.what}"]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.remedy:
            lines.append(f"  fix:   {self.remedy}")
        return "\n".join(lines)


class BadInput(CtsError):
    """The user's file, option or argument is wrong (exit status 2)."""


class HarnessTrouble(CtsError):
    """The suite or a driver could not do its part (exit status 3)."""


class NothingToGenerate(ValueError):
    """An area has no case that a driver could run: what the driver lacks."""
