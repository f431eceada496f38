"""Operations in the bodies of functions, as a wrong program computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cts.case.model import ComponentType, Microscaling
from cts.case.model import expression as ast
from cts.case.oracle.deviation import Step
from cts.reference.deviation.elements import Around, transformed
from cts.reference.deviation.moves import NotComputable
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value, where


@dataclass
class Bodies:
    """Results of operations: `inside(OPERATION)` names the operation, and the steps behind it say how it is wrong.

    `inside(branch)` are the conditions of branches, and those of a type of blocks what is converted from it.

    The results of the `first` calls of helpers are kept, and for which elements there was one.
    """

    steps: Sequence[Step]
    first: dict[str, tuple[Value, Mask]] = field(default_factory=dict)

    def __call__(
        self,
        e: ast.Expression | ast.Branch,
        function: Callable[..., Value],
        operands: Sequence[Value],
        watch: Watch,
    ) -> Value:
        name = getattr(e, "operation", type(e).__name__.lower())
        of = e.a.type if isinstance(e, ast.Convert) else None
        names = {name, of.value} if isinstance(of, Microscaling) else {name}
        steps = [step for word, *some in self._groups() if word.rstrip("_") in names for step in some]
        if not steps:
            return function(*operands)
        if steps[0].name == "reversed":
            steps = steps[1:]
            if len({operand.component for operand in operands}) == 1:
                operands = operands[::-1]
        result = function(*operands)
        if steps and steps[0].name == "first_alike":
            steps = steps[1:]
            result = self._first(e, result, watch)
        if not steps:
            return result
        result = result.broadcast(np.broadcast_shapes(result.shape, *(operand.shape for operand in operands)))

        def operand(which: str) -> Value:
            number = "abc".find(which)
            if not 0 <= number < len(operands):
                raise NotComputable(f"no operand {which}")
            return operands[number].broadcast(result.shape)

        # A condition is 0 or 1.
        number = replace(result, component=result.component or ComponentType.uint8)
        return replace(transformed(number, steps, Around(_nothing, operand)), component=result.component)

    def _groups(self) -> Iterator[tuple[str, *tuple[Step, ...]]]:
        """For each operation its word, and the steps behind it."""
        starts = [n for n, step in enumerate(self.steps) if step.name == "inside"]
        if not starts or starts[0]:
            raise NotComputable("of no operation")
        for start, end in zip(starts, [*starts[1:], len(self.steps)], strict=True):
            yield (str(self.steps[start].arguments[0]), *self.steps[start + 1 : end])

    def _first(self, e: ast.Expression | ast.Branch, result: Value, watch: Watch) -> Value:
        """What the first call of a helper gave, for each element that it was executed for."""
        if not isinstance(e, ast.Call):
            raise NotComputable("no call")
        executed: Mask = np.ones((1,) * len(result.shape), bool) if watch.executed is None else watch.executed
        if e.helper in self.first:
            earlier, was = self.first[e.helper]
            result, executed = where(was, earlier, result), executed | was
        self.first[e.helper] = result, executed
        return result


def _nothing() -> Value:
    raise NotComputable("an operation has no earlier value")
