"""What can be chosen in `emulator:KEY=VALUE,...`: legal variants and mutants."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cts.driver import Described
from cts.drivers.emulator.mutants import catalogue
from cts.drivers.emulator.mutants import matrices as m
from cts.errors import BadInput, did_you_mean

SUBGROUP_SIZES = (1, 4, 8, 16, 32, 64, 128)

#: Rows and columns of a tile; 0 is the whole matrix.
TILES = {"4x4": (4, 4), "8x8": (8, 8), "16x8": (16, 8), "row": (1, 0), "col": (0, 1)}

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

DENORMALS = {
    "keep": "denormals are kept",
    "flush": "denormals become zero",
}

ZEROS = {
    "ieee": "arithmetic gives zeros the sign of IEEE 754",
    "positive": "arithmetic gives positive zeros",
    "negative": "arithmetic gives negative zeros",
}

CONTRACT = {
    "off": "every result is rounded to its type",
    "on": "roundings between operations are left out where the case allows it",
}

FMA = {
    "fused": "Fma of vectors rounds once",
    "separate": "Fma of vectors rounds its product, then the sum",
}

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

#: Options with values by name: (area, values).
CHOICES = {
    "order": (AREA, ORDERS),
    "stores": (AREA, STORES),
    "accumulate": ("matrix_arithmetic", ACCUMULATE),
    "precision": ("matrix_arithmetic", PRECISION),
    "reduce": ("reductions", REDUCE),
    "arguments": ("reductions", ARGUMENTS),
    "both": ("reductions", BOTH),
    "decode": ("block_loads", DECODE),
    "rounding": ("conversions", ROUNDING),
    "denormals": ("conversions", DENORMALS),
    "zeros": ("matrix_arithmetic", ZEROS),
    "contract": ("matrix_programs", CONTRACT),
    "fma": ("vector_arithmetic", FMA),
    "fp8_input": ("vector_multiply", FP8_INPUT),
    "opaque": ("vector_conversions", OPAQUE),
    "gaps": ("vector_conversions", GAPS),
    "atomics": ("vector_training", ATOMICS),
    "robust": ("matrix_memory", ROBUST),
}


@dataclass(frozen=True)
class Options:
    """A parsed spec string. `tile` is (rows, columns), 0 for the whole matrix; `mutant` is 0 for none."""

    subgroup_size: int = 32
    tile: tuple[int, int] = TILES["8x8"]
    order: str = "forward"
    stores: str = "forward"
    accumulate: str = "forward"
    precision: str = "exact"
    reduce: str = "pairwise"
    arguments: str = "forward"
    both: str = "rows"
    decode: str = "vector"
    rounding: str = "rne"
    denormals: str = "keep"
    zeros: str = "ieee"
    contract: str = "off"
    fma: str = "fused"
    fp8_input: str = "rounded"
    opaque: str = "tiles"
    gaps: str = "kept"
    atomics: str = "forward"
    robust: str = "element"
    mutant: int = m.NONE


def variants() -> list[Described]:
    """Every legal choice, named by its option text. All of them must pass, alone and combined."""
    tiles = {"row": "one row", "col": "one column"}
    return [
        *(Described(f"subgroup_size={n}", AREA, f"subgroups of {n} invocations") for n in SUBGROUP_SIZES),
        *(Described(f"tile={t}", AREA, f"matrices in tiles of {tiles.get(t, t)}") for t in TILES),
        *(
            Described(f"{key}={name}", area, text)
            for key, (area, values) in CHOICES.items()
            for name, text in values.items()
        ),
    ]


def parse(given: dict[str, str]) -> Options:
    """Options from the `key=value` pairs of a spec string. Raises BadInput for an unknown key or value."""
    known = {
        "subgroup_size": [str(n) for n in SUBGROUP_SIZES],
        "tile": list(TILES),
        **{key: list(values) for key, (_, values) in CHOICES.items()},
        "mutant": [d.name for d in catalogue.mutants()],
    }
    for key, value in given.items():
        if key == "":
            raise BadInput(
                "driver-option",
                f"the emulator takes options as KEY=VALUE, not {value!r}",
                "emulator",
                _keys(value, known),
            )
        if key not in known:
            raise BadInput(
                "driver-option", f"the emulator has no option {key!r}", "emulator", _nearest(key, list(known))
            )
        if value not in known[key]:
            raise BadInput(
                "driver-option", f"{key} cannot be {value!r}", f"emulator:{key}={value}", _nearest(value, known[key])
            )
    defaults = Options()
    return replace(
        defaults,
        subgroup_size=int(given.get("subgroup_size", defaults.subgroup_size)),
        tile=TILES[given["tile"]] if "tile" in given else defaults.tile,
        mutant=catalogue.number_of(given["mutant"]) if "mutant" in given else m.NONE,
        **{key: value for key, value in given.items() if key in CHOICES},
    )


def _keys(value: str, known: dict[str, list[str]]) -> str:
    """The option that has such a value, or all options."""
    owners = [key for key, values in known.items() if value in values]
    return f"did you mean '{owners[0]}={value}'?" if owners else f"options: {', '.join(known)}"


def _nearest(word: str, known: list[str]) -> str:
    many = f"one of the {len(known)} in `cts drivers --json -`" if len(known) >= 12 else ""
    return did_you_mean(word, known, many)
