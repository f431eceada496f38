"""The conversions of a web: which give a use of its matrices, and which one of these may be converted by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

from cts.case import model
from cts.generators.build.kernels import Kernel
from cts.generators.parts.conversion_operands import Step, feasible

#: Kinds of conversions, each an instruction of its own.
KINDS: Mapping[str, Callable[[Step], bool]] = {
    "convert": lambda s: s.operation is not None and not s.decorated,
    "bitcast": lambda s: s.operation is None and s.use is None and not s.transpose,
    "use": lambda s: s.operation is None and s.use is not None and not s.transpose and not s.decorated,
    "transposed": lambda s: s.transpose,
    "turned": lambda s: s.decorated,
}

#: A type and a use, and a step from there.
From: TypeAlias = tuple[model.ComponentType, model.Use, Step]


class Conversions:
    """Conversions of squares of a side; `types` are those of a web's matrices, by their use."""

    def __init__(self, kernel: Kernel, side: int, types: Mapping[model.Use, model.ComponentType]) -> None:
        self.kernel = kernel
        self.side = side
        self.types = types
        self._steps: dict[tuple[model.ComponentType, model.Use], list[Step]] = {}

    def of(self, component: model.ComponentType, use: model.Use, kind: str) -> list[Step]:
        """The steps of a kind that a matrix may take."""
        if (component, use) not in self._steps:
            steps = feasible(component, self.side, self.side, use, self.kernel.admits, self.kernel.features)
            self._steps[component, use] = list(steps)
        return [step for step in self._steps[component, use] if KINDS[kind](step)]

    @cached_property
    def to(self) -> Mapping[model.Use, Mapping[str, list[From]]]:
        """By use and kind, the steps that give one of the web's types, each with what it starts from."""
        return {use: self._to(use, target) for use, target in self.types.items()}

    def _to(self, use: model.Use, target: model.ComponentType) -> Mapping[str, list[From]]:
        found: dict[str, list[From]] = {}
        kernel, side, accumulator = self.kernel, self.side, model.Use.Accumulator

        def admits(component: model.ComponentType, rows: int, cols: int, use: model.Use) -> bool:
            return component is target and kernel.admits(component, rows, cols, use)

        others = (accumulator,) if use is not accumulator else (model.Use.A, model.Use.B)
        for source in (use, *others):
            for component in model.ComponentType:
                if not kernel.admits(component, side, side, source):
                    continue
                for step in feasible(component, side, side, source, admits, kernel.features):
                    if step.component is target and (step.use or source) is use:
                        for kind in (kind for kind, holds in KINDS.items() if holds(step)):
                            found.setdefault(kind, []).append((component, source, step))
        return found


__all__ = ["KINDS", "Conversions"]
