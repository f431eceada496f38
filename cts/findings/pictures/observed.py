"""What a driver was seen to do, from an explanation or a finding: the wrong elements of a result and of memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cts.case.model import Case, Store, types_of
from cts.case.model.instructions import defined_ids
from cts.case.oracle.expectation import Oracle, Reach
from cts.case.oracle.trace import WrittenByInstruction
from cts.findings.explain import Explanation
from cts.findings.pictures.grid import Ints, Mask
from cts.judging.events import Finding
from cts.judging.guesses import RightBeforeStore, WrongBeforeStore


@dataclass(frozen=True, eq=False)
class Observed:
    """The wrong elements of one instance of what program[`index`] gives or stores, and of memory.

    `result` names what that is where the instruction does not: at a condition, say, what comes out wrong behind it.
    `rows`, `cols` and `bits` are (n,); `from_memory`, where they are what memory has of a matrix that was stored.
    `memory` has elements, in components of the buffer's type, and their bits, by buffer. `unknown` wrong elements are
    not among them.
    """

    index: int | None
    instance: int = 0
    rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    cols: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    bits: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    memory: dict[str, tuple[Ints, Ints]] = field(default_factory=dict)
    unknown: int = 0
    result: str = ""
    from_memory: bool = False

    @property
    def of_memory(self) -> Observed:
        """The same without any instruction: what is known of memory."""
        return Observed(None, memory=self.memory, unknown=self.unknown)

    def wrong(self, shape: tuple[int, int]) -> Mask:
        """Which elements are wrong, (rows, cols)."""
        mask = np.zeros(shape, bool)
        mask[self.rows, self.cols] = True
        return mask

    def values(self, expected: Any) -> Any:
        """The actual bits of the instance, from the expected ones, (rows, cols)."""
        actual = expected.copy()
        actual[self.rows, self.cols] = self.bits.astype(np.uint64).astype(expected.dtype)
        return actual


def of_explanation(explanation: Explanation) -> Observed | None:
    """What an explanation holds; None where it knows of no instruction, or of no wrong element.

    Of loops the oracle gives the last iteration's matrices; a matrix of another is not shown among those.
    """
    if explanation.instruction is None or not (explanation.values or explanation.stored):
        return None
    if explanation.iterations and not explanation.stored:
        return None
    rows, cols, bits = _columns(explanation.values, 3)
    return Observed(
        explanation.instruction,
        explanation.instance,
        rows,
        cols,
        bits,
        _by_buffer(explanation.stored),
        0 if explanation.stored else max(0, explanation.wrong - len(rows)),
        explanation.result,
    )


def of_finding(finding: Finding, oracle: Oracle) -> Observed | None:
    """What a finding lists, of the instruction that gives what is stored, or of none; None where it lists nothing.

    Where the matrix was right before it was stored, of the store.
    """
    case, writer = finding.case, finding.writer
    listed = [
        (m.buffer, m.offset, m.element, m.bits)
        for m in finding.listed
        if m.element is not None and m.bits is not None and not m.guard
    ]
    if not listed:
        return None
    memory = _by_buffer(tuple((buffer, element, bits) for buffer, _, element, bits in listed))
    unknown = max(0, finding.differing - len(finding.listed))
    store: Any = case.program[writer.instruction] if isinstance(writer, WrittenByInstruction) else None
    if not isinstance(writer, WrittenByInstruction) or not isinstance(store, Store):
        return Observed(None, memory=memory, unknown=unknown)
    instance = writer.place.instance or 0
    defined = _definition(case, writer.instruction, store.stored)
    reached = oracle.reached(case, writer.instruction)
    direct = (
        defined is not None
        and reached is not None
        and not any(isinstance(g, RightBeforeStore) for g in finding.guesses)
    )
    if not direct:
        return Observed(writer.instruction, instance, memory=memory, unknown=unknown)
    assert defined is not None and reached is not None
    byte = {offset: bits for buffer, offset, _, bits in listed if buffer == reached.buffer}
    here = reached.byte[instance]
    places = np.argwhere(np.isin(here, list(byte)) & (reached.status[instance] == Reach.MEMORY))
    rows, cols = places[:, 0], places[:, 1]
    bits = np.array([byte[int(b)] for b in here[rows, cols]], dtype=np.uint64).view(np.int64)
    before_store = any(isinstance(g, WrongBeforeStore) for g in finding.guesses)
    return Observed(defined, instance, rows, cols, bits, memory, unknown, from_memory=not before_store)


def _definition(case: Case, before: int, name: str) -> int | None:
    """The instruction that gives a matrix the value which is stored: outside of loops, the last before the store."""
    if name not in types_of(case):
        return None
    definition = None
    for number, ids in enumerate(defined_ids(case.program)):
        if number < before and name in ids:
            definition = number
    return definition


def _columns(table: tuple[tuple[int, ...], ...], width: int) -> list[Ints]:
    array = np.array(table, dtype=np.uint64).reshape(len(table), width).view(np.int64)
    return [array[:, n] for n in range(width)]


def _by_buffer(listed: tuple[tuple[str, int, int], ...]) -> dict[str, tuple[Ints, Ints]]:
    memory = {}
    for name in dict.fromkeys(n for n, _, _ in listed):
        elements, bits = _columns(tuple((e, b) for n, e, b in listed if n == name), 2)
        memory[name] = (elements, bits)
    return memory
