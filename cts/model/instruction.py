"""The base of all instructions, and the matrix type they share."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from cts.model.component import ComponentType
from cts.model.operand import Scope, SpecInt, SpecScope, SpecUse, Use


class MatrixType(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """OpTypeCooperativeMatrixKHR (KM-010)."""

    component: ComponentType
    scope: Scope | SpecScope
    rows: int | SpecInt
    cols: int | SpecInt
    use: Use | SpecUse


class Instruction(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="op", tag=True):
    """Base of all instructions.

    `opcode` is the SPIR-V instruction the case speaks of; where the fields decide that, `spirv` knows.
    `refers` are the fields that hold ids of earlier results, one or a tuple.
    """

    opcode: ClassVar[str] = ""
    refers: ClassVar[tuple[str, ...]] = (
        "of", "object", "layout", "view", "matrix", "a", "b", "c", "matrices", "next",
    )  # fmt: skip

    @property
    def spirv(self) -> str:
        """The name of the SPIR-V instruction, for messages."""
        return self.opcode
