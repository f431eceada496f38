"""Errors that a user can cause: the problem, its place and the remedy."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from cts.base.printable import printable

#: Calls that a description of the suite's own exception keeps: the innermost ones.
CALLS = 6


@dataclass
class CtsError(Exception):
    """An error with a stable, searchable code.

    `where` names the file, the YAML path or the instruction; `remedy` says what would be right.
    """

    code: str
    what: str
    where: str = ""
    remedy: str = ""
    told = False  # by an event

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.what}"]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.remedy:
            lines.append(f"  fix:   {self.remedy}")
        return printable("\n".join(lines))


class BadInput(CtsError):
    """The user's file, option or argument is wrong (exit status 2)."""


class BadInputs(BadInput):
    """Several things that a user has asked for are wrong: its text is that of all `errors`."""

    def __init__(self, errors: Sequence[BadInput]) -> None:
        first = errors[0]
        super().__init__(first.code, first.what, first.where, first.remedy)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


class HarnessTrouble(CtsError):
    """The suite or a driver could not do its part (exit status 3)."""


class NothingToGenerate(ValueError):
    """An area has no case that a driver could run: what the driver lacks."""


class OutputClosed(BaseException):
    """Nobody reads what is printed any more, as with `| head`. No `Exception`, so that nobody takes it for a bug."""


class Checks:
    """Collects what is wrong, so that a user learns all of it at once.

    >>> checks = Checks()
    >>> with checks.part():
    ...     raise BadInput("seed", "-1 is not a seed")
    >>> [e.code for e in checks.errors]
    ['seed']
    """

    def __init__(self) -> None:
        self.errors: list[BadInput] = []

    @contextmanager
    def part(self, origin: str = "") -> Iterator[None]:
        """Do a part of the checks: a BadInput ends it alone. Errors name `origin`, the place of what is checked."""
        try:
            yield
        except BadInput as e:
            for error in e.errors if isinstance(e, BadInputs) else (e,):
                if origin:
                    error.where = f"{error.where} ({origin})" if error.where else origin
                self.errors.append(error)

    def finish(self) -> None:
        """Raise what was collected: BadInput, or BadInputs where there are several."""
        if self.errors:
            raise self.errors[0] if len(self.errors) == 1 else BadInputs(self.errors)


def described(error: BaseException) -> str:
    """An exception as a verdict's detail: our own errors as they are, others with where they were raised."""
    if isinstance(error, CtsError):
        return str(error)
    return "\n".join(["".join(traceback.format_exception_only(error)).strip(), *(f"  {c}" for c in calls_of(error))])


def calls_of(error: BaseException) -> list[str]:
    """Where an exception was raised: the innermost call of the first package that is neither the suite's nor Python's.

    Without one these are the suite's own calls, innermost first.
    """
    calls = [
        (str(frame.f_globals.get("__name__", "")).partition(".")[0], frame.f_code, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    theirs = next((package for package, *_ in calls if package not in {"cts", *sys.stdlib_module_names}), None)
    lines = [f"{code.co_filename}:{line}, in {code.co_name}" for p, code, line in calls if theirs in (None, p)]
    return lines[: -CALLS - 1 : -1][: 1 if theirs else None]


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """The remedy for an unknown word: the most similar known word, else `otherwise`, else all known words.

    >>> did_you_mean("fial", ["pass", "fail"])
    "did you mean 'fail'?"
    """
    import difflib  # for errors alone: it takes longer to import than a short command to start

    names = list(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {close[0]!r}?" if close else otherwise or f"one of: {', '.join(names)}"
