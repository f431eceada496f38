"""Looking into lowered modules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cts.plugins.form import Form, parse
from cts.spirv.decode import Decoded, decode
from cts.spirv.encode import Id, Value


def form(named: str) -> Form:
    """The transform `form:NAMED`."""
    return parse(f"form:{named}", named)


CONSTANTS = ("OpConstant", "OpSpecConstant")


class Module:
    """Decoded instructions with look-ups by name."""

    def __init__(self, words: npt.NDArray[np.uint32]) -> None:
        self.words = words
        self.instructions = list(decode(words))
        self.by_id = {d.result: d for d in self.instructions if d.result is not None}
        self.names = {d.values[0]: d.values[1] for d in self.all("OpName")}
        self.spec_ids = {d.values[0]: d.values[2] for d in self.all("OpDecorate") if d.values[1] == "SpecId"}

    def all(self, *names: str) -> list[Decoded]:
        return [d for d in self.instructions if d.name in names]

    def one(self, name: str) -> Decoded:
        (found,) = self.all(name)
        return found

    def name(self, instruction: Decoded) -> Value | None:
        """The name of an instruction's result."""
        return None if instruction.result is None else self.names.get(instruction.result)

    def one_of(self, name: str, operand: Value) -> Decoded:
        """The one instruction of a name with an operand."""
        (found,) = (d for d in self.all(name) if operand in d.values)
        return found

    def capabilities(self) -> set[Value]:
        return {d.values[0] for d in self.all("OpCapability")}

    def extensions(self) -> set[Value]:
        return {d.values[0] for d in self.all("OpExtension")}

    def decorations(self, target: Value) -> set[tuple[Value, ...]]:
        return {d.values[1:] for d in self.all("OpDecorate") if d.values[0] == target}

    def describe(self, value: Value) -> Value:
        """A constant's number, `spec N` with its SpecId, a name, or what computes the id."""
        if not isinstance(value, Id):
            return value
        definition = self.by_id[value]
        if value in self.spec_ids:
            return f"spec {self.spec_ids[value]}"
        if definition.name == "OpConstant":
            return definition.values[1]
        if definition.name in ("OpConstantTrue", "OpConstantFalse"):
            return definition.name
        if value in self.names:
            return f"%{self.names[value]}"
        if definition.name == "OpLoad":
            return self.describe(definition.values[1])
        return f"{definition.name}({', '.join(str(self.describe(v)) for v in definition.values[1:])})"

    def operands(self, instruction: Decoded) -> list[Value]:
        """The described operands, without the result type."""
        skip = 1 if instruction.rule.has_type else 0
        return [self.describe(v) for v in instruction.values[skip:]]

    def body(self) -> Iterator[tuple[str, list[Value]]]:
        """Name and operands of the function's instructions that belong to matrices, layouts and views."""
        for d in self.instructions:
            if d.rule.name.startswith(("OpTensor", "OpCreateTensor", "OpCooperativeMatrix")):
                yield d.name, self.operands(d)
