"""The program up to an instruction, for changes that compute as an optimising compiler may have."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import structs

from cts.case import model
from cts.case.model.instructions import defined_ids
from cts.findings.explain.change import Change


class Simplifier:
    """The program up to an instruction, whose last value every name has."""

    def __init__(self, case: model.Case, index: int) -> None:
        self.case, self.index = case, index
        self.types = model.types_of(case)
        self.instruction: Any = case.program[index]
        ids = defined_ids(case.program)[:index]
        count = Counter(name for names in ids for name in names)
        self.makers = {name: n for n, names in enumerate(ids) for name in names if count[name] == 1}

    def maker(self, name: str) -> Any:
        """The instruction that makes a matrix; None if several do, as in loops."""
        made = None if name not in self.makers else self.case.program[self.makers[name]]
        return None if isinstance(made, model.BlockStart) else made

    def component(self, name: str) -> model.ComponentType | None:
        shape = self.types.get(name)
        return shape.component if isinstance(shape, model.MatrixShape) else None

    def declared(self, name: str) -> model.MatrixType:
        shape = self.types[name]
        assert isinstance(shape, model.MatrixShape)
        return shape.declared

    def fresh(self, name: str) -> str:
        while name in self.types:
            name += "_"
        return name

    def at(self, name: str) -> str:
        """A matrix's instruction, in words."""
        return f"program[{self.makers[name]}] {kind_of(self.maker(name))}"

    @property
    def here(self) -> str:
        return f"program[{self.index}] {kind_of(self.instruction)}"

    def instead(self, what: str, facts: tuple[str, ...], *instructions: model.AnyInstruction, **fields: Any) -> Change:
        """The case with other instructions instead of this one."""
        program = (*self.case.program[: self.index], *instructions, *self.case.program[self.index + 1 :])
        return Change(what, facts, structs.replace(self.case, program=program, **fields), simplified=True)

    def constant(self, name: str) -> float | None:
        """The number that every element of a constant is; None for other matrices and for NaN."""
        made = self.maker(name)
        if isinstance(made, model.MatrixNull):
            return 0.0
        return self.number(self.component(name), made.value) if isinstance(made, model.MatrixConstant) else None

    def number(self, component: model.ComponentType | None, value: Any) -> float | None:
        """The number of a component value; None of a type without arithmetic."""
        if component is None or not component.is_ieee:
            return None
        return float(model.encode(component, [model.number_of(value)]).view(component.dtype)[0])


def kind_of(instruction: Any) -> str:
    """An instruction's operation, or its own name if it has none."""
    operation = getattr(instruction, "operation", None)
    return type(instruction).__name__ if operation is None else str(operation.value)


def copy_of(name: str, source: str) -> model.MatrixCopy:
    """A matrix under another name."""
    return model.MatrixCopy(name, source, model.CopyPath.CopyObject)
