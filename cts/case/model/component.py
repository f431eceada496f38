"""Component types: names, widths, NumPy dtypes, and numbers to bit patterns."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from cts.case.model.feature import Feature

Bits: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]

BITS_DTYPES: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


@dataclass(frozen=True)
class FloatFormat:
    """A binary float format: sign, exponent, fraction.

    Where there are no `infinities`, the greatest exponent is that of numbers as well, but for the pattern
    of all ones, which is NaN (NU-030).
    """

    exponent_bits: int
    fraction_bits: int
    infinities: bool = True

    @property
    def precision(self) -> int:
        """Bits of the significand, with the hidden one."""
        return self.fraction_bits + 1

    @property
    def unit(self) -> float:
        """The relative error of one rounding to either neighbour, 2^(1 - precision)."""
        return float(2.0**-self.fraction_bits)

    @cached_property
    def least_exponent(self) -> int:
        """The exponent of the least normal number."""
        return 2 - (1 << (self.exponent_bits - 1))

    @cached_property
    def least(self) -> float:
        """The least normal number."""
        return 2.0**self.least_exponent

    @cached_property
    def greatest(self) -> float:
        """The greatest finite number."""
        exponent = 1 - self.least_exponent
        if self.infinities:
            return float((2 - 2.0**-self.fraction_bits) * 2.0**exponent)
        return float((2 - 2.0 ** (1 - self.fraction_bits)) * 2.0 ** (exponent + 1))

    @cached_property
    def beyond(self) -> float:
        """The first number past the greatest, did the format go on: from there on nothing is in range (AM-29)."""
        _, exponent = math.frexp(self.greatest)
        return self.greatest + 2.0 ** (exponent - self.precision)

    @cached_property
    def last(self) -> int:
        """The bit pattern of the last number before the NaNs, which is infinity where there is one."""
        top = 1 << (self.exponent_bits + self.fraction_bits)
        return top - (1 << self.fraction_bits) if self.infinities else top - 2


class GlslType(NamedTuple):
    """A type in GLSL. `vector` is what the size of a vector is appended to.

    `extensions` are needed to compute with it. `cast` are the built-in functions that make it of an integer's bits,
    `bits` those that make an integer of its bits, each for signed and unsigned.
    """

    name: str
    vector: str
    extensions: tuple[str, ...] = ()
    cast: tuple[str, str] = ("", "")
    bits: tuple[str, str] = ("", "")


class AtomicAdd(NamedTuple):
    """What adding atomically to numbers of a type needs: of a device, a module, and GLSL (CV-042)."""

    features: frozenset[Feature] = frozenset()
    capability: str = ""
    extension: str = ""


@dataclass(frozen=True)
class ComponentDescriptor:
    """Facts about a component type beside its name.

    `number` is its VkComponentTypeKHR (VK-007), which is SPIR-V's ComponentType of the name `spirv` (CV-002),
    "" if SPIR-V has no name. `encoding` is the FPEncoding that OpTypeFloat names. The capabilities of a module
    are `declares` for the type itself, `computes` for values of it outside memory, `matrices` for matrices of
    it (KM-001); `features` are those of Vulkan for all of it, without the 8- and 16-bit storage (VK-011).
    `fact` defines its numbers, if IEEE 754 does not. `atomic_add` is None if nothing adds to it atomically.
    `simplicity` is its place among the types that a failing case is reduced to, None if it is not reduced to this one.
    `drawn` is its place among the types of matrices that generators draw, `computed` among those that vectors compute
    with, None if they do not: simple ones come first. `trains` is the feature that adds up gradients in it (CV-037).
    """

    number: int
    spirv: str
    glsl: GlslType
    format: FloatFormat | None = None
    encoding: str = ""
    declares: tuple[str, ...] = ()
    computes: tuple[str, ...] = ()
    matrices: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    fact: str = ""
    atomic_add: AtomicAdd | None = None
    simplicity: int | None = None
    drawn: int = 0
    computed: int | None = None
    trains: Feature | None = None


_EXPLICIT = "GL_EXT_shader_explicit_arithmetic_types"


def _float8(
    number: int, spirv: str, glsl: str, encoding: str, float_format: FloatFormat, fact: str, drawn: int
) -> ComponentDescriptor:
    name = f"float{glsl}"
    title = name.capitalize()
    return ComponentDescriptor(
        number,
        spirv,
        GlslType(
            f"{name}_t",
            f"f{glsl}vec",
            (f"GL_EXT_float_{glsl}", _EXPLICIT),
            (f"intBitsTo{title}EXT", f"uintBitsTo{title}EXT"),
            (f"{name}BitsToIntEXT", f"{name}BitsToUintEXT"),
        ),
        float_format,
        encoding,
        declares=("Float8EXT",),
        matrices=("Float8CooperativeMatrixEXT",),
        features=("shaderFloat8", "shaderFloat8CooperativeMatrix"),
        fact=fact,
        drawn=drawn,
    )


def _integer(
    number: int, spirv: str, width: int, *, drawn: int, computed: int, simplicity: int | None = None
) -> ComponentDescriptor:
    letter = "" if spirv.startswith("Signed") else "u"
    glsl = GlslType(f"{letter}int{width}_t", f"{letter or 'i'}{width}vec", (_EXPLICIT,))
    if width == 32:
        glsl = GlslType(f"{letter}int", f"{letter or 'i'}vec")
    return ComponentDescriptor(
        number,
        spirv,
        glsl,
        computes=(f"Int{width}",) if width < 32 else (),
        features=(f"shaderInt{width}",) if width < 32 else (),
        atomic_add=AtomicAdd() if width == 32 else None,
        simplicity=simplicity,
        drawn=drawn,
        computed=computed,
    )


class ComponentType(enum.Enum):
    """A scalar type of matrix components and buffer elements, by its NumPy/ml_dtypes name."""

    float16 = "float16"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float8_e4m3fn = "float8_e4m3fn"
    float8_e5m2 = "float8_e5m2"
    int8 = "int8"
    uint8 = "uint8"
    int16 = "int16"
    uint16 = "uint16"
    int32 = "int32"
    uint32 = "uint32"

    @cached_property
    def descriptor(self) -> ComponentDescriptor:
        """What is to be known of the type, beside what its name says."""
        return _DESCRIPTORS[self]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of values of this type."""
        return _DTYPES[self]

    @cached_property
    def bits_dtype(self) -> np.dtype[Any]:
        """The unsigned integer dtype of the same width, which holds bit patterns."""
        return BITS_DTYPES[self.dtype.itemsize]

    @cached_property
    def size(self) -> int:
        """Bytes of one component."""
        return self.dtype.itemsize

    @cached_property
    def is_float(self) -> bool:
        return "float" in self.value

    @cached_property
    def is_signed(self) -> bool:
        """True for the signed integer types only."""
        return self.value.startswith("int")

    @cached_property
    def is_float8(self) -> bool:
        """True for floats of one byte."""
        return self.is_float and self.size == 1

    @cached_property
    def storage_only(self) -> bool:
        """Whether the type has no arithmetic: it is converted, moved, selected and multiplied as matrices (NU-034)."""
        return bool(self.descriptor.encoding)

    @cached_property
    def is_ieee(self) -> bool:
        """True for the floats that have arithmetic, whose formats are IEEE 754's: float16 and float32."""
        return self.is_float and not self.storage_only

    @cached_property
    def in_rows(self) -> ComponentType:
        """The type of rows and columns that conversions make optimal layouts of (VK-054), and these of (VK-051)."""
        return ComponentType.float16 if self.is_float8 else self

    @cached_property
    def format(self) -> FloatFormat:
        """The format of a float type."""
        assert self.descriptor.format is not None, f"{self.value} is no float type"
        return self.descriptor.format


_DESCRIPTORS = {
    ComponentType.float16: ComponentDescriptor(
        0,
        "Float16NV",
        GlslType(
            "float16_t",
            "f16vec",
            (_EXPLICIT,),
            ("int16BitsToFloat16", "uint16BitsToFloat16"),
            ("float16BitsToInt16", "float16BitsToUint16"),
        ),
        FloatFormat(5, 10),
        computes=("Float16",),
        features=("shaderFloat16",),
        atomic_add=AtomicAdd(
            frozenset({Feature.ATOMIC_FLOAT16_ADD}), "AtomicFloat16AddEXT", "GL_EXT_shader_atomic_float2"
        ),
        simplicity=3,
        drawn=6,
        computed=3,
        trains=Feature.TRAINING_FLOAT16,
    ),
    ComponentType.float32: ComponentDescriptor(
        1,
        "Float32NV",
        GlslType("float", "vec", (), ("intBitsToFloat", "uintBitsToFloat"), ("floatBitsToInt", "floatBitsToUint")),
        FloatFormat(8, 23),
        atomic_add=AtomicAdd(
            frozenset({Feature.ATOMIC_FLOAT32_ADD}), "AtomicFloat32AddEXT", "GL_EXT_shader_atomic_float"
        ),
        simplicity=0,
        drawn=7,
        computed=1,
        trains=Feature.TRAINING_FLOAT32,
    ),
    ComponentType.bfloat16: ComponentDescriptor(
        1000141000,
        "",
        GlslType(
            "bfloat16_t",
            "bf16vec",
            ("GL_EXT_bfloat16", _EXPLICIT),
            ("intBitsToBFloat16EXT", "uintBitsToBFloat16EXT"),
            ("bfloat16BitsToIntEXT", "bfloat16BitsToUintEXT"),
        ),
        FloatFormat(8, 7),
        "BFloat16KHR",
        declares=("BFloat16TypeKHR",),
        matrices=("BFloat16CooperativeMatrixKHR",),
        features=("shaderBFloat16Type", "shaderBFloat16CooperativeMatrix"),
        fact="NU-032",
        drawn=8,
    ),
    ComponentType.float8_e4m3fn: _float8(
        1000491002, "FloatE4M3NV", "e4m3", "Float8E4M3EXT", FloatFormat(4, 3, infinities=False), "NU-030", drawn=9
    ),
    ComponentType.float8_e5m2: _float8(
        1000491003, "FloatE5M2NV", "e5m2", "Float8E5M2EXT", FloatFormat(5, 2), "NU-031", drawn=10
    ),
    ComponentType.int8: _integer(3, "SignedInt8NV", 8, simplicity=5, drawn=3, computed=4),
    ComponentType.uint8: _integer(7, "UnsignedInt8NV", 8, simplicity=4, drawn=1, computed=5),
    ComponentType.int16: _integer(4, "SignedInt16NV", 16, drawn=4, computed=6),
    ComponentType.uint16: _integer(8, "UnsignedInt16NV", 16, drawn=0, computed=7),
    ComponentType.int32: _integer(5, "SignedInt32NV", 32, simplicity=2, drawn=5, computed=0),
    ComponentType.uint32: _integer(9, "UnsignedInt32NV", 32, simplicity=1, drawn=2, computed=2),
}

_DTYPES: dict[ComponentType, np.dtype[Any]] = {
    t: np.dtype(getattr(ml_dtypes, t.value, None) or getattr(np, t.value)) for t in ComponentType
}

#: A component value in a case: a number that the type represents exactly, or its bits as "0x..."; JSON, which has no
#: NaN and no infinity, gives these as texts.
Number: TypeAlias = int | float | Annotated[str, Meta(pattern="^(0x[0-9a-fA-F]+|nan|-?inf)$")]

#: How JSON and YAML texts call the numbers that JSON does not have.
_WORDS = ("nan", "inf", "-inf")

_HEX = re.compile(r"^0x[0-9a-fA-F]+$")


def encode(component: ComponentType, numbers: Sequence[Number] | npt.NDArray[Any]) -> Bits:
    """Bit patterns of `numbers` in `component`, 1-D, dtype `component.bits_dtype`.

    Raises ValueError where a number is not exactly representable: a case never rounds silently.

    >>> [hex(b) for b in encode(ComponentType.float16, [1, -2.5, "0x7e00"])]
    ['0x3c00', '0xc100', '0x7e00']
    """
    if isinstance(numbers, np.ndarray):
        return _encode_array(component, numbers)
    out = np.empty(len(numbers), component.bits_dtype)
    numbers = [float(n) if isinstance(n, str) and n in _WORDS else n for n in numbers]
    plain = [n for n in numbers if not isinstance(n, str)]
    encoded = iter(_encode_array(component, np.array(plain, dtype=object)))
    for i, n in enumerate(numbers):
        if isinstance(n, str):
            bits = int(n, 16) if _HEX.match(n) else -1
            if not 0 <= bits < 1 << (8 * component.size):
                raise ValueError(f"{n!r} is not a bit pattern of {component.size * 8} bits")
            out[i] = bits
        else:
            out[i] = next(encoded)
    return out


def _encode_array(component: ComponentType, numbers: npt.NDArray[Any]) -> Bits:
    if component.is_float:
        try:
            wide = numbers.astype(np.float64)
        except OverflowError as e:
            raise ValueError(f"a number is too large for {component.value}") from e
        wide[np.isnan(wide)] = np.nan  # what YAML calls .nan has another sign on each platform
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = wide.astype(component.dtype)
        wrong = (narrow.astype(np.float64) != wide) & ~np.isnan(wide)
    else:
        info = np.iinfo(component.dtype)
        low, high = int(info.min), int(info.max)
        if numbers.dtype.kind in "iu":
            wrong = (numbers < low) | (numbers > high)
        else:
            wrong = np.array([n != int(n) or not low <= n <= high for n in numbers.flat], bool)
        narrow = np.where(wrong, 0, numbers).astype(np.int64).astype(component.dtype)
    if wrong.any():
        bad = numbers.flat[int(np.argmax(wrong))]
        raise ValueError(f"{bad} is not exactly representable as {component.value}")
    return narrow.view(component.bits_dtype).reshape(-1)


def decode(component: ComponentType, bits: Bits) -> npt.NDArray[Any]:
    """The values behind bit patterns: dtype `component.dtype`, same shape."""
    return np.ascontiguousarray(bits, component.bits_dtype).view(component.dtype)
