"""Profiles of devices: what they list, for drivers that could do everything, so that generators draw for them.

Those of Mesa's drivers are their lists of 26.2.6, opened without devices (docs/vendors.md); those of no vendor are
restrictions that no listed device has alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cts.base.errors import BadInput

#: A product: M, N and K, and the component types of A, B and result, and of C if it has another one.
Row = tuple[tuple[int, int, int], str, str, str] | tuple[tuple[int, int, int], str, str, str, str]

#: The features of VK_EXT_shader_ocp_microscaling_types.
MICROSCALING = ("FLOAT4", "FLOAT6", "FLOAT8_UNSIGNED_E8M0", "MXINT8")

#: What VK_NV_cooperative_matrix2 grants, and extensions beside it; a profile names what it has of them.
OPTIONAL = (
    "TENSOR_ADDRESSING",
    "BLOCK_LOADS",
    "DECODE_VECTOR",
    "ARM_LAYOUTS",
    "ARRAY_CONVERSIONS",
    *MICROSCALING,
    "WORKGROUP_SCOPE",
    "ROBUST_MATRIX_ACCESS",
    "REDUCTIONS",
    "CONVERSIONS",
    "PER_ELEMENT",
    "TRANSPOSES",
    "CONVERSIONS_EXT",
    "GET_COORDINATE",
)
MAINTENANCE1 = frozenset({"REDUCTIONS", "CONVERSIONS", "PER_ELEMENT", "CONVERSIONS_EXT", "GET_COORDINATE"})
VECTORS = ("COOPERATIVE_VECTOR", "COOPERATIVE_VECTOR_TRAINING", "TRAINING_FLOAT16", "TRAINING_FLOAT32")

_INTEGERS = tuple((a, b, c) for a in ("int8", "uint8") for b in ("int8", "uint8") for c in ("int32", "uint32"))
_HALVES = (("float16", "float16", "float16"), ("float16", "float16", "float32"))
_BFLOATS = (("bfloat16", "bfloat16", "bfloat16"), ("bfloat16", "bfloat16", "float32"))
#: Bytes of one sign, and their sums of the same.
_BYTES = (("int8", "int8", "int32"), ("uint8", "uint8", "uint32"))
_FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
_OF_GFX12 = (
    *_INTEGERS,
    *_HALVES,
    *_BFLOATS,
    *((a, b, "float32") for a in _FLOAT8 for b in _FLOAT8),
)


def _each(sizes: tuple[int, int, int], products: Iterable[tuple[str, str, str]]) -> tuple[Row, ...]:
    return tuple((sizes, *product) for product in products)


@dataclass(frozen=True)
class Vendor:
    """A profile. `rows` are the products that it lists, `granular` whether their sizes may be multiples.

    `optional` are the features of `OPTIONAL` that it has, by their names in `Feature`. `tile` is how the emulator
    deals a matrix out. Without `rows` it lists what the driver does, of any size, and with `only_integers` of integers
    alone. Without a `longest_vector` there are no cooperative vectors.
    """

    meaning: str
    subgroup_size: int
    rows: tuple[Row, ...] = ()
    granular: bool = False
    optional: frozenset[str] = frozenset()
    tile: str = "8x8"
    only_integers: bool = False
    longest_vector: int = 0


VENDORS: dict[str, Vendor] = {
    "radv-gfx11": Vendor(
        "RADV on RDNA 3: waves of 64, 16x16x16 alone, halves and bytes",
        64,
        _each((16, 16, 16), (*_INTEGERS, *_HALVES)),
        tile="row",
    ),
    "radv-gfx12": Vendor(
        "RADV on RDNA 4: bfloat16 and float8 too, and maintenance1",
        64,
        _each((16, 16, 16), _OF_GFX12),
        optional=MAINTENANCE1,
    ),
    "radv-wave32": Vendor("RADV on RDNA 4 with waves of 32", 32, _each((16, 16, 16), _OF_GFX12), tile="col"),
    "nvk": Vendor(
        "NVK on Ada: six sizes of products, one of them 8x8x16, and no feature beside",
        32,
        (
            *(row for sizes in ((16, 16, 16), (16, 8, 16), (16, 8, 8)) for row in _each(sizes, _HALVES)),
            *(
                row
                for sizes in ((16, 16, 32), (16, 8, 32), (16, 8, 16), (8, 8, 16))
                for row in _each(sizes, (("uint8", "uint8", "uint32"), ("int8", "int8", "int32")))
            ),
        ),
    ),
    "intel-16": Vendor(
        "ANV on Xe2 and Xe3: 8x16x16, bytes 8x16x32 of one sign, and per-element operations",
        32,
        (*_each((8, 16, 16), (*_HALVES, *_BFLOATS)), *_each((8, 16, 32), _BYTES)),
        optional=frozenset({"PER_ELEMENT"}),
        tile="col",
    ),
    "intel-8": Vendor(
        "ANV on Xe-HPG: 8x8x16, bytes 8x8x32 of one sign, and per-element operations",
        32,
        (*_each((8, 8, 16), (_HALVES[1], _BFLOATS[1])), *_each((8, 8, 32), _BYTES)),
        optional=frozenset({"PER_ELEMENT"}),
        tile="row",
    ),
    "maintenance1": Vendor(
        "of matrices maintenance1 alone, with products of 16x16x16 and 16x16x32",
        32,
        (*_each((16, 16, 16), _HALVES), *_each((16, 16, 32), _INTEGERS)),
        optional=MAINTENANCE1,
    ),
    "integers": Vendor(
        "integers alone, of any size, in subgroups of 16",
        16,
        optional=frozenset({"REDUCTIONS", "CONVERSIONS", "PER_ELEMENT", "TRANSPOSES"}),
        only_integers=True,
    ),
    "bfloat16": Vendor(
        "products of bfloat16 alone, with tensor addressing",
        64,
        _each((16, 16, 16), (("bfloat16", "bfloat16", "float32"),)),
        granular=True,
        optional=frozenset(
            {"TENSOR_ADDRESSING", "BLOCK_LOADS", "REDUCTIONS", "CONVERSIONS", "PER_ELEMENT", "TRANSPOSES"}
        ),
        tile="col",
    ),
    "apart": Vendor(
        "products of 16x16x16 whose C and results have types of their own, beside usual ones",
        32,
        (
            *_each((16, 16, 16), (*_HALVES, *_INTEGERS)),
            ((16, 16, 16), "float16", "float16", "float32", "float16"),
            ((16, 16, 16), "float16", "float16", "float16", "float32"),
            ((16, 16, 16), "int8", "int8", "int32", "uint32"),
            ((16, 16, 16), "uint8", "uint8", "uint32", "int32"),
            ((16, 16, 16), "int8", "int8", "int32", "int16"),
        ),
        tile="row",
    ),
    "arrays": Vendor(
        "arrays of invocations become lines of matrices, as VK_QCOM_cooperative_matrix_conversion says",
        32,
        (
            *_each((16, 32, 16), _HALVES),
            *_each((32, 16, 16), _HALVES[:1]),
            *((sizes, "float32", "float32", "float32") for sizes in ((16, 32, 8), (32, 16, 8))),
            *_each((32, 32, 32), _BYTES),
            ((16, 16, 32), "int8", "int8", "int32"),
        ),
        optional=frozenset({"ARRAY_CONVERSIONS"}),
        tile="row",
    ),
    "microscaling": Vendor(
        "products of halves, bfloat16 and bytes, and all types of VK_EXT_shader_ocp_microscaling_types",
        32,
        (*_each((16, 16, 16), (*_HALVES, *_BFLOATS)), *_each((16, 16, 32), _BYTES)),
        granular=True,
        optional=frozenset(
            {"TENSOR_ADDRESSING", "BLOCK_LOADS", "DECODE_VECTOR", "PER_ELEMENT", "CONVERSIONS", *MICROSCALING}
        ),
        tile="col",
    ),
    "mxfp4": Vendor(
        "FP4 and its scales alone of microscaling types, in per-element operations, and maintenance1",
        16,
        _each((16, 16, 16), _HALVES),
        optional=MAINTENANCE1 | {"FLOAT4", "FLOAT8_UNSIGNED_E8M0"},
        tile="row",
    ),
    "newest": Vendor(
        "Arm's layouts, Qualcomm's arrays, microscaling types, and C and results with types of their own",
        32,
        (
            *_each((16, 32, 16), _HALVES),
            *((sizes, "float32", "float32", "float32") for sizes in ((16, 32, 8), (32, 16, 8))),
            *_each((32, 32, 32), _BYTES),
            ((16, 32, 16), "float16", "float16", "float32", "float16"),
            ((32, 32, 32), "int8", "int8", "int32", "uint32"),
        ),
        optional=MAINTENANCE1
        | {"TENSOR_ADDRESSING", "BLOCK_LOADS", "DECODE_VECTOR", "ARM_LAYOUTS", "ARRAY_CONVERSIONS", *MICROSCALING},
        tile="row",
    ),
    "vectors-of-4": Vendor(
        "cooperative vectors of at most 4, and matrices of halves", 32, _each((16, 16, 16), _HALVES), longest_vector=4
    ),
}


def meanings() -> dict[str, str]:
    """The profiles by name, for options."""
    return {name: vendor.meaning for name, vendor in VENDORS.items()}


def refuse_beside(options: Mapping[str, str], *names: str) -> None:
    """Raise BadInput where options of a driver name a profile and what that decides, too."""
    both = [name for name in names if name in options and options.get("vendor")]
    if both:
        what = f"vendor={options['vendor']} decides {both[0]} itself"
        raise BadInput("driver-option", what, remedy=f"one of both, vendor or {both[0]}")
