"""Scalar operands and their constness.

Compilers take different paths for a constant, a specialization constant and a value read at run
time, so how an operand is delivered is part of the case.
"""

from __future__ import annotations

import enum
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, structs

from cts.case.model.component import Number

__all__ = [
    "BLOCKED_ORDERS", "PLAIN_ORDERS", "ClampMode", "FloatControls", "Operand", "Order", "Scalar", "Scope", "SpecBool",
    "SpecClampMode", "SpecInt", "SpecNumber", "SpecScope", "SpecUse", "StorageClass", "Use", "base_of", "constant_of",
    "constness_of", "factors_of", "modulus_of", "number_of",
]  # fmt: skip

#: A 32-bit scalar operand; -1 and 0xFFFFFFFF are the same bits (operands may be of either signedness, TA-022).
Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**32 - 1)]

Constness: TypeAlias = Literal["literal", "spec", "dynamic"]


class ClampMode(enum.Enum):
    """Tensor clamp modes (TA-002)."""

    Undefined = "Undefined"
    Constant = "Constant"
    ClampToEdge = "ClampToEdge"
    Repeat = "Repeat"
    RepeatMirrored = "RepeatMirrored"


class Scope(enum.Enum):
    """Matrix scopes usable in Vulkan (VK-024)."""

    Subgroup = "Subgroup"
    Workgroup = "Workgroup"


class Use(enum.Enum):
    """Matrix uses (KM-002)."""

    A = "A"
    B = "B"
    Accumulator = "Accumulator"


class Order(enum.Enum):
    """Memory layouts of OpCooperativeMatrixLoadKHR / StoreKHR (KM-002, AL-001)."""

    RowMajor = "RowMajor"
    ColumnMajor = "ColumnMajor"
    RowBlockedInterleavedARM = "RowBlockedInterleavedARM"
    ColumnBlockedInterleavedARM = "ColumnBlockedInterleavedARM"

    @property
    def blocked(self) -> bool:
        """Whether memory holds blocks of 64 bytes (AL-002), not lines a stride apart."""
        return self in BLOCKED_ORDERS


#: The layouts that have lines, a stride apart (KM-013), and those of blocks (AL-002).
PLAIN_ORDERS = (Order.RowMajor, Order.ColumnMajor)
BLOCKED_ORDERS = (Order.RowBlockedInterleavedARM, Order.ColumnBlockedInterleavedARM)


class StorageClass(enum.Enum):
    """Where a buffer lives (CM-013).

    A buffer in `Workgroup` memory has the number of workgroups as its first extent: workgroup w (x
    fastest) sees part w of it, copied in before the program and out after it, a barrier between.
    """

    StorageBuffer = "StorageBuffer"
    PhysicalStorageBuffer = "PhysicalStorageBuffer"
    Workgroup = "Workgroup"


class FloatControls(enum.Enum):
    """What binds the roundings of floating-point operations (NU-017..NU-019)."""

    #: Compilers may drop roundings and rearrange.
    Undecorated = "Undecorated"
    #: Every arithmetic result is decorated NoContraction.
    NoContraction = "NoContraction"
    #: FPFastMathDefault with mode None for every float type of the module (SPV_KHR_float_controls2).
    FastMathNone = "FastMathNone"


class _Operand(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Scalar(_Operand, frozen=True):
    """A 32-bit operand that is not a plain literal: `{dynamic: -3}`, `{literal: 0, wg.x: 16}`.

    Its value in one invocation is, mod 2^32, the base (exactly one of `literal`, `spec`, `dynamic`) plus `wg.x`
    times the workgroup's x index, and likewise for `wg.y`, `wg.z`, `sg` (the subgroup's index within its
    workgroup), `inv` (the invocation's index within its workgroup, in programs of cooperative vectors, whose
    dispatch says `invocations`), `inv.x`, `inv.y`, `inv.z` (its coordinates there, VK-027: `inv` is their sum,
    y in steps of the extent in x, z in steps of the extents in x and y), `loop` (the index of the innermost
    loop around the instruction) and `loop.outer` (that of the loop around it). The factors are constants of the
    module. Where `mod` is given, the value is the remainder of that sum by it.
    """

    literal: Int32 | None = None
    spec: Int32 | None = None
    dynamic: Int32 | None = None
    wg_x: Int32 = msgspec.field(default=0, name="wg.x")
    wg_y: Int32 = msgspec.field(default=0, name="wg.y")
    wg_z: Int32 = msgspec.field(default=0, name="wg.z")
    sg: Int32 = 0
    loop: Int32 = 0
    loop_outer: Int32 = msgspec.field(default=0, name="loop.outer")
    inv: Int32 = 0
    inv_x: Int32 = msgspec.field(default=0, name="inv.x")
    inv_y: Int32 = msgspec.field(default=0, name="inv.y")
    inv_z: Int32 = msgspec.field(default=0, name="inv.z")
    mod: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None

    def __post_init__(self) -> None:
        values = [v for v in (self.literal, self.spec, self.dynamic) if v is not None]
        if len(values) != 1:
            raise ValueError("give exactly one of `literal`, `spec` and `dynamic`")
        if self.literal is not None and not self.factors.any_set:
            raise ValueError(f"write a plain literal as the number itself: {self.literal}")

    @property
    def base(self) -> int:
        """The value before the per-workgroup and per-subgroup terms."""
        for v in (self.literal, self.spec, self.dynamic):
            if v is not None:
                return v
        raise AssertionError("unreachable: __post_init__ requires one base")

    @property
    def constness(self) -> Constness:
        if self.literal is not None:
            return "literal"
        return "spec" if self.spec is not None else "dynamic"

    @property
    def factors(self) -> Factors:
        return Factors(*(getattr(self, name) for name in Factors.__struct_fields__))


class Factors(Struct, frozen=True):
    """What an operand gains per workgroup (x, y, z), subgroup, iteration of the loops around it, and invocation.

    The last is by its index in the workgroup, and by its coordinates there.
    """

    wg_x: int = 0
    wg_y: int = 0
    wg_z: int = 0
    sg: int = 0
    loop: int = 0
    loop_outer: int = 0
    inv: int = 0
    inv_x: int = 0
    inv_y: int = 0
    inv_z: int = 0

    @property
    def any_set(self) -> bool:
        return any(structs.astuple(self))

    @property
    def of_invocation(self) -> tuple[int, int, int, int]:
        """What it gains by the index of the invocation, and by its x, y and z."""
        return self.inv, self.inv_x, self.inv_y, self.inv_z


Operand: TypeAlias = Int32 | Scalar


def base_of(operand: int | Scalar) -> int:
    """The operand's base value, as written (possibly negative)."""
    return operand if isinstance(operand, int) else operand.base


def modulus_of(operand: int | Scalar) -> int | None:
    """What the operand's sum is reduced by, if anything."""
    return None if isinstance(operand, int) else operand.mod


def constness_of(operand: int | Scalar) -> Constness:
    """How the operand's base is delivered."""
    return "literal" if isinstance(operand, int) else operand.constness


def factors_of(operand: int | Scalar) -> Factors:
    """What the operand gains per workgroup and subgroup."""
    return Factors() if isinstance(operand, int) else operand.factors


class SpecInt(_Operand, frozen=True):
    """A constant of a type, delivered as a specialization constant: `{spec: 16}`."""

    spec: Int32


class SpecBool(_Operand, frozen=True):
    """A type's boolean, delivered as a specialization constant."""

    spec: bool


class SpecClampMode(_Operand, frozen=True):
    """A type's clamp mode, delivered as a specialization constant."""

    spec: ClampMode


class SpecScope(_Operand, frozen=True):
    """A type's scope, delivered as a specialization constant."""

    spec: Scope


class SpecUse(_Operand, frozen=True):
    """A type's use, delivered as a specialization constant."""

    spec: Use


Spec: TypeAlias = SpecInt | SpecBool | SpecClampMode | SpecScope | SpecUse


class SpecNumber(_Operand, frozen=True):
    """A component value as specialization constant (`{spec: -7}`) or read at run time (`{dynamic: -7}`)."""

    spec: Number | None = None
    dynamic: Number | None = None

    def __post_init__(self) -> None:
        if (self.spec is None) == (self.dynamic is None):
            raise ValueError("give exactly one of `spec` and `dynamic`")

    @property
    def number(self) -> int | float | str:
        value = self.spec if self.spec is not None else self.dynamic
        assert value is not None
        return value


ComponentValue: TypeAlias = Number | SpecNumber


def number_of(value: int | float | str | SpecNumber) -> int | float | str:
    """The component value as a number or "0x..." bit pattern, however it is delivered."""
    return value.number if isinstance(value, SpecNumber) else value


def constant_of(value: object) -> object:
    """A type's constant (int, bool or enum member), however it is delivered."""
    return value.spec if isinstance(value, (SpecInt, SpecBool, SpecClampMode, SpecScope, SpecUse)) else value
