"""Lowered modules of cooperative vectors on the interpreter, which knows nothing of cases, against NumPy."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import MatrixLayout, StorageClass, loads_case
from tests.spirv.test_executes import run, values

Values: TypeAlias = npt.NDArray[Any]
Expected: TypeAlias = Callable[[Values], Values]

#: 2 workgroups of 33 invocations, a vector of 8 for each.
LANES, LENGTH = 66, 8

CHAIN = """
schema: 1
name: x
dispatch: {{workgroups: [2, 1, 1], invocations: 33}}
buffers:
  s: {{type: {component}, shape: [{LANES}, {stride}], data: {{iota: {{modulo: 23}}}}, storage: {storage}}}
  d: {{type: {out}, shape: [{LANES}, {length}], data: {{fill: 0}}}}
program:
  - {{op: VectorLoad, id: v, type: {type}, buffer: s, offset: {{literal: 0, wg.x: {wg}, inv: {inv}}}}}
{lines}
  - {{op: VectorStore, vector: r, buffer: d, offset: {{literal: 0, wg.x: {wg_out}, inv: {inv_out}}}}}
"""


def vector(component: str, length: int | str = LENGTH) -> str:
    return f"{{component: {component}, length: {length}}}"


def chained(
    *lines: str,
    component: str = "float32",
    out: str = "",
    length: int = LENGTH,
    spec: bool = False,
    storage: StorageClass = StorageClass.StorageBuffer,
) -> dict[str, Values]:
    """The buffers after a program that makes `r` of each invocation's vector `v`; `before` is `s` at first."""
    out = out or component
    size, size_out = int(component.lstrip("bfloatuin")) // 8, int(out.lstrip("bfloatuin")) // 8
    text = CHAIN.format(
        component=component,
        out=out,
        LANES=LANES,
        stride=LENGTH,
        length=length,
        storage=storage.value,
        type=vector(component, f"{{spec: {LENGTH}}}" if spec else LENGTH),
        lines="\n".join(f"  - {{op: {line}}}" for line in lines),
        wg=33 * LENGTH * size,
        inv=LENGTH * size,
        wg_out=33 * length * size_out,
        inv_out=length * size_out,
    )
    case = loads_case(text)
    return {**run(case), "before": values(case, "s")}


def binary(operation: str, name: str = "r", *operands: str) -> str:
    fields = ", ".join(f"{f}: {o}" for f, o in zip("abc", operands, strict=False))
    return f"VectorArithmetic, id: {name}, operation: {operation}, {fields}"


TYPE = vector("float32")
INV = np.tile(np.arange(33), 2)[:, None]

CHAINS: dict[str, tuple[tuple[str, ...], Expected]] = {
    "constants": (
        (
            f"VectorConstant, id: a, type: {TYPE}, values: [1, 2, {{spec: 3}}, {{dynamic: 4}}, 5, 6, 7, 0]",
            f"VectorConstant, id: b, type: {TYPE}, values: [0, {{spec: -1}}, 0, 0, 0, 0, 0, 0.5]",
            f"VectorConstant, id: c, type: {vector('float32')}, value: {{dynamic: 0.25}}",
            f"VectorNull, id: n, type: {vector('float32')}",
            *(binary("FAdd", y, x, z) for x, y, z in (("v", "e", "a"), ("e", "f", "b"), ("f", "g", "c"))),
            binary("FAdd", "r", "g", "n"),
        ),
        lambda v: v + np.array([1.25, 1.25, 3.25, 4.25, 5.25, 6.25, 7.25, 0.75]),
    ),
    "extract and insert": (
        (
            "VectorExtract, id: a, vector: v, index: {literal: 1, inv: 1, mod: 8}",
            "VectorExtract, id: b, vector: v, index: {spec: 6}",
            "VectorExtract, id: c, vector: v, index: 2",
            "VectorInsert, id: f, vector: v, scalar: a, index: 7",
            "VectorInsert, id: e, vector: f, scalar: b, index: {dynamic: 1}",
            "VectorInsert, id: r, vector: e, scalar: c, index: {literal: 0, inv: 3, mod: 5}",
        ),
        lambda v: inserted(v),
    ),
    "minimum, maximum, fma": (
        (
            binary("FMin", "a", "v", "w"),
            binary("FMax", "b", "v", "w"),
            binary("FClamp", "c", "v", "a", "w"),
            binary("Fma", "r", "b", "c", "a"),
        ),
        lambda v: np.maximum(v, 9) * np.clip(v, np.minimum(v, 9), 9) + np.minimum(v, 9),
    ),
    "times scalars": (
        (
            "VectorExtract, id: e, vector: v, index: 3",
            "VectorTimesScalar, id: a, vector: v, scalar: e",
            "VectorTimesScalar, id: r, vector: a, value: {spec: -0.5}",
        ),
        lambda v: v * v[:, 3:4] * -0.5,
    ),
    "step": ((binary("Step", "r", "w", "v"),), lambda v: (v >= 9).astype(v.dtype)),
    "differing iterations": (
        (
            "Loop, count: {literal: 0, inv: 1, mod: 5}, carry: [{id: x, init: v}, {id: y, init: w}]",
            "If, condition: {literal: 0, loop: 1, inv: 1, mod: 2}",
            binary("FAdd", "p", "x", "y"),
            "Else",
            binary("FSub", "q", "x", "y"),
            "EndIf, merge: [{id: z, then: p, otherwise: q}]",
            "EndLoop, next: [z, x]",
            binary("FAdd", "r", "x", "y"),
        ),
        lambda v: turned(v),
    ),
}


def inserted(v: Values) -> Values:
    found = v.copy()
    lane = np.arange(LANES)
    found[:, 7] = v[lane, (1 + INV[:, 0]) % 8]
    found[:, 1] = v[:, 6]
    found[lane, 3 * INV[:, 0] % 5] = v[:, 2]
    return found


def turned(v: Values) -> Values:
    x, y = v.copy(), np.full_like(v, 9)
    for iteration in range(4):
        more = iteration < INV % 5
        z = np.where((iteration + INV) % 2, x + y, x - y)
        x, y = np.where(more, z, x), np.where(more, x, y)
    return x + y


#: Composites of many values have a literal length (KM-021); others may have a specialized one.
LENGTHS = [(name, spec) for name in CHAINS for spec in (False, True) if not (spec and name == "constants")]


@pytest.mark.parametrize(("name", "spec"), LENGTHS)
@pytest.mark.parametrize("storage", [StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer])
def test_instructions_do_what_they_are_named_after(name: str, storage: StorageClass, spec: bool) -> None:
    lines, expected = CHAINS[name]
    nine = f"VectorConstant, id: w, type: {vector('float32', '{spec: 8}' if spec else 8)}, value: 9, replicated: true"
    found = chained(nine, *lines, storage=storage, spec=spec)
    assert np.array_equal(found["d"], expected(found["before"]).astype(np.float32))


def test_vectors_are_put_together() -> None:
    found = chained(
        "VectorExtract, id: e, vector: v, index: 5",
        f"VectorConstruct, id: three, type: {vector('float32', 3)}, parts: [e, e, e]",
        f"VectorConstruct, id: r, type: {vector('float32', 12)}, parts: [three, v, e]",
        length=12,
    )
    v, e = found["before"], found["before"][:, 5:6]
    assert np.array_equal(found["d"], np.concatenate([e, e, e, v, e], axis=1))


INTEGERS: dict[str, Expected] = {
    "IAdd": lambda v: v + 9,
    "ISub": lambda v: v - 9,
    "IMul": lambda v: v * 9,
    "BitwiseOr": lambda v: v | 9,
    "BitwiseXor": lambda v: v ^ 9,
    "BitwiseAnd": lambda v: v & 9,
    "UMin": lambda v: np.minimum(v, 9),
    "SMax": lambda v: np.maximum(v, 9),
    "SDiv": lambda v: v // 9,
    "Not": lambda v: ~v,
    "SNegate": lambda v: -v,
}


@pytest.mark.parametrize("operation", INTEGERS)
@pytest.mark.parametrize("component", ["uint8", "int16", "uint16", "int32", "uint32"])
def test_integers(operation: str, component: str) -> None:
    unary = operation in ("Not", "SNegate")
    nine = f"VectorConstant, id: w, type: {vector(component)}, value: {{dynamic: 9}}, replicated: true"
    found = chained(nine, binary(operation, "r", "v", *([] if unary else ["w"])), component=component)
    with np.errstate(over="ignore"):
        expected = INTEGERS[operation](found["before"])
    assert np.array_equal(found["d"], expected.astype(component))


@pytest.mark.parametrize("component", ["uint8", "uint16", "uint32"])
def test_unsigned_division(component: str) -> None:
    high = f"VectorConstant, id: w, type: {vector(component)}, value: 200, replicated: true"
    found = chained(high, binary("IAdd", "x", "v", "w"), binary("UDiv", "r", "w", "x"), component=component)
    assert np.array_equal(found["d"], 200 // (found["before"].astype(np.int64) + 200))


@pytest.mark.parametrize(
    ("source", "operation", "target"),
    [
        ("float32", "FConvert", "float16"),
        ("float16", "FConvert", "float32"),
        ("float32", "ConvertFToS", "int8"),
        ("float16", "ConvertFToU", "uint32"),
        ("int16", "ConvertSToF", "float32"),
        ("uint8", "ConvertUToF", "float16"),
        ("int8", "SConvert", "int32"),
        ("uint32", "UConvert", "uint16"),
    ],
)
def test_conversions(source: str, operation: str, target: str) -> None:
    convert = f"VectorConvert, id: r, vector: v, operation: {operation}, component: {target}"
    found = chained(convert, component=source, out=target)
    assert np.array_equal(found["d"], found["before"].astype(target))


def test_bitcasts() -> None:
    found = chained("VectorBitcast, id: r, vector: v, component: uint32", component="float32", out="uint32")
    assert np.array_equal(found["d"], found["before"].view(np.uint32))


SHARED = """
schema: 1
name: x
dispatch: {workgroups: [2, 3, 2], invocations: 5}
buffers:
  p: {type: uint8, shape: [12, 205], data: {counter: {step: 7}}, storage: Workgroup}
program:
  - {op: VectorLoad, id: v, type: {component: uint8, length: 16}, buffer: p, offset: {literal: 16, inv: 16}}
  - {op: ControlBarrier}
  - {op: VectorStore, vector: v, buffer: p, offset: {literal: 112, inv: -16}}
"""


def test_each_workgroup_has_its_part_of_workgroup_memory() -> None:
    case = loads_case(SHARED)
    before = values(case, "p")
    expected = before.copy()
    for i in range(5):
        expected[:, 112 - 16 * i : 128 - 16 * i] = before[:, 16 + 16 * i : 32 + 16 * i]
    assert np.array_equal(run(case)["p"], expected)


PRODUCT = """
schema: 1
name: x
dispatch: {{workgroups: [2, 1, 1], invocations: 33}}
{opaque}
buffers:
  i: {{type: {input}, shape: [{LANES}, {words}], data: {{iota: {{modulo: 5}}}}}}
  w: {{type: {weights}, shape: {shape}, data: {{iota: {{modulo: 7, start: {start}}}}}}}
  b: {{type: {bias}, shape: [16], data: {{iota: {{modulo: 3}}}}, storage: {storage}}}
  d: {{type: {result}, shape: [{LANES}, 12], data: {{fill: 0}}}}
program:
  - {{op: VectorLoad, id: v, type: {{component: {input}, length: {words}}}, buffer: i, offset: {{literal: 0, wg.x: {wg}, inv: {inv}}}}}
  - {{op: VectorMatrixMul, id: r, type: {{component: {result}, length: {{spec: 12}}}}, input: v, input_interpretation: {{spec: {reading}}},
      matrix: {matrix}, matrix_offset: {matrix_offset}, matrix_interpretation: {weights}, m: 12, k: {{spec: 8}}, layout: {layout},
      stride: {{dynamic: {stride}}}, transpose: {transpose}, bias: b, bias_offset: {{dynamic: {bias_offset}}}, bias_interpretation: {bias}, operands: [{operands}]}}
  - {{op: VectorStore, vector: r, buffer: d, offset: {{literal: 0, wg.x: {wg_out}, inv: {inv_out}}}}}
"""  # noqa: E501

#: Input, its interpretation, weights, bias and result, and the operand mask.
TUPLES = [
    ("float16", "float16", "float16", "float16", "float16", ""),
    ("float32", "float16", "float16", "float32", "float32", ""),
    ("float16", "float8_e4m3fn", "float8_e4m3fn", "float16", "float16", ""),
    ("int8", "int8", "int8", "int32", "int32", "MatrixBSigned, MatrixResultSigned"),
    ("uint32", "int8_packed", "int8", "int32", "int32", "MatrixResultSigned"),
    ("uint32", "uint8_packed", "uint8", "uint32", "uint32", ""),
]


#: Matrices of fp8 are in optimal layouts only (VK-051).
PRODUCTS = [(t, layout) for t in TUPLES for layout in MatrixLayout if layout.optimal or "float8" not in t[2]]


@pytest.mark.parametrize(("types", "layout"), PRODUCTS, ids=str)
@pytest.mark.parametrize("storage", [StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer])
def test_products(types: tuple[str, ...], layout: MatrixLayout, storage: StorageClass) -> None:
    """A 12 x 8 matrix, kept transposed where it is opaque; strides are longer than rows."""
    given, reading, weights, bias, result, operands = types
    size = {"float8_e4m3fn": 1, "int8": 1, "uint8": 1, "float16": 2, "float32": 4, "int32": 4, "uint32": 4}
    packed = reading.endswith("packed")
    words = 2 if packed else 8
    rows, cols = (12, 8) if layout is MatrixLayout.RowMajor else (8, 12)
    opaque = ""
    if layout.optimal:
        source = f"{{of: w, component: {weights}, layout: RowMajor, stride: {16 * size[weights]}}}"
        opaque = (
            f"opaque: {{m: {{component: {weights}, rows: 8, cols: 12, layout: {layout.value}, offset: 64, "
            f"storage: {storage.value}}}}}\n"
            f"conversions: [{{source: {source}, destination: {{of: m}}, rows: 8, cols: 12}}]"
        )
    text = PRODUCT.format(
        opaque=opaque, input=given, LANES=LANES, words=words, weights=weights, shape=[rows, 16],
        start=0 if weights == "uint8" else -3, bias=bias, storage=storage.value, result=result,
        wg=33 * words * size[given], inv=words * size[given], reading=reading,
        matrix="m" if layout.optimal else "w", matrix_offset=64 if layout.optimal else 0, layout=layout.value,
        stride=0 if layout.optimal else 16 * size[weights], transpose=str(layout.optimal).lower(),
        bias_offset=4 * size[bias], operands=operands, wg_out=33 * 12 * size[result], inv_out=12 * size[result],
    )  # fmt: skip
    case = loads_case(text)
    v = values(case, "i")
    v = v.view(np.uint8) if packed else v
    matrix = values(case, "w").astype(np.int64)[:rows, :cols]
    matrix = matrix if rows == 12 else matrix.T
    expected = v.astype(np.int64) @ matrix.T + values(case, "b").astype(np.int64)[4:16]
    assert np.array_equal(run(case)["d"].astype(np.int64), expected)


TRAINING = """
schema: 1
name: x
dispatch: {{workgroups: [2, 1, 1], invocations: 33}}
opaque: {{g: {{component: {component}, rows: 8, cols: 6, layout: TrainingOptimal, offset: 128, zero: true, storage: {storage}}}}}
conversions:
  - {{source: {{of: g}}, destination: {{of: back, component: float32, layout: ColumnMajor, stride: 48, offset: 64}}, rows: 8, cols: 6, after: true}}
buffers:
  s: {{type: float16, shape: [66, 16], data: {{iota: {{modulo: 4}}}}}}
  back: {{type: float32, shape: [8, 12], data: {{fill: 77}}}}
  sum: {{type: {component}, shape: [3, 8], data: {{fill: 1}}, storage: {storage}}}
program:
  - {{op: VectorLoad, id: a, type: {{component: float16, length: 8}}, buffer: s, offset: {{literal: 0, wg.x: 1056, inv: 32}}}}
  - {{op: VectorLoad, id: b, type: {{component: float16, length: 6}}, buffer: s, offset: {{literal: 16, wg.x: 1056, inv: 32}}}}
  - {{op: If, condition: {{literal: 0, inv: 1, mod: 3}}}}
  - {{op: VectorOuterProductAccumulate, a: a, b: b, matrix: g, interpretation: {component}, layout: {layout}, offset: {{dynamic: 128}}}}
  - {{op: EndIf}}
  - {{op: {convert}}}
  - {{op: VectorReduceSumAccumulate, vector: {vector}, buffer: sum, offset: {{literal: 0, inv: {row}, mod: {rows}}}}}
"""  # noqa: E501


@pytest.mark.parametrize("storage", [StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer])
@pytest.mark.parametrize("component", ["float16", "float32"])
@pytest.mark.parametrize("layout", ["TrainingOptimal", "{spec: TrainingOptimal}"])
def test_training(component: str, storage: StorageClass, layout: str) -> None:
    size = 2 if component == "float16" else 4
    text = TRAINING.format(
        component=component,
        storage=storage.value,
        layout=layout,
        convert="ControlBarrier"
        if size == 2
        else "VectorConvert, id: c, vector: a, operation: FConvert, component: float32",
        vector="a" if size == 2 else "c",
        row=8 * size,
        rows=24 * size,
    )
    case = loads_case(text)
    s, found = values(case, "s").astype(np.float64), run(case)
    a, b, inv = s[:, :8], s[:, 8:14], INV[:, 0]
    outer = np.einsum("ni,nj->ij", a[inv % 3 != 0], b[inv % 3 != 0])
    back = np.full(96, 77, np.float64)
    for column in range(6):
        back[16 + 12 * column : 24 + 12 * column] = outer[:, column]
    assert np.array_equal(found["back"].reshape(-1), back)
    sums = np.stack([1 + a[inv % 3 == row].sum(0) for row in range(3)])
    assert np.array_equal(found["sum"], sums)
