"""Statements about the sizes that the function is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from cts.device.queries.statement import Broken
from cts.device.trials import OPTIMAL, SUCCESS, TRAINING_OPTIMAL, Ask, Block, Convert, Copy, Form, Pair, Trial
from cts.modules.layout_conversions import words
from cts.modules.layout_conversions.abilities import COMPONENTS, Abilities, readable, writable
from cts.modules.layout_conversions.build import SHAPES, WAYS, filled, form, rows
from cts.modules.layout_conversions.statement import JudgedTrial, nothing, state

#: What may be in *pDstSize before, and strides of optimal layouts, that nothing may depend on.
_BEFORE = 1 << 20
_STRIDES = (0, 13)

#: Elements between the ends of lines and the next ones.
_GAPS = (1, 8)


class _Asked(NamedTuple):
    """A question and its answer."""

    ask: Ask
    result: int
    size: int


def _plan(abilities: Abilities) -> Iterator[Trial]:
    """A trial for each component type and layout that a destination may have: all questions twice."""
    for component in abilities.components:
        for layout in range(4):
            if writable(component, layout):
                asks = [*_questions(abilities, component, layout)]
                yield Trial("LC-001", steps=(*asks, *asks))


def _questions(abilities: Abilities, component: int, layout: int) -> Iterator[Ask]:
    others = [n if w == component else w for w, n in abilities.pairs() if component in (w, n)]
    for shape in SHAPES:
        plain = form(component, layout, shape)
        forms = (
            [msgspec.structs.replace(plain, stride=s) for s in _STRIDES]
            if plain.optimal
            else [form(component, layout, shape, gap) for gap in _GAPS]
        )
        for destination in forms:
            yield Ask(destination, destination)
            yield Ask(destination, destination, before=_BEFORE)
            yield Ask(rows(component, shape, 3), destination, source_given=True)
            yield Ask(form(component, TRAINING_OPTIMAL, shape), destination)
            yield from (Ask(rows(other, shape), destination) for other in others)


def _with_strides(abilities: Abilities) -> Iterator[Trial]:
    """There with one stride of an optimal layout, back with another one."""
    shape = SHAPES[1]
    for component in abilities.components:
        for layout in OPTIMAL:
            for by in WAYS:
                first, second = (form(component, layout, shape, stride=s) for s in _STRIDES[::-1])
                blocks = (
                    filled(rows(component, shape), 6),
                    *map(Block, (first, second, rows(readable(component), shape))),
                )
                steps = Convert((Pair(0, 1),), by), Copy(1, 2), Convert((Pair(2, 3),), by)
                yield Trial("LC-006", blocks, steps)


def _asked(seen: Sequence[JudgedTrial]) -> Iterator[_Asked]:
    for trial in seen:
        for step, answer in zip(trial.trial.steps, trial.tried.answers, strict=False):
            if isinstance(step, Ask):
                yield _Asked(step, answer.results[0], answer.sizes[0])


def _answered(seen: Sequence[JudgedTrial]) -> Iterator[_Asked]:
    """Questions that were answered with a size."""
    return (asked for asked in _asked(seen) if asked.result == SUCCESS)


def _succeed(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    for ask, result, size in _asked(seen):
        if result != SUCCESS or size == 0:
            reported = words.of_result(result) if result != SUCCESS else "VK_SUCCESS and 0 bytes"
            yield Broken(words.of_ask(ask), reported, "VK_SUCCESS and the bytes of the destination")


def _bounded(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    for ask, _, size in _answered(seen):
        form = ask.destination
        most = form.stride * form.lines
        least = extent(form)
        if not form.optimal and not least <= size <= most:
            yield Broken(
                words.of_ask(ask), f"{size} bytes", f"{least} to {most}: the last line may end with its elements"
            )


def _large_enough(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    for ask, _, size in _answered(seen):
        if ask.destination.optimal and size < elements_size(ask.destination):
            right = f"at least {elements_size(ask.destination)}: that many are its elements"
            yield Broken(words.of_ask(ask), f"{size} bytes", right)


def _again(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    return _alike(_answered(seen), lambda asked: asked.ask, "the same question")


def _of_destination_alone(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    return _alike(_answered(seen), lambda asked: asked.ask.destination, "the same destination")


def _without_stride(seen: Sequence[JudgedTrial]) -> Iterator[Broken]:
    same = (a for a in _answered(seen) if a.ask.destination.optimal and a.ask == Ask(a.ask.source, a.ask.source))
    return _alike(same, lambda asked: msgspec.structs.replace(asked.ask.destination, stride=0), "another stride")


def _alike(asked: Iterable[_Asked], key: Callable[[_Asked], Any], what: str) -> Iterator[Broken]:
    """Where questions with one key are answered differently from the first of them."""
    first: dict[Any, _Asked] = {}
    for question in asked:
        before = first.setdefault(key(question), question)
        if question.size != before.size:
            yield Broken(words.of_ask(question.ask), f"{question.size} bytes", f"{before.size}, as for {what} before")


def elements_size(form: Form) -> int:
    """Bytes of all elements."""
    return form.rows * form.cols * COMPONENTS[form.component].size


def extent(form: Form) -> int:
    """Bytes from the first element of a matrix in rows or columns to the end of its last."""
    return (form.lines - 1) * form.stride + form.line * COMPONENTS[form.component].size


state("LC-001", _plan, _succeed)
state("LC-002", nothing, _bounded)
state("LC-003", nothing, _large_enough)
state("LC-004", nothing, _again)
state("LC-005", nothing, _of_destination_alone)
state("LC-006", _with_strides, _without_stride)
