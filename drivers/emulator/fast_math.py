"""Which roundings are left out in a program where some instructions allow it and others do not (NU-048, NU-049).

Every result is kept rounded. What it was before its rounding is kept beside it, for the instructions that may use it.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cts.case.model import Case, ComponentType, FastMath, FastMathBits, FloatWidth, Instruction
from cts.drivers.emulator.mutants import numbers as n
from cts.drivers.emulator.options import Options

_LICENCES = {FastMath.AllowContract, FastMath.AllowReassoc, FastMath.AllowTransform}


class Unrounded(Protocol):
    """A matrix or vector."""

    @property
    def component(self) -> ComponentType: ...

    @property
    def registers(self) -> npt.NDArray[np.uint32]: ...

    def with_registers(self, registers: npt.NDArray[np.uint32]) -> Any:
        """The same type in these registers, of which nothing is known before their rounding."""

    def as_before_rounding(self, other: Any) -> Any:
        """The value, but with the unrounded elements of `other` in those elements that `other` agrees with.

        `other` is of the same type.
        """


V = TypeVar("V", bound=Unrounded)


class Licences(Generic[V]):
    """What the instructions of a case may use of what its operands were before their rounding."""

    def __init__(self, case: Case, options: Options) -> None:
        self._case = case
        self._bug = options.bug
        self._producers = {name: i for i in case.program for name in i.defines}
        self._kept: dict[str, V] = {}
        bits_of = [getattr(i, "fast_math", None) or () for i in case.program]
        mixed = any(_LICENCES.intersection(bits) for bits in (*bits_of, *case.fast_math.values()))
        #: Whether there is anything to use.
        self.any = mixed and (options.contract == "on" or self._bug in (n.CONTRACTS_BY_PRODUCER, n.CONTRACTS_ANY))

    def takes(self, i: Instruction) -> bool:
        """Whether an instruction is one whose result has a rounding to leave out."""
        return self.any and hasattr(i, "fast_math")

    def keep(self, name: str, value: V) -> V:
        """A result, rounded; what it was before is kept."""
        self._kept[name] = value
        rounded: V = value.with_registers(value.registers)
        return rounded

    def operand(self, i: Instruction, name: str, value: V) -> V:
        """What an instruction takes for an operand that is `value`, rounded."""
        if name not in self._kept or not value.component.is_float or not self._may_use(i, name, value.component):
            return value
        unrounded: V = value.as_before_rounding(self._kept[name])
        return unrounded

    def _may_use(self, i: Instruction, name: str, component: ComponentType) -> bool:
        if self._bug == n.CONTRACTS_ANY:
            return True
        producer = self._bug == n.CONTRACTS_BY_PRODUCER and self._allows(self._producers[name], component)
        return producer or self._allows(i, component)

    def _allows(self, i: Instruction, component: ComponentType) -> bool:
        bits: FastMathBits | None = getattr(i, "fast_math", None)
        if bits is None and component.is_ieee:
            bits = self._case.fast_math.get(FloatWidth(component.value))
        return bool(_LICENCES.intersection(bits or ()))


def some_signs_free(case: Case) -> bool:
    """Whether an instruction, or the default of a type, says that signs of zeros do not matter."""
    bits_of = [getattr(i, "fast_math", None) or () for i in case.program]
    return any(FastMath.NSZ in bits for bits in (*bits_of, *case.fast_math.values()))
