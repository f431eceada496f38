"""Outputs beside the run's own folder: an error in one of them does not end the run, and is reported at its end."""

from __future__ import annotations

from cts.base.errors import CtsError, HarnessTrouble
from cts.judging.events import Emit, Event


class SideOutput:
    """A consumer of events, called `name` in words. `trouble` is the first thing that went wrong with it.

    One that is `whole` or nothing gets no more events after that.
    """

    def __init__(self, consumer: Emit, name: str, *, whole: bool = False) -> None:
        self.name = name
        self.trouble: HarnessTrouble | None = None
        self._consumer = consumer
        self._whole = whole

    def __call__(self, event: Event) -> None:
        if self.trouble is not None and self._whole:
            return
        try:
            self._consumer(event)
        except BrokenPipeError:
            raise
        except (CtsError, OSError) as e:
            self.trouble = self.trouble or incomplete(self.name, e)


def incomplete(name: str, error: CtsError | OSError) -> HarnessTrouble:
    """What is to be said of an output with which something went wrong."""
    why = error.what if isinstance(error, CtsError) else error.strerror or str(error)
    where = error.where if isinstance(error, CtsError) else str(error.filename or "")
    what = f"{name} is not complete: {why}"
    return HarnessTrouble("output", what, where, "the run itself is kept: `cts report` writes all but bundles from it")
