"""What can be chosen in `emulator:KEY=VALUE,...`: legal variants and mutants."""

from __future__ import annotations

from typing import Annotated

import msgspec

from cts.device.driver import Described
from cts.device.driver_options import among, options_of
from cts.device.vendors import meanings
from cts.drivers.emulator.mutants import catalogue
from cts.drivers.emulator.mutants import matrices as m

SUBGROUP_SIZES = (1, 4, 8, 16, 32, 64, 128)

#: Rows and columns of a tile; 0 is the whole matrix.
TILES = {"4x4": (4, 4), "8x8": (8, 8), "16x8": (16, 8), "row": (1, 0), "col": (0, 1)}
_LINES = {"row": "one row", "col": "one column"}

SIZES = {str(n): f"subgroups of {n} invocations" for n in SUBGROUP_SIZES}
TILINGS = {t: f"matrices in tiles of {_LINES.get(t, t)}" for t in TILES}

ORDERS = {
    "forward": "each invocation works on its elements in the order of its registers",
    "reversed": "each invocation works on its elements last register first",
    "shuffled": "each invocation works on its elements in scrambled order",
}

STORES = {
    "forward": "invocations and scope instances take their turns in ascending order",
    "reversed": "invocations and, on stores, scope instances take their turns in descending order",
    "interleaved": "invocations run in lockstep, one element of each at a time",
}

AREA = "tensor_addressing"

ACCUMULATE = {
    "forward": "MulAdd adds to C the products in the order of K",
    "reversed": "MulAdd adds the products from the last, then C",
    "blocked": "MulAdd adds up four products at a time, and their sums to C",
    "tree": "MulAdd adds up neighbours, then pairs of pairs, then C",
}

PRECISION = {
    "exact": "MulAdd rounds once, at the end",
    "float32": "MulAdd keeps partial sums in float32",
    "result": "MulAdd keeps partial sums in the type of the result",
}

REDUCE = {
    "pairwise": "reductions combine neighbours, then pairs of pairs",
    "strided": "reductions combine elements half the extent apart, then a quarter",
    "left": "reductions fold from the first element",
    "right": "reductions fold from the last element",
}

ARGUMENTS = {
    "forward": "combine functions get the earlier element first",
    "swapped": "combine functions get the later element first",
}

BOTH = {
    "rows": "reductions of rows and columns combine each row first",
    "columns": "reductions of rows and columns combine each column first",
}

DECODE = {
    "vector": "loads call DecodeVectorFunc for every element where they have one",
    "element": "loads call DecodeFunc for every element",
    "mixed": "loads with both functions call them in turns",
    "twice": "loads call DecodeFunc twice for every element",
}

ROUNDING = {
    "rne": "what is not exact rounds to the nearest value",
    "rtz": "what is not exact rounds towards zero",
    "up": "what is not exact rounds up",
    "down": "what is not exact rounds down",
}

DENORMALS = {"keep": "denormals are kept", "flush": "denormals become zero"}

ZEROS = {
    "ieee": "arithmetic gives zeros the sign of IEEE 754",
    "positive": "arithmetic gives positive zeros",
    "negative": "arithmetic gives negative zeros",
}

CONTRACT = {
    "off": "every result is rounded to its type",
    "on": "roundings between operations are left out where the case allows it",
}

FMA = {"fused": "Fma of vectors rounds once", "separate": "Fma of vectors rounds its product, then the sum"}

FP8_INPUT = {
    "rounded": "float inputs of a multiplication with float8 interpretation are rounded to it",
    "kept": "float inputs of a multiplication with float8 interpretation stay what they are",
}

OPAQUE = {
    "tiles": "optimal layouts are tiles, padding behind each",
    "columns": "optimal layouts are columns, padding behind each",
    "swizzled": "optimal layouts are rows whose pieces of 16 bytes change places",
}

GAPS = {
    "kept": "conversions leave what lies between the lines of their destination",
    "zeroed": "conversions put zeros between the lines of their destination",
}

ATOMICS = {
    "forward": "invocations accumulate one after the other",
    "reversed": "invocations accumulate last one first",
    "shuffled": "invocations accumulate in scrambled order",
    "combined": "sums of a subgroup's invocations with one address are accumulated at once",
}

ROBUST = {
    "element": "with robustness, each element is checked alone, and loads zero outside a buffer",
    "block": "with robustness, loads are checked by 16 bytes; with robustBufferAccess they give the last element",
}


def mutant_names() -> list[str]:
    """The names of the planted bugs."""
    return [mutant.name for mutant in catalogue.mutants()]


class Options(msgspec.Struct, frozen=True):
    """What stands after `emulator:`: every value but a mutant is a legal choice, alone and with the others."""

    subgroup_size: Annotated[int, among("the size of subgroups", SIZES, area=AREA)] = 32
    tile: Annotated[str, among("the tiles of matrices", TILINGS, area=AREA)] = "8x8"
    order: Annotated[str, among("the order of an invocation's elements", ORDERS, area=AREA)] = "forward"
    stores: Annotated[str, among("who stores first", STORES, area=AREA)] = "forward"
    accumulate: Annotated[str, among("the order of a MulAdd's sums", ACCUMULATE, area="matrix_arithmetic")] = "forward"
    precision: Annotated[
        str, among("the precision of a MulAdd's partial sums", PRECISION, area="matrix_arithmetic")
    ] = "exact"
    reduce: Annotated[str, among("what reductions combine first", REDUCE, area="reductions")] = "pairwise"
    arguments: Annotated[str, among("the order of a combine function's arguments", ARGUMENTS, area="reductions")] = (
        "forward"
    )
    both: Annotated[str, among("what reductions of rows and columns combine first", BOTH, area="reductions")] = "rows"
    decode: Annotated[str, among("which decode functions loads call", DECODE, area="block_loads")] = "vector"
    rounding: Annotated[str, among("what becomes of results that are not exact", ROUNDING, area="conversions")] = "rne"
    denormals: Annotated[str, among("what becomes of denormals", DENORMALS, area="conversions")] = "keep"
    zeros: Annotated[str, among("the sign of zeros", ZEROS, area="matrix_arithmetic")] = "ieee"
    contract: Annotated[str, among("roundings between operations", CONTRACT, area="matrix_programs")] = "off"
    fma: Annotated[str, among("the roundings of a vector's Fma", FMA, area="vector_arithmetic")] = "fused"
    fp8_input: Annotated[
        str, among("float inputs of a multiplication with float8 interpretation", FP8_INPUT, area="vector_multiply")
    ] = "rounded"
    opaque: Annotated[str, among("how optimal layouts are laid out", OPAQUE, area="vector_conversions")] = "tiles"
    gaps: Annotated[str, among("what conversions leave between lines", GAPS, area="vector_conversions")] = "kept"
    atomics: Annotated[str, among("the order of accumulations", ATOMICS, area="vector_training")] = "forward"
    robust: Annotated[str, among("how accesses outside a buffer are checked", ROBUST, area="matrix_memory")] = "element"
    vendor: Annotated[str, among("list what such a device lists, with its size of subgroups and tiles", meanings())] = (
        ""
    )
    mutant: Annotated[str, among("have this planted bug", mutant_names)] = ""

    @property
    def tile_shape(self) -> tuple[int, int]:
        """Rows and columns of a tile; 0 is the whole matrix."""
        return TILES[self.tile]

    @property
    def bug(self) -> int:
        """The number of the planted bug; the number `NONE` without a planted bug."""
        return catalogue.number_of(self.mutant) if self.mutant else m.NONE


def variants() -> list[Described]:
    """Every legal choice, named by its option text. All of them must pass, alone and combined."""
    return [
        Described(f"{option.name}={value}", option.area, meaning)
        for option in options_of(Options)
        if option.area
        for value, meaning in option.values.items()
    ]
