"""The arithmetic that each instruction of a program is bound to, by its fast math (NU-048..NU-050)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from cts.case.model import Case, ComponentType, FastMath, FloatControls, FloatWidth, Instruction
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.modes import modes_of

#: What lets an operation be rearranged with those that produce its operands (NU-049).
LICENCES = frozenset({FastMath.AllowContract, FastMath.AllowReassoc, FastMath.AllowTransform})

_WIDTHS = {ComponentType(width.value): width for width in FloatWidth if width is not FloatWidth.float64}


class FastMathOf:
    """The arithmetic of a case: that of the module, and that of single instructions."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._modes = modes_of(case.float_modes, case.float_controls)

    @cached_property
    def module(self) -> Floats:
        """That of callbacks, and of what only moves values: with every default, as their types are many."""
        return self._floats(frozenset(bit for bits in self._case.fast_math.values() for bit in bits))

    @cached_property
    def mixed(self) -> bool:
        """Whether some operations may be rearranged, and others may not."""
        bits_of = [getattr(i, "fast_math", None) or () for i in self._case.program]
        return any(bit in LICENCES for bits in (*bits_of, *self._case.fast_math.values()) for bit in bits)

    def floats_of(self, instruction: Instruction, components: Iterable[ComponentType]) -> Floats:
        """That of an instruction on operands, and with a result, of these types."""
        own: tuple[FastMath, ...] | None = getattr(instruction, "fast_math", None)
        if own is None:
            defaults, widths = self._case.fast_math, (_WIDTHS.get(c) for c in components)
            own = tuple(bit for width in widths if width is not None for bit in defaults.get(width, ()))
        return self._floats(frozenset(own))

    @cached_property
    def relaxed(self) -> Floats:
        """That of an operation that may be rearranged."""
        return Floats(True, False, self._modes, drops=self.mixed)

    def _floats(self, bits: frozenset[FastMath]) -> Floats:
        if bits & LICENCES:
            return self.relaxed
        controls = self._case.float_controls
        strict = controls is FloatControls.FastMathNone and not bits
        return Floats(controls is FloatControls.Undecorated, strict, self._modes)
