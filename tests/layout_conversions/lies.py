"""One lie for each statement: a device that converts as the emulator does, but for one thing that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from cts.device.driver_options import parse
from cts.device.trials import INCOMPLETE, ROW_MAJOR, SUCCESS, Form, Trial, Tried
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors.converter import Converter, Side, Submission
from cts.drivers.emulator.vectors.trials import run_trial
from cts.modules.layout_conversions.abilities import COMPONENTS

LIES: dict[str, type[Converter]] = {}

#: Beyond the guards there is other memory.
_CHUNK = 16


def lie(fact: str) -> Callable[[type[Converter]], type[Converter]]:
    """Register the device that follows."""

    def made(device: type[Converter]) -> type[Converter]:
        assert fact not in LIES, fact
        LIES[fact] = device
        return device

    return made


class Device:
    """What such a device makes of trials."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def convert(self, trials: Iterable[Trial]) -> Iterator[Tried]:
        return (run_trial(self._converter, trial) for trial in trials)


def honest(**options: str) -> Device:
    """The emulator, with options."""
    return Device(Converter(parse(Options, options, "emulator")))


def lying(fact: str) -> Device:
    """The device that breaks a statement."""
    options = {"mutant": "conversion-truncates"} if fact == "LC-013" else {}
    return Device(LIES[fact](parse(Options, options, "emulator")))


def element_size(form: Form) -> int:
    return COMPONENTS[form.component].size


def copy_bytes(source: Side, destination: Side) -> None:
    """As many bytes as both have."""
    size = min(source.size, destination.size)
    destination.memory[destination.start : destination.start + size] = source.memory[source.start : source.start + size]


def elsewhere(side: Side) -> Side:
    """A side with memory of its own."""
    return replace(side, memory=side.memory.copy())


@lie("LC-001")
class RoomIsAskedOfQueries(Converter):
    def query(self, source: Form, destination: Form, before: int) -> tuple[int, int]:
        size = self.size(source, destination)
        return INCOMPLETE if 0 < before != size else SUCCESS, size


@lie("LC-002")
class LinesArePacked(Converter):
    def query(self, source: Form, destination: Form, before: int) -> tuple[int, int]:
        if destination.optimal:
            return super().query(source, destination, before)
        return SUCCESS, destination.rows * destination.cols * element_size(destination)


@lie("LC-003")
class HalfOfIt(Converter):
    """Only where nothing is stored by it."""

    def query(self, source: Form, destination: Form, before: int) -> tuple[int, int]:
        size = self.size(source, destination)
        return SUCCESS, size // 2 if destination.optimal and source != destination else size


@lie("LC-004")
class Growing(Converter):
    """Each time a little more; not of what is stored."""

    asked = 0

    def query(self, source: Form, destination: Form, before: int) -> tuple[int, int]:
        if not destination.optimal or source == destination:
            return super().query(source, destination, before)
        self.asked += 1
        return SUCCESS, self.size(source, destination) + self.asked * _CHUNK


@lie("LC-005")
class OfTheSourceToo(Converter):
    def query(self, source: Form, destination: Form, before: int) -> tuple[int, int]:
        size = self.size(source, destination)
        return SUCCESS, size + _CHUNK if source.layout == ROW_MAJOR and destination.optimal else size


@lie("LC-006")
class StridesAreUsed(Converter):
    def query(self, source: Form, destination: Form, before: int) -> tuple[int, int]:
        size = self.size(source, destination)
        return SUCCESS, size + destination.stride * destination.rows if destination.optimal else size


@lie("LC-007")
class MoreThanEnough(Converter):
    def function(self, source: Side, destination: Side) -> tuple[int, int]:
        result, size = super().function(source, destination)
        spare = destination.form.optimal and destination.size <= size
        return INCOMPLETE if spare else result, size


@lie("LC-008")
class SizeIsLeft(Converter):
    def function(self, source: Side, destination: Side) -> tuple[int, int]:
        result, size = super().function(source, destination)
        return result, destination.size if result == SUCCESS else size


@lie("LC-009")
class AsMuchAsThereIs(Converter):
    def function(self, source: Side, destination: Side) -> tuple[int, int]:
        result, size = super().function(source, destination)
        if result == INCOMPLETE:
            destination.memory[destination.start : destination.start + destination.size] = 0
        return result, size


@lie("LC-010")
class SourceIsScratch(Converter):
    def convert(self, source: Side, destination: Side) -> None:
        super().convert(source, destination)
        if source.form.optimal:
            source.memory[source.start] ^= 1


@lie("LC-011")
class WholeChunks(Converter):
    def convert(self, source: Side, destination: Side) -> None:
        super().convert(source, destination)
        end = destination.start + destination.size
        if destination.form.layout == ROW_MAJOR and destination.size % _CHUNK:
            destination.memory[end : end - destination.size % _CHUNK + _CHUNK] = 0


@lie("LC-016")
class AlignedLoads(Converter):
    def convert(self, source: Side, destination: Side) -> None:
        super().convert(replace(source, start=source.start - source.address % 4), destination)


@lie("LC-017")
class NaNSpreads(Converter):
    def convert(self, source: Side, destination: Side) -> None:
        line = source.form.line * element_size(source.form)
        if not source.form.optimal and source.memory[source.start + line] == 0xFF:
            source = elsewhere(source)
            source.memory[:] = 0xFF
        super().convert(source, destination)


@lie("LC-012")
class ColumnsStayColumns(Converter):
    """Where nothing but the stride differs, the bytes of the matrix are copied."""

    def convert(self, source: Side, destination: Side) -> None:
        forms = source.form, destination.form
        if forms[0].layout == forms[1].layout and not forms[0].optimal and forms[0].rows > forms[0].cols:
            copy_bytes(source, destination)
        else:
            super().convert(source, destination)


@lie("LC-013")
class Truncates(Converter):
    """Made with a bug of the emulator."""


@lie("LC-014")
class NoMoreThan32Rows(Converter):
    def convert(self, source: Side, destination: Side) -> None:
        if destination.form.optimal and source.form.rows > 32 and source.form.layout == ROW_MAJOR:
            source = elsewhere(source)
            source.memory[source.start + 32 * source.form.stride :] = 0
        super().convert(source, destination)


@lie("LC-015")
class OptimalIsOptimal(Converter):
    """From one optimal layout to the other the bytes are copied."""

    def convert(self, source: Side, destination: Side) -> None:
        if source.form.optimal and destination.form.optimal and source.form.component == destination.form.component:
            copy_bytes(source, destination)
        else:
            super().convert(source, destination)


@lie("LC-018")
class TwoLayouts(Converter):
    """What the command keeps in optimal layouts, the function does not understand."""

    def execute(self, submission: Submission) -> None:
        for source, destination in submission.conversions:
            if source.form.optimal:
                source = elsewhere(source)
                source.memory[:] ^= 0xFF
            self.convert(source, destination)
            if destination.form.optimal:
                window = destination.memory[destination.start : destination.start + destination.size]
                np.invert(window, out=window)


@lie("LC-019")
class FirstOfAll(Converter):
    """All conversions have the source stride of the first."""

    def execute(self, submission: Submission) -> None:
        first = submission.conversions[0][0].form.stride
        for source, destination in submission.conversions:
            form = Form(source.form.component, source.form.layout, source.form.rows, source.form.cols, first)
            self.convert(replace(source, form=form), destination)


@lie("LC-020")
class SecondaryIsDropped(Converter):
    def execute(self, submission: Submission) -> None:
        if not submission.secondary:
            super().execute(submission)


@lie("LC-021")
class OnlyOnce(Converter):
    def execute(self, submission: Submission) -> None:
        if submission.nth == 0:
            super().execute(submission)
