"""The events of a run as they happen, in a file that only grows: `results.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from cts.base.input_files import Kind, decoded_lines
from cts.judging import events as event_types
from cts.judging.sentences import check_words
from cts.running.deadline import lacks_time
from cts.running.store import lines
from cts.running.store.lines import Lines

NAME = "results.jsonl"

_LINES = Kind("run-events", "a line that `cts run` wrote")


class Journal:
    """Consumes events and appends them to a file. A result, error or header that is in it already is not written again.

    Raises BadInput where another process is at it, HarnessTrouble where the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = Lines(path)
        try:
            events = _events(self._lines.before, str(path))
            self._seen = {key for event in events if (key := _key(event)) is not None}
        except BaseException:
            self._lines.close()
            raise

    def __call__(self, event: event_types.Event) -> None:
        key = _key(event)
        if isinstance(event, event_types.Passing) or (key is not None and key in self._seen):
            return
        if key is not None:
            self._seen.add(key)
        is_finding = (isinstance(event, event_types.Result) and event.finding is not None) or (
            isinstance(event, event_types.ExamplesJudged) and bool(event.kept)
        )
        self._lines.append(event_types.encode(event), durable=is_finding)

    def close(self) -> None:
        """Close the file and let others at it."""
        self._lines.close()


def read(path: Path) -> list[event_types.Event]:
    """The events of a run, ended or not. Raises BadInput for a file that no run wrote."""
    return list(_events(lines.read(path), str(path)))


def _events(texts: Iterable[bytes], where: str) -> Iterator[event_types.Event]:
    def decode_whole(line: bytes) -> event_types.Event:
        event = event_types.decode(line)
        if isinstance(event, event_types.Result) and event.finding is not None:
            check_words(event)
        return event

    return decoded_lines(texts, decode_whole, _LINES, where)


def _key(event: event_types.Event) -> object:
    """The key of an event that a resumed run emits again; None for those that it does not."""
    match event:
        case event_types.Result():
            return event.driver, event.name, lacks_time(event), event.examples, event.alike
        case event_types.ExamplesJudged():
            return event.driver, event.area, event.start, event.last, event.part
        case event_types.SetsJudged():
            return event.driver, event.universe, event.start, event.count, event.states
        case event_types.Rejected() | event_types.Trouble() | event_types.NotValidated():
            return event
        case event_types.RunStarted():
            return event_types.RunStarted
        case _:
            return None
