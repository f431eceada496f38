"""The emulator as a device that converts matrices: the function and the command, as calls on memory.

What a conversion does is that of the emulator's cases (`vectors/opaque.py`), its variants and bugs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.case.model import ComponentType, MatrixLayout
from cts.device.trials import INCOMPLETE, OPTIMAL, SUCCESS, Form
from cts.drivers.emulator.matrices.access import MemoryFault
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors.opaque import converted, converted_elements, fill_gaps, optimal, places, size_of
from cts.drivers.emulator.vectors.registers import Ints, Registers

_COMPONENTS = {component.descriptor.number: component for component in ComponentType}
_LAYOUTS = (
    MatrixLayout.RowMajor,
    MatrixLayout.ColumnMajor,
    MatrixLayout.InferencingOptimal,
    MatrixLayout.TrainingOptimal,
)


@dataclass(frozen=True, eq=False)
class Side:
    """A matrix that begins at byte `start` of memory, at an `address`, and has `size` bytes by what the caller says."""

    form: Form
    memory: Bytes
    start: int
    size: int
    address: int


@dataclass(frozen=True)
class Submission:
    """What a queue gets: conversions of one command, in a `secondary` command buffer or not, for the `nth` time."""

    conversions: Sequence[tuple[Side, Side]]
    secondary: bool = False
    nth: int = 0


class Converter:
    """vkConvertCooperativeVectorMatrixNV and vkCmdConvertCooperativeVectorMatrixNV."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def size(self, source: Form, destination: Form) -> int:
        """Bytes that a destination takes. The last line of one in rows or columns ends with its elements."""
        component, layout = _COMPONENTS[destination.component], _LAYOUTS[destination.layout]
        if destination.layout in OPTIMAL:
            shape, extents = self._options.opaque, (destination.rows, destination.cols)
            return size_of(optimal(shape, layout, *extents, component.size), component.size)
        line = destination.rows if layout is MatrixLayout.ColumnMajor else destination.cols
        return (destination.lines - 1) * destination.stride + line * component.size

    def query(self, source: Form, destination: Form, before: int) -> tuple[int, int]:
        """The function with dstData NULL: VkResult and *pDstSize, in which was `before`."""
        return SUCCESS, self.size(source, destination)

    def function(self, source: Side, destination: Side) -> tuple[int, int]:
        """The function: VkResult and *pDstSize."""
        needed = self.size(source.form, destination.form)
        if destination.size < needed:
            return INCOMPLETE, 0
        self.convert(source, destination)
        return SUCCESS, needed

    def execute(self, submission: Submission) -> None:
        """The command, executed."""
        for source, destination in submission.conversions:
            self.convert(source, destination)

    def convert(self, source: Side, destination: Side) -> None:
        """One conversion, by either. Raises MemoryFault where it accesses what is no block's."""
        bug = self._options.bug
        have, want = (_COMPONENTS[side.form.component] for side in (source, destination))
        bits = converted(_gather(source.memory, self._places(source, is_target=False), have.size), have, want, bug)
        addresses = self._places(destination, is_target=True)
        form = destination.form
        if form.layout not in OPTIMAL:
            layout = _LAYOUTS[form.layout]
            fill_gaps(destination.memory, addresses, layout, want.size, form.stride, self._options.gaps, bug)
        kept = converted_elements(form.rows, form.cols, bug)
        for b in range(want.size):
            destination.memory[addresses[kept] + b] = (bits[kept] >> np.uint32(8 * b)).astype(np.uint8)

    def _places(self, side: Side, *, is_target: bool) -> Ints:
        form, size = side.form, _COMPONENTS[side.form.component].size
        layout, bug = _LAYOUTS[form.layout], self._options.bug
        addresses = side.start + places(
            self._options.opaque, layout, form.rows, form.cols, size, form.stride, bug, is_target=is_target
        )
        outside = (addresses < 0) | (addresses + size > len(side.memory))
        if outside.any():
            verb, at = "write" if is_target else "read", int(addresses[outside][0]) - side.start
            raise MemoryFault(f"{verb} of {size} bytes at byte {at} of a matrix of {side.size} bytes")
        return addresses


def _gather(memory: Bytes, addresses: Ints, size: int) -> Registers:
    bits = np.zeros(addresses.shape, np.uint32)
    for b in range(size):
        bits |= memory[addresses + b].astype(np.uint32) << np.uint32(8 * b)
    return bits
