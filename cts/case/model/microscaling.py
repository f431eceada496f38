"""The types of SPV_EXT_ocp_microscaling_types: bodies of callbacks read them and convert them to other floats (MT-001).

Nothing else may be done with their values, and in Vulkan nothing converts to them. So they are types of expressions and
of members of blocks, never of matrices, vectors or buffers.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from cts.case.model.component import ComponentType
from cts.case.model.feature import Feature


class _Row(NamedTuple):
    width: int
    encoding: str
    capability: str
    feature: Feature
    glsl: str
    fact: str


class Microscaling(enum.Enum):
    """A scalar type of a block, or of its scale, by the name that bodies call it."""

    float4_e2m1 = "float4_e2m1"
    float6_e2m3 = "float6_e2m3"
    float6_e3m2 = "float6_e3m2"
    float8_e8m0 = "float8_e8m0"
    mxint8 = "mxint8"

    @property
    def width(self) -> int:
        """Bits of a value."""
        return _ROWS[self].width

    @property
    def carrier(self) -> ComponentType:
        """The component type of what holds a pattern, in its low bits."""
        return ComponentType.uint8

    @property
    def stored(self) -> bool:
        """Whether memory that a shader shares may hold it (MT-003)."""
        return self.width == 8

    @property
    def encoding(self) -> str:
        """The FPEncoding that OpTypeFloat names."""
        return _ROWS[self].encoding

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What a module with the type declares."""
        return (_ROWS[self].capability,)

    @property
    def feature(self) -> Feature:
        return _ROWS[self].feature

    @property
    def glsl(self) -> str:
        """What names of GLSL for it contain: floatX_t, bitcastExtractfXEXT."""
        return _ROWS[self].glsl

    @property
    def fact(self) -> str:
        """The fact that says what its patterns are."""
        return _ROWS[self].fact


_ROWS = {
    Microscaling.float4_e2m1: _Row(4, "Float4E2M1EXT", "Float4EXT", Feature.FLOAT4, "e2m1", "MT-020"),
    Microscaling.float6_e2m3: _Row(6, "Float6E2M3EXT", "Float6EXT", Feature.FLOAT6, "e2m3", "MT-021"),
    Microscaling.float6_e3m2: _Row(6, "Float6E3M2EXT", "Float6EXT", Feature.FLOAT6, "e3m2", "MT-022"),
    Microscaling.float8_e8m0: _Row(
        8, "Float8UnsignedE8M0EXT", "Float8UnsignedE8M0EXT", Feature.FLOAT8_UNSIGNED_E8M0, "ue8m0", "MT-023"
    ),
    Microscaling.mxint8: _Row(8, "MXInt8EXT", "MXInt8EXT", Feature.MXINT8, "mxint8", "MT-024"),
}


def require_byte(declared: str | None, type_: ComponentType) -> None:
    """Raises ValueError if a type is declared of what is no byte."""
    if declared is not None and type_ is not Microscaling(declared).carrier:
        raise ValueError(f"{declared} is declared of a {type_.value} instead of `type: uint8`")
