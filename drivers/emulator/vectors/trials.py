"""Trials of conversions on the emulator, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.device.trials import GUARD, SUCCESS, Answer, Ask, Convert, Copy, Pair, Trial, Tried, memory, window
from cts.drivers.emulator.matrices.access import MemoryFault
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.vectors.converter import Converter, Side, Submission
from cts.modules.layout_conversions import words

#: Multiples of bytes at which the device has blocks, and the host before their shift.
_DEVICE, _HOST = 256, 64


def run_trial(converter: Converter, trial: Trial) -> Tried:
    """What comes of a trial."""
    forms = {n: block.form for n, block in enumerate(trial.blocks) if block.form.optimal}
    required = {n: converter.query(form, form, 0) for n, form in forms.items()}
    if any(result != SUCCESS for result, _ in required.values()):
        return Tried(required)
    sizes = [window(block.form, required.get(n, (0, 0))) for n, block in enumerate(trial.blocks)]
    blocks = [np.frombuffer(bytearray(memory(b, s)), np.uint8) for b, s in zip(trial.blocks, sizes, strict=True)]
    try:
        return Tried(required, tuple(_answers(converter, trial, blocks)))
    except MemoryFault as fault:
        return Tried(required, call=words.of_trial(trial), lost=str(fault))


def _answers(converter: Converter, trial: Trial, blocks: list[Bytes]) -> Iterator[Answer]:
    for step in trial.steps:
        calls: list[tuple[int, int]] = []
        if isinstance(step, Copy):
            source, destination = blocks[step.source], blocks[step.destination]
            end = min(len(source), len(destination)) - GUARD
            destination[GUARD:end] = source[GUARD:end]
        elif isinstance(step, Ask):
            calls = [converter.query(step.source, step.destination, step.before)]
        elif step.by == "function":
            calls = [converter.function(*_sides(trial, blocks, pair, on_host=True)) for pair in step.pairs]
        else:
            _by_command(converter, trial, blocks, step)
        yield Answer(tuple(r for r, _ in calls), tuple(s for _, s in calls), tuple(map(bytes, blocks)))


def _by_command(converter: Converter, trial: Trial, blocks: list[Bytes], step: Convert) -> None:
    pairs = [_sides(trial, blocks, pair, on_host=False) for pair in step.pairs]
    before = [block.copy() for block in blocks]
    for nth in range(step.times):
        for block, contents in zip(blocks, before, strict=True):
            block[:] = contents
        converter.execute(Submission(pairs, step.secondary, nth))


def _sides(trial: Trial, blocks: list[Bytes], pair: Pair, *, on_host: bool) -> tuple[Side, Side]:
    """Source and destination: on the host at addresses of their own, on the device one behind the other."""
    sides = []
    for number, extra in ((pair.source, 0), (pair.destination, pair.extra)):
        block = blocks[number]
        before = sum(-(-len(b) // _DEVICE) * _DEVICE for b in blocks[:number])
        address = number * _HOST * _DEVICE + trial.blocks[number].shift if on_host else before
        size = len(block) - 2 * GUARD + extra
        sides.append(Side(trial.blocks[number].form, block, GUARD, size, address + GUARD))
    return sides[0], sides[1]
