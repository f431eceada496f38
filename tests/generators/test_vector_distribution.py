"""What the areas of cooperative vectors must produce often enough that bugs are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from generator_samples import sample
from vector_situations import situations

from cts.capabilities import everything
from cts.model import MatrixLayout, VectorConversion, VectorOperation

EXAMPLES = 1500

#: Area -> situation -> least number of `EXAMPLES`.
PROMISED: dict[str, dict[str, int]] = {
    "vector_arithmetic": {
        **{o.value: 1 for o in VectorOperation},
        **{f"{c.value}": 3 for c in VectorConversion},
        **dict.fromkeys(("length 1", "length odd", "length 31", "length 65", "length 128", "length above 128"), 15),
        **dict.fromkeys(("StorageBuffer", "PhysicalStorageBuffer", "Workgroup"), 75),
        **dict.fromkeys(("count by invocation", "condition by invocation", "index by invocation"), 45),
        **dict.fromkeys(("replicated constant", "constant of several", "null constant", "scalar times vector"), 5),
        **dict.fromkeys(("construct", "insert", "bitcast", "barrier", "several workgroups"), 45),
        **dict.fromkeys(("part of a subgroup", "a subgroup and a part"), 150),
        **dict.fromkeys(("mod", "offset not 0", "elements of vectors", "another element type"), 30),
        "32 bytes": 15,
    },
    "vector_multiply": {
        **{f"{layout.value}": 90 for layout in MatrixLayout},
        **{f"row {n}": 10 for n in range(len(everything().vector_muls))},
        **dict.fromkeys(("transposed", "bias", "stride larger than the line", "several layers"), 150),
        **dict.fromkeys(("matrix offset by invocation", "bias offset by invocation", "spare packed components"), 15),
        **dict.fromkeys(("K no multiple of 8", "M no multiple of 8"), 300),
        **dict.fromkeys(("saturates", "rounds"), 30),
        **dict.fromkeys(("physical opaque", "offset opaque", "host conversion", "column-major source"), 75),
    },
    "vector_training": {
        **dict.fromkeys(("outer float16", "outer float32", "sum float16", "sum float32"), 75),
        **dict.fromkeys(("same place", "own place", "a few places"), 75),
        "overlapping places": 15,
        **dict.fromkeys(("accumulation in a loop", "accumulation under a condition"), 75),
        **dict.fromkeys(("zeroed matrix", "converted matrix"), 75),
    },
    "vector_conversions": {
        **dict.fromkeys(("to InferencingOptimal", "to TrainingOptimal", "to RowMajor", "to ColumnMajor"), 150),
        **dict.fromkeys(("host conversion", "device conversion", "after the dispatch"), 150),
        **dict.fromkeys(("one optimal layout to another", "buffer to buffer"), 30),
        **{
            f"{a} to {b}": 10
            for a, b in (
                ("float32", "float16"),
                ("float16", "float32"),
                *((w, n) for w in ("float32", "float16") for n in ("float8_e4m3fn", "float8_e5m2")),
                *((n, w) for w in ("float32", "float16") for n in ("float8_e4m3fn", "float8_e5m2")),
                *((t, t) for t in ("float32", "float16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8")),
            )
        },
    },
}


def counted(area: str) -> Iterator[str]:
    for case in sample(EXAMPLES, None, area):
        yield from situations(case)


@pytest.mark.parametrize("area", PROMISED)
def test_every_promised_situation_occurs_often_enough(area: str) -> None:
    counts = Counter(counted(area))
    missing = {s: f"{counts[s]} of at least {n}" for s, n in PROMISED[area].items() if counts[s] < n}
    assert missing == {}
