"""Which accesses of a case follow one another at the same bytes, and whether their order shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cts.case.model import initial_bits
from cts.case.oracle.dependence import Accessor, Dependence, Hazard
from cts.reference.addressing.accesses import Access, instances_of
from cts.reference.addressing.coordinates import Status
from cts.reference.common.memory import Memory
from cts.reference.execution.execute import run
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.numeric.arrays import I64, U8, Mask

_I32 = npt.NDArray[np.int32]

#: No access, or no instance.
_NONE = -1


def dependences(evaluation: Evaluation) -> tuple[Dependence, ...]:
    """The dependences of a valid case, each pair of accesses once.

    A callback that reads a table is taken to read all of it. Accumulations count as writes. Dispatches do not depend on
    one another here.
    """
    watch = _Watch(evaluation)
    run(evaluation, observe=watch.step)
    return tuple(
        Dependence(hazard, first, second, apart, shows)
        for (hazard, first, second), (apart, shows) in watch.found.items()
    )


class _Buffer:
    """Who wrote each byte last, and who read it last since then."""

    def __init__(self, contents: U8) -> None:
        self.contents = contents.copy()
        self.changed: Mask = np.zeros(len(contents), bool)
        self.writer, self.writing, self.reader, self.reading = (
            np.full(len(contents), _NONE, np.int32) for _ in range(4)
        )

    def forget(self) -> None:
        """Begin a new dispatch."""
        for array in (self.writer, self.writing, self.reader, self.reading):
            array[:] = _NONE


class _Watch:
    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        buffers = evaluation.case.buffers
        self.buffers = {name: _Buffer(initial_bits(buffers[name]).view(np.uint8)) for name in evaluation.written}
        self.found: dict[tuple[Hazard, Accessor, Accessor], tuple[bool, bool]] = {}
        self._dispatch = 0

    def step(self, step: Step, memories: Mapping[str, Memory]) -> None:
        """What a step did, given memory after it."""
        if step.taken.dispatch != self._dispatch:
            self._dispatch = step.taken.dispatch
            for buffer in self.buffers.values():
                buffer.forget()
        for access in step.accesses:
            if access.buffer in self.buffers:
                self._access(access, memories[access.buffer].contents(1)[0])

    def _access(self, access: Access, after: U8) -> None:
        buffer, own = self.buffers[access.buffer], Accessor(access.instruction, access.field == "function")
        touched, by = self._touched(access)
        code = 2 * own.place + own.called
        if not access.store:
            self._add(
                Hazard.READ_AFTER_WRITE, own, (buffer.writer, buffer.writing), (touched, by), buffer.changed[touched]
            )
            buffer.reader[touched], buffer.reading[touched] = code, by
            return
        changes = after[touched] != buffer.contents[touched]
        self._add(Hazard.WRITE_AFTER_READ, own, (buffer.reader, buffer.reading), (touched, by), changes)
        unread = buffer.reader[touched] == _NONE
        self._add(
            Hazard.WRITE_AFTER_WRITE,
            own,
            (buffer.writer, buffer.writing),
            (touched[unread], by[unread]),
            changes[unread],
        )
        buffer.writer[touched], buffer.writing[touched] = code, by
        buffer.reader[touched] = buffer.reading[touched] = _NONE
        buffer.contents[touched], buffer.changed[touched] = after[touched], changes

    def _add(
        self, hazard: Hazard, own: Accessor, earlier: tuple[_I32, _I32], touching: tuple[I64, _I32], shows: Mask
    ) -> None:
        touched, by = touching
        who, instance = (array[touched] for array in earlier)
        for code in np.unique(who[who != _NONE]).tolist():
            chosen = who == code
            key = hazard, Accessor(code // 2, bool(code % 2)), own
            apart, shown = self.found.get(key, (False, False))
            self.found[key] = (
                apart or bool((instance[chosen] != by[chosen]).any()),
                shown or bool(shows[chosen].any()),
            )

    def _touched(self, access: Access) -> tuple[I64, _I32]:
        """Every byte that is accessed, and the instance that accesses it."""
        instances = instances_of(self.evaluation.case.dispatch, access.shape.scope)
        shape = np.broadcast_shapes(access.byte.shape, access.status.shape, (1, instances, 1, 1))
        chosen = np.broadcast_to(access.status == Status.OK, shape)
        places = np.broadcast_to(access.byte, shape)[chosen]
        owner = np.arange(instances, dtype=np.int32)[None, :, None, None]
        by = np.broadcast_to(owner, shape)[chosen]
        span = np.arange(access.size)
        return (places[:, None] + span).reshape(-1), np.repeat(by, len(span))
