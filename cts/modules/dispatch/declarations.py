"""What a module declares for its host: buffers, specialization constants, and sizes that these decide."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from cts.modules.dispatch.elements import ElementType, encode
from cts.modules.dispatch.types import Type


class Extent(Struct, frozen=True):
    """A size that specialization constants decide, by their SpecIds; 0 where it is not known."""

    value: int
    of_matrix: bool
    spec_ids: frozenset[int]


class Resource(Struct, frozen=True):
    """A buffer variable: `label` is for readers, `name` what OpName says or "".

    `length` is None for one descriptor, 0 for an array of any length. `type` is the type of one buffer's contents, None
    if memory cannot hold that type.
    """

    label: str
    length: int | None
    name: str = ""
    kind: Literal["storage", "uniform"] = "storage"
    type: Type | None = None
    read_only: bool = False


class SpecConstant(Struct, frozen=True):
    """A scalar specialization constant: `kind` is "bool", "int", "uint" or "float"; `width` in bits."""

    kind: str
    width: int
    default: bool | int | float = 0
    name: str = ""

    def encoded(self, value: bool | int | float | str) -> bytes:
        """What the host gives for a value. Raises ValueError where the type does not hold it."""
        if self.kind == "bool":
            return int(value).to_bytes(4, "little")
        return encode(ElementType(str(self)), [value]).tobytes()

    def __str__(self) -> str:
        return self.kind if self.kind == "bool" else f"{self.kind}{self.width}"


class Size(Struct, frozen=True):
    """One extent of a workgroup: a number, unknown as None, and the SpecId that may change it."""

    value: int | None
    spec_id: int | None = None
