"""Statements about what a conversion returns and writes, whatever it converts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from cts.device.queries.statement import Broken
from cts.device.trials import GUARD, INCOMPLETE, SUCCESS, Block, Convert, Form, Pair, Trial, memory, window
from cts.modules.layout_conversions import words
from cts.modules.layout_conversions.abilities import Abilities, readable, writable
from cts.modules.layout_conversions.build import FEW_SHAPES, WAYS, columns, filled, form, rows
from cts.modules.layout_conversions.sizes import elements_size, extent
from cts.modules.layout_conversions.statement import JudgedTrial, nothing, state

#: Additional bytes that a trial claims for a destination, beyond the bytes that it needs: one alignment of an opaque
#: matrix, which fits into the guard around it.
_EXTRA = 64


class _Made(NamedTuple):
    """A step that converts: all blocks `before` and `after` it, and what each call of the function returned."""

    trial: Trial
    step: Convert
    results: tuple[int, ...]
    sizes: tuple[int, ...]
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]


def _made(seen: Sequence[JudgedTrial]) -> Iterator[_Made]:
    for trial, tried, _ in ((s.trial, s.tried, s.wrong) for s in seen):
        if not trial.blocks or not tried.answers:
            continue
        sizes = [window(b.form, tried.required.get(n, (0, 0))) for n, b in enumerate(trial.blocks)]
        first = tuple(memory(b, size) for b, size in zip(trial.blocks, sizes, strict=True))
        states = [first, *(answer.blocks for answer in tried.answers)]
        for step, answer, (before, after) in zip(trial.steps, tried.answers, pairwise(states), strict=False):
            if isinstance(step, Convert):
                yield _Made(trial, step, answer.results, answer.sizes, before, after)


def _called(seen: Sequence[JudgedTrial]) -> Iterator[tuple[_Made, Pair, int, int]]:
    """Each call of the function, with its VkResult and *pDstSize afterwards."""
    for made in _made(seen):
        if made.step.by == "function":
            for pair, result, size in zip(made.step.pairs, made.results, made.sizes, strict=True):
                yield made, pair, result, size


def _call_and_pair(made: _Made, pair: Pair) -> str:
    name = words.FUNCTION if made.step.by == "function" else words.COMMAND
    return f"{name}: {words.of_pair(made.trial, pair.source, pair.destination)}"


def _succeed(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    for made, pair, result, _ in _called(seen):
        if pair.extra >= 0 and result != SUCCESS:
            yield Broken(_call_and_pair(made, pair), words.of_result(result), "VK_SUCCESS")
    for trial in seen:
        for number, (result, _) in trial.tried.required.items():
            if result != SUCCESS:
                what = f"{words.FUNCTION}, dstData NULL: {words.of_form(trial.trial.blocks[number].form)}"
                yield Broken(what, words.of_result(result), "VK_SUCCESS")


def _say_what_was_written(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    for made, pair, result, size in _called(seen):
        if result != SUCCESS:
            continue
        least = elements_size(made.trial.blocks[pair.destination].form)
        most = len(made.before[pair.destination]) - 2 * GUARD
        if not least <= size <= most:
            bytes_before = f" ({most + pair.extra} before)" if pair.extra else ""
            yield Broken(
                _call_and_pair(made, pair), f"{size} in *pDstSize{bytes_before}", f"{least} to {most}: what was written"
            )
            continue
        form = made.trial.blocks[pair.destination].form
        end = GUARD + max(size, 0 if form.optimal else extent(form))
        before, after = (blocks[pair.destination][end:-GUARD] for blocks in (made.before, made.after))
        if before != after:
            changed = _difference(made.before[pair.destination], made.after[pair.destination])
            yield Broken(_call_and_pair(made, pair), f"{changed}; {size} in *pDstSize", "nothing written behind those")


def _refuse(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    for made, pair, result, _ in _called(seen):
        if pair.extra >= 0:
            continue
        size = len(made.before[pair.destination]) - 2 * GUARD
        where = f"{_call_and_pair(made, pair)}, {size + pair.extra} of {size} bytes in *pDstSize"
        if result != INCOMPLETE:
            yield Broken(where, words.of_result(result), "VK_INCOMPLETE")
        if made.before[pair.destination] != made.after[pair.destination]:
            written = _difference(made.before[pair.destination], made.after[pair.destination])
            yield Broken(where, written, "no byte written")


def _keep_sources(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    for made in _made(seen):
        for pair in made.step.pairs:
            before, after = made.before[pair.source], made.after[pair.source]
            if before[GUARD:-GUARD] != after[GUARD:-GUARD]:
                yield Broken(
                    _call_and_pair(made, pair), f"source: {_difference(before, after)}", "a source that is only read"
                )


def _keep_the_rest(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    """Windows of destinations may change, those of sources are looked at apart; nothing else may."""
    for made in _made(seen):
        used = {number for pair in made.step.pairs for number in (pair.source, pair.destination)}
        for number, (before, after) in enumerate(zip(made.before, made.after, strict=True)):
            end = len(before) - GUARD
            outside = [*range(GUARD), *range(end, len(before))]
            places = outside if number in used else range(len(before))
            written = [i for i in places if before[i] != after[i]] if before != after else []
            if written:
                where = (
                    f"{words.of_step(made.trial, made.step)}; beside {words.of_form(made.trial.blocks[number].form)}"
                )
                yield Broken(where, _written(written, end - GUARD), "nothing written there")


def _difference(before: bytes, after: bytes) -> str:
    """Which bytes differ."""
    changed = [i for i, (b, a) in enumerate(zip(before, after, strict=True)) if b != a]
    return _written(changed, len(before) - 2 * GUARD)


def _written(places: Sequence[int], size: int) -> str:
    """Bytes of a block that were written, in words."""
    first, last = places[0] - GUARD, places[-1] - GUARD
    return f"{len(places)} bytes written, from byte {first} to {last} of a matrix of {size} bytes"


def _small(abilities: Abilities) -> Iterator[Trial]:
    """Into memory whose stated size is one byte too small; then with the right size, and back."""
    for component in abilities.components:
        for layout in (n for n in range(4) if writable(component, n)):
            for shape in FEW_SHAPES:
                source, target = rows(component, shape), form(component, layout, shape, 2)
                # No specification says whether the last line takes a whole stride: without its last byte it is too
                # short.
                spare = 0 if target.optimal else target.stride * target.lines - extent(target)
                pairs = Pair(0, 1, -spare - 1), Pair(0, 1), Pair(1, 2)
                yield _by_function("LC-009", filled(source, 9), target, pairs)


def _larger(abilities: Abilities) -> Iterator[Trial]:
    """Into memory whose stated size is larger than needed, and back."""
    for component in abilities.components:
        for layout in (n for n in range(4) if writable(component, n)):
            source, target = rows(component, FEW_SHAPES[0]), form(component, layout, FEW_SHAPES[0])
            yield _by_function("LC-008", filled(source, 8), target, (Pair(0, 1, _EXTRA), Pair(1, 2)))


def _by_function(fact: str, source: Block, target: Form, pairs: Sequence[Pair]) -> Trial:
    """Conversions between a source, a target and rows."""
    last = rows(readable(target.component), (target.rows, target.cols))
    return Trial(fact, (source, Block(target), Block(last)), tuple(Convert((pair,), "function") for pair in pairs))


def _read_again(abilities: Abilities) -> Iterator[Trial]:
    """A source that is converted three times; one that is not optimal at last by the other command."""
    for component in abilities.components:
        for layout in range(4):
            for first, last in (WAYS, WAYS[::-1]):
                shape = FEW_SHAPES[0]
                source, to = form(component, layout, shape), readable(component)
                targets = rows(to, shape), columns(to, shape), rows(to, shape, 2)
                lead = 1 if source.optimal else 0
                blocks = [filled(rows(component, shape), 10), Block(source)] if lead else [filled(source, 10)]
                steps = [Convert((Pair(0, 1),), first)] * lead
                steps += [
                    Convert((Pair(lead, lead + 1 + n),), by)
                    for n, by in enumerate((first, first, first if lead else last))
                ]
                yield Trial("LC-010", (*blocks, *map(Block, targets)), tuple(steps))


state("LC-007", nothing, _succeed)
state("LC-008", _larger, _say_what_was_written)
state("LC-009", _small, _refuse)
state("LC-010", _read_again, _keep_sources)
state("LC-011", nothing, _keep_the_rest)
