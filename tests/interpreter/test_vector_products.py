"""OpCooperativeVectorMatrixMulNV and MulAddNV: interpretations, layouts, addresses, divergence."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cts.device.job import LayoutConversion, MatrixRegion, OpaqueMemory
from cts.drivers.interpreter import create
from tests.interpreter.modules import contents
from tests.interpreter.vector_modules import LANES, LAYOUTS, NUMBERS, Code, Vec, instruction, outcome_of, run

DTYPES: dict[str, Any] = {
    **{name: np.dtype(name) for name in NUMBERS if name.startswith(("int", "uint", "float")) and "_" not in name},
    "int8_packed": np.dtype(np.int8),
    "uint8_packed": np.dtype(np.uint8),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
}


def as_read(values: Any, signed: bool, reading: str) -> Any:
    """Input elements after their conversion (CV-030 to CV-034), exactly: Python's numbers."""
    dtype = DTYPES[reading]
    if reading.endswith("packed"):
        return np.ascontiguousarray(values).view(dtype).astype(object)
    if values.dtype.kind in "iu":
        values = values.view(f"{'i' if signed else 'u'}{values.dtype.itemsize}").astype(object)
    elif dtype.kind in "iu":
        values = np.array([round(float(x)) for x in values.flat], object).reshape(values.shape)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.clip(values, info.min, info.max)
    return values.astype(np.float64).astype(np.float32).astype(dtype).astype(np.float64).astype(object)


def stored(matrix: Any, layout: str, stride: int) -> Any:
    """The bytes of a matrix; 0x77 between its rows or columns."""
    lines = matrix if layout == "RowMajor" else matrix.T
    lines = np.ascontiguousarray(lines).view(np.uint8)
    out = np.full((len(lines), stride), 0x77, np.uint8)
    out[:, : lines.shape[1]] = lines
    return out.reshape(-1)


def multiplied(
    given: tuple[str, Any],
    reading: str,
    matrix: tuple[str, Any],
    result: str,
    *,
    bias: tuple[str, Any] | None = None,
    layout: str = "RowMajor",
    transpose: bool = False,
    signed: bool = False,
    driver: Any = None,
) -> Any:
    """The product (lanes, M) of an (M, K) matrix and vectors, from any layout."""
    kind, values = matrix
    values = values.astype(DTYPES[kind])
    m, k = values.shape
    if transpose:
        values = values.T
    optimal = layout.endswith("Optimal")
    majors = "RowMajor" if optimal else layout
    length = values.shape[1 if majors == "RowMajor" else 0] * values.dtype.itemsize
    stride = -(-length // 16) * 16 + 16
    memories = {"w": ("u8", stored(values, majors, stride))}
    job: dict[str, Any] = {}
    if optimal:
        number, component = LAYOUTS[layout], NUMBERS[kind]
        job["opaque"] = {"o": OpaqueMemory(component, number, len(values), values.shape[1], offset=128)}
        source, target = MatrixRegion("w", component, 0, 0, stride), MatrixRegion("o", component, number, 128, 0)
        job["conversions"] = (LayoutConversion(source, target, len(values), values.shape[1]),)
        names = ["a", "o", *(["bias"] if bias else []), "out"]
        job["bindings"] = {(0, n): name for n, name in enumerate(names)}
    if bias:
        memories["bias"] = ("u8", np.ascontiguousarray(bias[1].astype(DTYPES[bias[0]])).view(np.uint8))
    output = Vec(result, m)
    body = "%result = " + instruction(
        output,
        k,
        reading,
        kind,
        layout,
        bias=bias[0] if bias else "",
        transpose=transpose,
        stride=f"%n{stride}",
        offset="%n128" if optimal else "%n0",
        operands="MatrixBSignedComponentsKHR|MatrixResultSignedComponentsKHR" if signed else "",
    )
    return run(body, {"a": given}, output, memories, job=job, driver=driver)


#: Input, interpretation of the input, of the matrix and of the bias, and result (CV-036, and more).
COMBINATIONS = [
    ("half", "float16", "float16", "float16", "half"),
    ("uint", "int8_packed", "int8", "int32", "int"),
    ("uint", "uint8_packed", "uint8", "uint32", "uint"),
    ("i8", "int8", "int8", "int32", "int"),
    ("u8", "uint8", "uint8", "uint32", "uint"),
    ("float", "int8", "int8", "int32", "int"),
    ("half", "uint8", "uint8", "uint32", "uint"),
    ("half", "e4m3", "e4m3", "float16", "half"),
    ("half", "e5m2", "e5m2", "float16", "half"),
    ("float", "e4m3", "e4m3", "float32", "float"),
    ("float", "float32", "float32", "float32", "float"),
    ("float", "float16", "float16", "float32", "half"),
    ("double", "float64", "float64", "float64", "float"),
    ("int", "float32", "float16", "float16", "float"),
    ("i16", "int16", "int16", "int16", "int"),
    ("i64", "int8", "uint8", "int64", "uint"),
    ("int", "int32", "int32", "int32", "int"),
    ("u64", "uint64", "uint64", "uint64", "uint"),
    ("i8", "int8", "int8", "float32", "float"),
]


def operands(given: str, reading: str, matrix: str, bias: str, m: int, k: int) -> tuple[Any, Any, Any]:
    """Random vectors, a matrix and a bias whose sums are exact in every type; integers of all sizes."""
    rng = np.random.default_rng(m * 100 + k)
    words = -(-k // 4) if reading.endswith("packed") else k
    dtype = Vec(given, 1).dtype
    if reading.endswith("packed"):
        vectors: Any = rng.integers(0, 256, (LANES, 4 * words), np.uint8).view(np.uint32)
    elif DTYPES[reading].kind in "iu":
        info = np.iinfo(DTYPES[reading])
        if dtype.kind in "iu":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            vectors = rng.integers(low, high, (LANES, k), dtype, endpoint=True)
            some = rng.integers(max(low, info.min), min(high, info.max), (LANES, k), dtype, endpoint=True)
            vectors = np.where(rng.random((LANES, k)) < 0.2, vectors, some)
        else:
            vectors = (rng.integers(-600, 600, (LANES, k)) / 2).astype(dtype)
    else:
        vectors = (rng.integers(-4, 5, (LANES, k)) / (1 if dtype.kind in "iu" else 2)).astype(dtype)

    def other(kind: str, shape: tuple[int, ...]) -> Any:
        if DTYPES[kind].kind not in "iu":
            return (rng.integers(-4, 5, shape) / 2).astype(DTYPES[kind])
        info = np.iinfo(DTYPES[kind])
        return rng.integers(info.min, info.max, shape, DTYPES[kind], endpoint=True)

    return vectors, other(matrix, (m, k)), other(bias, (m,))


def expected(vectors: Any, signed: bool, reading: str, matrix: Any, bias: Any, result: str) -> Any:
    """The exact product and sum; integers wrapped to 32 bits (NU-003)."""
    elements = as_read(vectors, signed, reading)[:, : matrix.shape[1]]
    weights = matrix.astype(object if matrix.dtype.kind in "iu" else np.float64).astype(object)
    exact = elements @ weights.T
    if bias is not None:
        exact = exact + bias.astype(object if bias.dtype.kind in "iu" else np.float64).astype(object)
    dtype = Vec(result, 1).dtype
    if dtype.kind in "iu":
        return np.array([int(x) % 2**32 for x in exact.flat], np.uint32).view(dtype).reshape(exact.shape)
    return exact.astype(np.float64).astype(dtype)


@pytest.mark.family("combination", COMBINATIONS, ids="-".join)
@pytest.mark.parametrize(("m", "k"), [(1, 1), (5, 3), (16, 32), (33, 17)])
def test_every_combination(combination: tuple[str, ...], m: int, k: int) -> None:
    given, reading, kind, bias_kind, result = combination
    vectors, matrix, bias = operands(given, reading, kind, bias_kind, m, k)
    signed = given.startswith("i")
    for added in (None, (bias_kind, bias)):
        found = multiplied((given, vectors), reading, (kind, matrix), result, bias=added, signed=signed)
        assert np.array_equal(found, expected(vectors, signed, reading, matrix, added and added[1], result))


@pytest.mark.parametrize("kind", ["float16", "float32", "e4m3", "e5m2", "int8", "uint8", "int32"])
@pytest.mark.parametrize(
    ("layout", "transpose"),
    [("RowMajor", False), ("ColumnMajor", False), *product(("InferencingOptimal", "TrainingOptimal"), (False, True))],
)
def test_every_layout(layout: str, transpose: bool, kind: str) -> None:
    given = "half" if DTYPES[kind].kind not in "iu" else "int"
    reading = kind if kind != "float32" else "float16"
    result = "float" if given == "half" else "int"
    for m, k in ((3, 5), (16, 16), (19, 40)):
        vectors, matrix, _ = operands(given, reading, kind, "int32", m, k)
        found = multiplied(
            (given, vectors), reading, (kind, matrix), result, layout=layout, transpose=transpose, signed=True
        )
        assert np.array_equal(found, expected(vectors, True, reading, matrix, None, result))


@pytest.mark.parametrize("signed", [False, True])
def test_the_mask_says_how_integers_are_read(signed: bool) -> None:
    """Whatever the signedness of the type (CV-017): 0xFF saturates to 127, or is -1."""
    for component in ("i8", "u8"):
        vectors = np.full((LANES, 2), 0xFF, np.uint8).view(Vec(component, 1).dtype)
        found = multiplied((component, vectors), "int8", ("int8", np.array([[1, 2]])), "int", signed=signed)
        assert (found == (-3 if signed else 3 * 127)).all()


def test_conversion_of_floats_to_integers() -> None:
    """To nearest even, saturating (CV-031)."""
    given = np.array([[0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 1e9, -1e9, np.inf, -np.inf, np.nan, -128.5]], np.float32)
    found = multiplied(("float", given), "int8", ("int8", np.eye(12)), "int")
    assert (found == [0, 2, 2, 0, -2, 127, 127, -128, 127, -128, 0, -128]).all()
    found = multiplied(("float", given), "uint8", ("uint8", np.eye(12)), "uint")
    assert (found == [0, 2, 2, 0, 0, 128, 255, 0, 255, 0, 0, 0]).all()
    found = multiplied(("float", given), "int32", ("int32", np.eye(12)), "int")
    assert (found == [0, 2, 2, 0, -2, 128, 10**9, -(10**9), 2**31 - 1, -(2**31), 0, -128]).all()


def test_conversion_of_integers_to_floats() -> None:
    """To nearest even (CV-032)."""
    given = np.array([[2049, 2051, -2049, 2**31 - 1]], np.int32)
    found = multiplied(("int", given[:, :3]), "float16", ("float16", np.eye(3)), "half", signed=True)
    assert (found == [2048, 2052, -2048]).all()
    found = multiplied(("int", given), "float32", ("float32", np.eye(4)[3:]), "float")
    assert (found == 2.0**31).all()


@pytest.mark.parametrize(("kind", "rounded"), [("e4m3", 1.125), ("e5m2", 1.25)])
def test_fp8_inputs_are_rounded_or_kept(kind: str, rounded: float) -> None:
    """CV-033. What comes as float32 is always rounded."""
    value = 1.1875 if kind == "e5m2" else 1.1
    eye = np.eye(2)
    for component in ("half", "float"):
        given = np.full((1, 2), value, Vec(component, 1).dtype)
        for choice, right in (("rounded", rounded), ("kept", given[0, 0] if component == "half" else rounded)):
            driver = create({"fp8_input": choice})
            assert (multiplied((component, given), kind, (kind, eye), "float", driver=driver) == right).all()


def test_bytes_of_packed_words_beyond_k_are_ignored() -> None:
    words = np.full((LANES, 2), 0xFF030201, np.uint32)
    found = multiplied(("uint", words), "uint8_packed", ("uint8", np.array([[1, 10, 100]])), "uint")
    assert (found == 321).all()


def test_integers_wrap() -> None:
    words = np.full((LANES, 64), 2**31 - 1, np.int32)
    matrix = np.full((2, 64), 2**31 - 3)
    found = multiplied(
        ("int", words), "int32", ("int32", matrix), "int", bias=("int32", np.array([5, -6])), signed=True
    )
    exact = 64 * (2**31 - 1) * (2**31 - 3)
    assert (found.view(np.uint32) == [(exact + 5) % 2**32, (exact - 6) % 2**32]).all()


def test_sums_are_rounded_once() -> None:
    """2048 + 1 + 2^-10 to float16."""
    given = np.array([[2048, 1, 2.0**-10]], np.float16)
    assert (multiplied(("half", given), "float16", ("float16", np.ones((1, 3))), "half") == 2050).all()


OUT = Vec("float", 6)


def layers(rng: Any, count: int) -> tuple[Any, Any]:
    """Matrices (count, 6, 4) and biases (count, 6) of small numbers."""
    return rng.integers(-4, 5, (count, 6, 4)).astype(np.float16), rng.integers(-4, 5, (count, 6)).astype(np.float16)


def per_lane(which: Any, vectors: Any, matrices: Any, biases: Any) -> Any:
    return np.einsum("lmk,lk->lm", matrices[which].astype(np.float64), vectors) + biases[which]


@pytest.mark.parametrize("count", [1, 3, LANES])
def test_invocations_choose_their_matrix_and_bias(count: int) -> None:
    """By offsets that are not uniform; 96 bytes to a matrix, 16 to a bias and padding."""
    rng = np.random.default_rng(count)
    matrices, biases = layers(rng, count)
    memory = np.zeros((count, 128), np.uint8)
    memory[:, :96] = np.pad(matrices, ((0, 0), (0, 0), (0, 4))).reshape(count, -1).view(np.uint8)
    vectors = rng.integers(-3, 4, (LANES, 4))
    line = instruction(
        OUT, 4, "float16", "float16", "RowMajor", bias="float16", stride="%n16", offset="%mo", bias_offset="%bo"
    )
    body = f"""
%which = OpUMod %uint %lane %n{count}
%mo = OpIMul %uint %which %n128
%bo = OpIMul %uint %which %n16
%result = {line}
"""
    memories = {
        "w": ("half", memory.view(np.float16).reshape(-1)),
        "bias": ("half", np.pad(biases, ((0, 0), (0, 2))).reshape(-1)),
    }
    found = run(body, {"a": ("half", vectors)}, OUT, memories)
    assert np.array_equal(found, per_lane(np.arange(LANES) % count, vectors, matrices, biases))


def test_strides_may_differ_between_invocations() -> None:
    """Even lanes read rows 16 bytes apart, odd ones rows 32 bytes apart."""
    rng = np.random.default_rng(1)
    memory = rng.integers(-4, 5, 16 * 6).astype(np.float16)
    vectors = rng.integers(-3, 4, (LANES, 4))
    body = f"""
%odd = OpBitwiseAnd %uint %lane %n1
%more = OpIAdd %uint %odd %n1
%stride = OpIMul %uint %more %n16
%result = {instruction(OUT, 4, "float16", "float16", "RowMajor", stride="%stride")}
"""
    found = run(body, {"a": ("half", vectors)}, OUT, {"w": ("half", memory)})
    rows = [memory[: 8 * 6].reshape(6, 8)[:, :4], memory.reshape(6, 16)[:, :4]]
    matrices = np.stack(rows).astype(np.float64)
    assert np.array_equal(found, per_lane(np.arange(LANES) % 2, vectors, matrices, np.zeros((2, 6))))


def test_divergent_control_flow() -> None:
    """Every third lane multiplies, in a loop of its own length; memory of the others is never touched."""
    rng = np.random.default_rng(2)
    square = np.tril(rng.integers(0, 2, (4, 4))).astype(np.float16)
    vectors = rng.integers(-3, 4, (LANES, 4))
    biases = rng.integers(-2, 3, (2, 4)).astype(np.float16)
    v = Vec("half", 4)
    line = instruction(
        v, 4, "float16", "float16", "RowMajor", bias="float16", stride="%n8", offset="%far", bias_offset="%far_bias"
    )
    body = f"""
%third = OpUMod %uint %lane %n3
%takes_part = OpIEqual %bool %third %n0
%far = OpIMul %uint %third %n4096
%odd = OpBitwiseAnd %uint %lane %n1
%bias_of = OpIMul %uint %odd %n8
%far_bias = OpIAdd %uint %bias_of %far
OpSelectionMerge %join None
OpBranchConditional %takes_part %then %join
%then = OpLabel
%count = OpUMod %uint %lane %n4
OpBranch %head
%head = OpLabel
%i = OpPhi %uint %n0 %then %i1 %again
%x = OpPhi %half_v4 %a0 %then %y %again
%more = OpULessThan %bool %i %count
OpLoopMerge %done %again None
OpBranchConditional %more %again %done
%again = OpLabel
%y = {line.replace("%a ", "%x ")}
%i1 = OpIAdd %uint %i %n1
OpBranch %head
%done = OpLabel
OpBranch %join
%join = OpLabel
%result = OpPhi %half_v4 %a0 %start %x %done
"""
    body = "%a0 = OpCopyObject %half_v4 %a" + body
    memories = {"w": ("half", square.reshape(-1)), "bias": ("half", biases.reshape(-1))}
    found = run(body, {"a": ("half", vectors)}, v, memories)
    expected = vectors.astype(np.float64)
    for lane in range(0, LANES, 3):
        for _ in range(lane % 4):
            expected[lane] = square.astype(np.float64) @ expected[lane] + biases[lane % 2]
    assert np.array_equal(found, expected)


def test_many_workgroups_and_uniform_vectors() -> None:
    """A constant vector: one product stands for all lanes."""
    globals_ = "%h2 = OpConstant %half 2\n%twos = OpConstantCompositeReplicateEXT %half_v3 %h2\n"
    body = "%a = OpCopyObject %half_v3 %twos\n%result = " + instruction(
        Vec("float", 2), 3, "float16", "float16", "ColumnMajor", stride="%n4"
    )
    matrix = np.array([1, 2, 3, 4, 5, 6], np.float16)
    found = run(
        body, {}, Vec("float", 2), {"w": ("half", matrix)}, globals=globals_, types=(Vec("half", 3),), workgroups=50
    )
    assert (found == [2 * (1 + 3 + 5), 2 * (2 + 4 + 6)]).all() and len(found) == LANES * 50


def test_shape_and_interpretation_may_be_specialized() -> None:
    constants = {"m": 2, "k": 3, "layout": 1, "reads": 0, "of_matrix": 0}
    globals_ = "".join(f"%{name} = OpSpecConstant %uint 1\n" for name in constants)
    globals_ += "%transpose = OpSpecConstantTrue %bool\n%v = OpTypeCooperativeVectorNV %half %m\n"
    globals_ += "%u = OpTypeCooperativeVectorNV %half %k\n"
    body = "%x = OpCooperativeVectorLoadNV %u %src %n0\n%y = OpCooperativeVectorMatrixMulNV %v %x %reads %w %n0 "
    body += "%of_matrix %m %k %layout %transpose %n4\nOpCooperativeVectorStoreNV %dst %n0 %y"
    decorations = "".join(f"OpDecorate %{name} SpecId {n}\n" for n, name in enumerate(constants))
    decorations += "OpDecorate %transpose SpecId 9\n"
    memories = {"src": "half", "w": "half", "dst": "half"}
    code = Code(body, {}, None, memories, globals=globals_, decorations=decorations, lanes=1)
    given = {n: np.uint32(value).tobytes() for n, value in enumerate(constants.values())} | {9: bytes(4)}
    arrays = {
        "src": np.array([1, 2, 3], np.float16),
        "w": np.arange(6).astype(np.float16),
        "dst": np.zeros(2, np.float16),
    }
    outcome = outcome_of(code, {}, arrays, spec_constants=given)
    assert contents(outcome, "dst", np.float16).tolist() == [0 + 4 + 12, 1 + 6 + 15]
