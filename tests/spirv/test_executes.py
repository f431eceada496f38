"""Lowered modules of cooperative matrices on the interpreter, which knows nothing of cases, against NumPy."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import GUARD_BYTES, Case, CopyPath, StorageClass, initial_bits, loads_case
from cts.device.driver import Status
from cts.judging.judge import job
from cts.plugins.registry import driver

Values: TypeAlias = npt.NDArray[Any]
Expected: TypeAlias = Callable[[Values], Values]

ROWS, COLS = 16, 8


def run(case: Case, spec: str = "interpreter") -> dict[str, Values]:
    """The values of every buffer after the run."""
    interpreter = driver(spec)
    try:
        outcome = interpreter.run(job(case, interpreter.capabilities().subgroup_size))
    finally:
        interpreter.close()
    assert outcome.status is Status.DONE, outcome.detail
    return {
        name: outcome.memory[name][GUARD_BYTES:-GUARD_BYTES].view(b.type.dtype).reshape(b.shape)
        for name, b in case.buffers.items()
    }


def values(case: Case, name: str) -> Values:
    """A buffer's values before the run."""
    buffer = case.buffers[name]
    return initial_bits(buffer).view(buffer.type.dtype).reshape(buffer.shape)


def matrix(component: str, rows: int = ROWS, cols: int = COLS, use: str = "Accumulator") -> str:
    return f"{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}"


def chain(
    *lines: str, component: str = "float32", out: str = "", shape: tuple[int, int] = (ROWS, COLS), functions: str = ""
) -> Case:
    """A matrix `m` of an iota, some instructions, and `r` stored."""
    listed = "\n".join(f"  - {{op: {line}}}" for line in lines)
    return loads_case(f"""
schema: 1
name: x
functions: {{{functions}}}
buffers:
  s: {{type: {component}, shape: [{ROWS}, {COLS}], data: {{iota: {{modulo: 23}}}}}}
  d: {{type: {out or component}, shape: {list(shape)}, data: {{fill: 0}}}}
program:
  - {{op: MatrixLoad, id: m, type: {matrix(component)}, buffer: s, stride: {COLS}}}
{listed}
  - {{op: MatrixStore, matrix: r, buffer: d, stride: {shape[1]}}}
""")


COMBINE = "add: {kind: Combine, type: float32, body: x + y}, big: {kind: Combine, type: float32, body: 'max(x, y)'}"
ELEMENT = (
    "f: {kind: PerElement, type: float32, extras: [{name: o, matrix: true}, {name: k, type: int32}, "
    "{name: h, type: float16}], body: 'value * float32(h) + o if row < 3 else "
    "float32(int32(col) - k) * lookup(row & 3, float32(2), float32(5), float32(-1), float32(9))'}"
)
LOOP = (
    "Loop, count: {dynamic: 3}, carry: [{id: x, init: m}, {id: y, init: m}]",
    "MatrixArithmetic, operation: FAdd, id: n, a: x, b: m",
    "If, condition: {literal: -1, loop: 1}",
    "MatrixArithmetic, operation: FAdd, id: k, a: n, b: m",
    "EndIf, merge: [{id: v, then: k, otherwise: n}]",
    "EndLoop, next: [y, v]",
    "MatrixTimesScalar, id: q, matrix: y, scalar: {spec: 3}",
    "MatrixArithmetic, operation: FSub, id: r, a: q, b: x",
)


def elements(s: Values) -> Values:
    row, col = np.indices(s.shape)
    return np.where(row < 3, s * 3.5, (col + 3) * np.array([2, 5, -1, 9])[row & 3])


def looped(s: Values) -> Values:
    x = y = s
    for iteration in range(3):
        n = x + s
        x, y = y, n if iteration == 1 else n + s
    return 3 * y - x


CHAINS: dict[str, tuple[Case, Expected]] = {
    "rows": (
        chain("MatrixReduce, id: r, matrix: m, mode: [Row], combine: add, cols: 4", shape=(ROWS, 4), functions=COMBINE),
        lambda s: np.repeat(s.sum(1, keepdims=True), 4, 1),
    ),
    "columns": (
        chain("MatrixReduce, id: r, matrix: m, mode: [Column], combine: big", functions=COMBINE),
        lambda s: np.repeat(s.max(0, keepdims=True), ROWS, 0),
    ),
    "both": (
        chain(
            "MatrixReduce, id: r, matrix: m, mode: [Row, Column], combine: add, rows: {spec: 24}",
            shape=(24, COLS),
            functions=COMBINE,
        ),
        lambda s: np.full((24, COLS), s.sum()),
    ),
    "squares": (
        chain(
            "MatrixReduce, id: r, matrix: m, mode: [2x2], combine: add", shape=(ROWS // 2, COLS // 2), functions=COMBINE
        ),
        lambda s: s.reshape(ROWS // 2, 2, COLS // 2, 2).sum((1, 3)),
    ),
    "elements": (
        chain(
            "MatrixPerElement, id: r, matrix: m, function: f, matrices: [m], scalars: [{dynamic: -3}, 2.5]",
            functions=ELEMENT,
        ),
        elements,
    ),
    "components": (
        chain(
            "MatrixComponents, id: r, matrix: m, function: f",
            component="int8",
            functions="f: {kind: Component, type: int8, body: 'min(max(value - 9 >> 1, -2), 3) ^ 5'}",
        ),
        lambda s: np.clip(s - 9 >> 1, -2, 3) ^ 5,
    ),
    "scalar": (chain("MatrixTimesScalar, id: r, matrix: m, scalar: {dynamic: -2}"), lambda s: s * -2),
    "replicated": (
        chain(
            f"MatrixConstant, id: q, type: {matrix('float32')}, value: {{dynamic: 3}}, replicated: true",
            "MatrixArithmetic, operation: FMul, id: r, a: q, b: m",
        ),
        lambda s: s * 3,
    ),
    "transposed": (
        chain("MatrixTranspose, id: r, matrix: m", component="float16", shape=(COLS, ROWS)),
        lambda s: s.T,
    ),
    "another use": (chain("MatrixConvertUse, id: r, matrix: m, use: B"), lambda s: s),
    "bits": (chain("MatrixBitcast, id: r, matrix: m, component: uint8", component="int8", out="uint8"), lambda s: s),
    "loop": (chain(*LOOP), looped),
}
for way in CopyPath:
    CHAINS[f"through {way.value}"] = (chain(f"MatrixCopy, id: r, matrix: m, through: {way.value}"), lambda s: s)
for source, operation, target in (
    ("float32", "FConvert", "float16"),
    ("float32", "FConvert", "bfloat16"),
    ("float16", "FConvert", "float8_e5m2"),
    ("float32", "ConvertFToS", "int32"),
    ("float16", "ConvertFToU", "uint8"),
    ("int32", "ConvertSToF", "float32"),
    ("uint16", "ConvertUToF", "float32"),
    ("int8", "SConvert", "int32"),
    ("uint8", "UConvert", "uint32"),
    ("int32", "SConvert", "int8"),
):
    text = f"MatrixConvert, id: r, matrix: m, operation: {operation}, component: {target}"
    CHAINS[f"{source} to {target}"] = (chain(text, component=source, out=target), lambda s: s)


@pytest.mark.parametrize("name", CHAINS)
def test_instructions_do_what_they_are_named_after(name: str) -> None:
    case, expected = CHAINS[name]
    wide = values(case, "s").astype(np.int64 if "int" in case.buffers["s"].type.value else np.float64)
    found = run(case)["d"]
    dtype = found.dtype
    if name.endswith("e5m2"):
        assert np.abs(found.astype(np.float64) - wide).max() < 4, "the distance of neighbours between 16 and 32"
    else:
        assert np.array_equal(found, expected(wide).astype(dtype))


PRODUCT = """
schema: 1
name: x
buffers:
  a: {{type: {a}, shape: [16, 24], data: {{iota: {{modulo: 7}}}}}}
  b: {{type: {a}, shape: [24, 8], data: {{iota: {{modulo: 5, start: 1}}}}}}
  d: {{type: {c}, shape: [16, 8], data: {{fill: 0}}}}
program:
  - {{op: MatrixLoad, id: ma, type: {ta}, buffer: a, stride: 24}}
  - {{op: MatrixLoad, id: mb, type: {tb}, buffer: b, stride: {{dynamic: 8}}}}
  - {{op: MatrixConstant, id: mc, type: {tc}, value: {{spec: 5}}}}
  - {{op: MatrixMulAdd, id: r, a: ma, b: mb, c: mc, operands: [{operands}]}}
  - {{op: MatrixStore, matrix: r, buffer: d, stride: 8}}
"""


@pytest.mark.parametrize(
    ("a", "c", "operands"),
    [
        ("float16", "float16", ""),
        ("float16", "float32", ""),
        ("bfloat16", "float32", ""),
        ("uint8", "uint32", ""),
        ("int8", "int32", "MatrixASigned, MatrixBSigned, MatrixCSigned, MatrixResultSigned"),
    ],
)
def test_products(a: str, c: str, operands: str) -> None:
    types = {"ta": matrix(a, 16, 24, "A"), "tb": matrix(a, 24, 8, "B"), "tc": matrix(c)}
    case = loads_case(PRODUCT.format(a=a, c=c, operands=operands, **types))
    product = values(case, "a").astype(np.int64) @ values(case, "b").astype(np.int64)
    assert np.array_equal(run(case)["d"].astype(np.int64), product + 5)


SHARED = """
schema: 1
name: x
dispatch: {{workgroups: [2, 3, 2], subgroups: 2}}
buffers:
  p: {{type: {component}, shape: [12, {part}], components: {components}, data: {{counter: {{step: 7}}}}, storage: {storage}}}
program:
  - {{op: MatrixLoad, id: m, type: {type}, buffer: p, stride: {stride}, offset: {{literal: {half}, sg: {half}}}}}
  - {{op: ControlBarrier}}
  - {{op: MatrixStore, matrix: m, buffer: p, stride: {stride}, offset: {{literal: {half}, sg: -{half}}}}}
"""  # noqa: E501


@pytest.mark.parametrize(("components", "surplus"), [(1, 0), (2, 0), (4, 0), (1, 3)])
@pytest.mark.parametrize("component", ["int8", "float16", "uint32"])
def test_each_workgroup_has_its_part_of_workgroup_memory(component: str, components: int, surplus: int) -> None:
    """Two subgroups move quarters of the part about: 1 to 1 and 2 to 0; what is left over stays."""
    elements = ROWS * COLS // components
    text = SHARED.format(
        component=component,
        components=components,
        part=3 * elements + surplus,
        storage=StorageClass.Workgroup.value,
        type=matrix(component),
        stride=COLS // components,
        half=elements,
    )
    case = loads_case(text)
    buffer = case.buffers["p"]
    before = initial_bits(buffer).reshape(12, -1)
    expected = before.copy()
    expected[:, : ROWS * COLS] = before[:, 2 * ROWS * COLS : 3 * ROWS * COLS]
    interpreter = driver("interpreter")
    outcome = interpreter.run(job(case, interpreter.capabilities().subgroup_size))
    assert outcome.status is Status.DONE, outcome.detail
    after = outcome.memory["p"][GUARD_BYTES:-GUARD_BYTES].view(buffer.type.bits_dtype).reshape(12, -1)
    assert np.array_equal(after, expected)


POINTERS = """
schema: 1
name: x
buffers:
  p: {{type: float32, shape: [1, 400], data: {{iota: {{}}}}, storage: {storage}}}
  d: {{type: float32, shape: [16, 8], data: {{fill: 0}}}}
program:
  - {{op: Pointer, id: a, buffer: p, offset: 16}}
  - {{op: Pointer, id: b, buffer: p, offset: {{dynamic: 40}}}}
  - {{op: PointerSelect, id: c, condition: {{dynamic: {condition}}}, a: a, b: b}}
  - {{op: MatrixLoad, id: r, type: {type}, buffer: c, stride: 8, offset: 32}}
  - {{op: MatrixStore, matrix: r, buffer: d, stride: 8}}
"""


@pytest.mark.parametrize("storage", StorageClass)
@pytest.mark.parametrize("condition", [0, 1, 2**31])
def test_pointers_are_chosen_and_moved(storage: StorageClass, condition: int) -> None:
    case = loads_case(POINTERS.format(storage=storage.value, condition=condition, type=matrix("float32")))
    start = (16 if condition else 40) + 32
    assert np.array_equal(run(case)["d"].reshape(-1), np.arange(start, start + ROWS * COLS))


DECODED = """
schema: 1
name: x
functions:
  one: {{kind: Decode, returns: float32, dim: 2, coords: {coords}, block: {block}, body: "{body}"}}
  many: {{kind: DecodeVector, returns: float32, dim: 2, lanes: {lanes}, coords: {coords}, block: {block}, body: "{vector}"}}
buffers:
  q: {{type: uint32, shape: [16, 6], data: {{counter: {{step: 2654435761}}}}, storage: {storage}}}
  d: {{type: float32, shape: [16, 8], data: {{fill: 0}}}}
program:
  - {{op: MatrixNull, id: z, type: {type}}}
  - {{op: TensorLayout, id: t, dim: 2}}
  - {{op: TensorLayoutSetBlockSize, id: u, of: t, block_size: [1, 8]}}
  - {{op: TensorLayoutSetDimension, id: v, of: u, dims: [16, 16]}}
  - {{op: TensorLayoutSlice, id: w, of: v, offset: [0, 4], span: [16, 8]}}
  - {{op: MatrixLoadTensor, id: r, object: z, buffer: q, layout: w, decode: one, decode_vector: {name}}}
  - {{op: MatrixStore, matrix: r, buffer: d, stride: 8}}
"""  # noqa: E501


@pytest.mark.parametrize("storage", [StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer])
@pytest.mark.parametrize("lanes", [None, 2, 4, 8])
@pytest.mark.parametrize("coords", ["int32", "uint32"])
def test_blocks_are_decoded(storage: StorageClass, lanes: int | None, coords: str) -> None:
    """Blocks of 12 bytes, two a row: a 16-bit scale, a byte between, eight values of a byte."""
    block = (
        "[{name: scale, type: uint16}, {name: gap, type: int8}, {name: qs, type: int8, count: 8}, "
        "{name: end, type: uint8}]"
    )
    tail = "] * int8(2)) + float32(block.scale & 15) * float32(block.gap) + float32(blockCoord[1])"
    body = "float32(block.qs[coordInBlock[1]" + tail
    text = DECODED.format(
        coords=coords,
        block=block,
        body=body,
        vector=body.replace("coordInBlock[1]", "coordInBlock[1] + lane"),
        lanes=lanes or 2,
        name="many" if lanes else "null",
        storage=storage.value,
        type=matrix("float32"),
    )
    case = loads_case(text)
    memory = initial_bits(case.buffers["q"]).view(np.uint8).reshape(32, 12)
    scale = memory[:, :2].copy().view(np.uint16)[:, 0]
    quants = (memory[:, 3:11].view(np.int8) * np.int8(2)).astype(np.float64)
    whole = quants + ((scale & 15).astype(np.float64) * memory[:, 2].view(np.int8))[:, None]
    tensor = whole.reshape(16, 2, 8) + np.arange(2)[None, :, None]
    assert np.array_equal(run(case)["d"], tensor.reshape(16, 16)[:, 4:12])
