"""The dispatch file as data: a module, its buffers and bindings, and what is compared afterwards."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from cts.modules.dispatch.elements import ElementType, Number

#: The most bytes of one buffer: a run holds several copies of all buffers in memory.
MAX_BUFFER_BYTES = 1 << 29

#: Bytes of push constants, more than any device has.
MAX_PUSH_BYTES = 1 << 16

#: Names of buffers and cases become names of files and folders.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**32 - 1)]
Offset: TypeAlias = Annotated[int, Meta(ge=0, le=2**40)]
#: Rows or columns of a matrix.
Extent: TypeAlias = Annotated[int, Meta(ge=1, le=4096)]
Shape: TypeAlias = Annotated[tuple[Annotated[int, Meta(ge=1, le=2**40)], ...], Meta(min_length=1, max_length=16)]


class _Data(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Address(_Data, frozen=True):
    """A 64-bit device address at byte `at`: where buffer `of` begins, plus `offset` bytes."""

    at: Offset
    of: str
    offset: Annotated[int, Meta(ge=-(2**40), le=2**40)] = 0


class Iota(_Data, frozen=True):
    """Element i holds start + step * (i mod modulo)."""

    modulo: Annotated[int, Meta(ge=1, le=2**40)] | None = None
    start: Annotated[int, Meta(ge=-(2**53), le=2**53)] = 0
    step: Annotated[int, Meta(ge=-(2**20), le=2**20)] = 1


class Random(_Data, frozen=True):
    """Elements are uniform from low to high: integers both included, floats rounded to the type."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    low: int | float
    high: int | float

    def __post_init__(self) -> None:
        for bound in (self.low, self.high):
            if not abs(bound) <= sys.float_info.max / 2:
                raise ValueError(f"{bound} is not a finite number, or too large")
        if not self.low <= self.high:
            raise ValueError(f"low is {self.low}, high is {self.high}: give a low that is not above high")


class FilePart(_Data, frozen=True):
    """A part of a file: `count` elements, or all, behind `offset` bytes."""

    path: str
    offset: Offset = 0
    count: Count | None = None


class Source(_Data, frozen=True):
    """Where elements come from. `type` beside a file reads its bytes as that type, `shape` gives it that shape."""

    file: str | FilePart | None = None
    type: ElementType | None = None
    shape: Shape | None = None
    fill: Number | None = None
    values: Annotated[tuple[Number, ...], Meta(min_length=1)] | None = None
    iota: Iota | None = None
    random: Random | None = None

    def sources(self) -> tuple[str, ...]:
        """The fields that say where elements come from."""
        return ("file", "fill", "values", "iota", "random")

    def __post_init__(self) -> None:
        names = self.sources()
        fields = [f for f in names if getattr(self, f) is not None]
        if len(fields) != 1:
            listed = " and ".join(fields) or "none"
            raise ValueError(f"give exactly one of {', '.join(names[:-1])} and {names[-1]}; got {listed}")


#: Values by the names of members, as deep as the module's types: mappings and lists.
Members: TypeAlias = dict[Any, Any] | list[Any]


class _MemberSource(Source, frozen=True):
    members: Members | None = None

    def sources(self) -> tuple[str, ...]:
        return (*super().sources(), "members")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members is not None and self.type is not None:
            raise ValueError("members have the types that the module declares: leave out `type`")
        if self.members is not None and self.shape is not None and len(self.shape) != 1:
            raise ValueError("the shape beside members is the length of the runtime array: one number in a list")


class Buffer(_MemberSource, frozen=True):
    """Initial contents of a buffer; `addresses` are written over them.

    Or a matrix in an optimal `layout`, which only conversions fill and read: as much memory as the driver says that
    rows x cols elements of `component` take, behind `offset` bytes; zeros first where `zero`. Or one `within` the
    memory of another, which alone is bound.
    """

    addresses: tuple[Address, ...] = ()
    layout: Literal["InferencingOptimal", "TrainingOptimal"] | None = None
    component: ElementType | None = None
    rows: Extent | None = None
    cols: Extent | None = None
    offset: Offset = 0
    zero: bool = False
    within: str | None = None

    def __post_init__(self) -> None:
        of_matrix = [f for f in ("layout", "component", "rows", "cols") if getattr(self, f) is not None]
        if not of_matrix:
            if self.zero or self.offset or self.within:
                raise ValueError("zero, offset and within are for matrices: add layout, component, rows and cols")
            super().__post_init__()
        elif len(of_matrix) < 4:
            raise ValueError(f"a matrix has layout, component, rows and cols; got {' and '.join(of_matrix)}")
        elif fields := [f for f in (*self.sources(), "type", "shape", "addresses") if getattr(self, f)]:
            raise ValueError(f"a matrix in an optimal layout has no {fields[0]}: a conversion fills it")


#: One tolerance for all elements, or one for each: an array that the buffer's shape broadcasts.
Tolerance: TypeAlias = Annotated[float, Meta(ge=0)] | Source


class Expected(_MemberSource, frozen=True):
    """The contents of a buffer after the run: equal within atol + rtol * |expected| + ulp * the step there.

    With `magnitudes`, these replace |expected|. `python` is FILE.py:FUNCTION. The function gets the buffers' contents
    before the run, as arrays by name, and returns the contents that this buffer must have.
    """

    python: str | None = None

    atol: Tolerance = 0.0
    rtol: Tolerance = 0.0
    ulp: Tolerance = 0.0
    magnitudes: Source | None = None

    def sources(self) -> tuple[str, ...]:
        return (*super().sources(), "python")


class PushValue(_Data, frozen=True):
    """A number among the push constants, at the next multiple of its size."""

    type: ElementType
    value: Number


class PushConstants(_Data, frozen=True):
    """Push constants: `bytes` in memory order as "0x...", `values`, or `members` by name.

    `addresses` are written over them.
    """

    bytes: Annotated[str, Meta(pattern="^0x([0-9a-fA-F]{2})*$")] | None = None
    values: tuple[PushValue, ...] | None = None
    members: Members | None = None
    addresses: tuple[Address, ...] = ()

    def __post_init__(self) -> None:
        fields = [name for name in ("bytes", "values", "members") if getattr(self, name) is not None]
        if len(fields) > 1:
            raise ValueError(f"give one of bytes, values and members; got {' and '.join(fields)}")


class Side(_Data, frozen=True):
    """A matrix of a conversion: in buffer `of` at byte `offset`, `stride` bytes between its rows or columns.

    If the buffer is a matrix in an optimal layout, `of` is enough. In another buffer the matrix has the buffer's type,
    row-major order and no gaps, unless the other fields differ. In an optimal layout the matrix takes as many bytes of
    the buffer as the driver says, and the buffer is not compared.
    """

    of: str
    component: ElementType | None = None
    layout: Literal["RowMajor", "ColumnMajor", "InferencingOptimal", "TrainingOptimal"] | None = None
    offset: Offset = 0
    stride: Annotated[int, Meta(ge=1, le=2**40)] | None = None


class Conversion(_Data, frozen=True):
    """A conversion of a matrix before the dispatch, or after it, in the order of the file.

    The device's command converts, or with `host` the host's. `rows` and `cols` default to the size of the side that is
    in an optimal layout.
    """

    source: str | Side
    destination: str | Side
    rows: Extent | None = None
    cols: Extent | None = None
    after: bool = False
    host: bool = False


class Settings(_Data, frozen=True):
    """A dispatch of one SPIR-V compute module, `times` times one after the other. Paths are relative to the file.

    `entry` may be left out where there is one GLCompute entry point. `subgroup_size` requires a size;
    without it a driver runs at its own, the interpreter at 32; `full_subgroups` requires that none is smaller.
    `spec_constants` are by SpecId or by the name that the module has for one.
    `robust`: accesses outside a buffer are harmless; `robust2`: they read zeros and write nothing, those of matrices,
    too. `timeout`: seconds that a device may take.
    `bindings` maps "set.binding", or "set.binding[index]" of an array of descriptors, to buffers; whether a
    descriptor is a storage or a uniform buffer, the module says. `outputs` are compared between drivers and
    written; `ignore` is not compared; every other buffer must come back unchanged.
    """

    module: str
    dispatch: tuple[Count, Count, Count]
    buffers: dict[str, Buffer]
    times: Annotated[int, Meta(ge=1, le=64)] = 1
    entry: str | None = None
    subgroup_size: Literal[1, 2, 4, 8, 16, 32, 64, 128] | None = None
    full_subgroups: bool = False
    robust: bool = False
    robust2: bool = False
    timeout: Annotated[float, Meta(gt=0, le=86400)] | None = None
    spec_constants: dict[Annotated[int, Meta(ge=0, le=2**32 - 1)] | str, Number] = msgspec.field(default_factory=dict)
    push_constants: PushConstants | None = None
    bindings: dict[str, str] = msgspec.field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    expected: dict[str, Expected] = msgspec.field(default_factory=dict)
    conversions: tuple[Conversion, ...] = ()


def _overriding(kind: Any) -> Any:
    """The type of a field that may be left out; entries of a mapping may be null, which drops those of the base."""
    if get_origin(kind) is dict:
        key, value = get_args(kind)
        kind = dict.__class_getitem__((key, value | None))
    return kind | msgspec.UnsetType


if TYPE_CHECKING:

    class Case(Settings, frozen=True):
        """What one case has of its own: any fields of the file."""

else:
    Case = msgspec.defstruct(
        "Case",
        [
            (name, _overriding(kind), msgspec.UNSET)
            for name, kind in get_type_hints(Settings, include_extras=True).items()
            if name in Settings.__struct_fields__
        ],
        bases=(_Data,),
        frozen=True,
        module=__name__,
    )
    Case.__doc__ = "What one case has of its own: any fields of the file, which replace those of the file."


class DispatchFile(Settings, frozen=True):
    """A dispatch file: one dispatch, or several that share it as their base."""

    cases: Annotated[dict[str, Case | None], Meta(min_length=1)] | None = None


def schema() -> dict[str, Any]:
    """The JSON schema of a dispatch file. What must be there may be in every case instead."""
    document = msgspec.json.schema(DispatchFile)
    file = document["$defs"][DispatchFile.__name__]
    file["anyOf"] = [{"required": file.pop("required")}, {"required": ["cases"]}]
    return document


_BINDING = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\[(\d{1,9})\])?")


def binding_of(text: str) -> tuple[int, int, int | None]:
    """Set, binding and index of a key of `bindings`. Raises ValueError."""
    match = _BINDING.fullmatch(text)
    if match is None:
        raise ValueError(f'{text!r} is no binding: "set.binding" or, in an array of descriptors, "set.binding[index]"')
    return int(match[1]), int(match[2]), None if match[3] is None else int(match[3])
