"""Optimal layouts of the interpreter's own, opaque memory, and conversions before and after a dispatch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cts.device.driver import Outcome
from cts.device.job import Address, LayoutConversion, MatrixRegion, OpaqueMemory
from cts.drivers.interpreter.vectors import opaque
from cts.spirv import tools
from tests.interpreter.modules import contents, dispatch, memory
from tests.interpreter.vector_modules import LANES, LAYOUTS, NUMBERS, Code, Vec, instruction, outcome_of

OPTIMAL = {name: number for name, number in LAYOUTS.items() if name.endswith("Optimal")}
SHAPES = [(1, 1), (4, 4), (8, 16), (3, 33), (17, 5), (64, 64)]

DTYPES: dict[str, Any] = {
    **{name: name for name in ("float16", "float32", "int8", "uint32")},
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}

NOTHING = Code("", {}, None)


@pytest.mark.parametrize("layout", OPTIMAL)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_elements_have_places_of_their_own(layout: str, shape: tuple[int, int], element: int) -> None:
    number = OPTIMAL[layout]
    offsets = opaque.offsets(number, *shape, element, 0)
    size = opaque.size(number, *shape, element)
    assert offsets.shape == shape
    assert size % 64 == 0
    assert offsets.min() >= 0
    assert offsets.max() + element <= size
    assert (offsets % element == 0).all()
    assert len(np.unique(offsets)) == offsets.size


@pytest.mark.parametrize("shape", SHAPES)
def test_layouts_differ_and_are_padded(shape: tuple[int, int]) -> None:
    """Elements are in other places than in row-major order, and than in the other layout: mistakes are seen."""
    rows, cols = shape
    row_major, _, *found = (opaque.offsets(n, *shape, 2, 16 if cols <= 8 else cols * 2) for n in range(4))
    assert not np.array_equal(found[0], found[1])
    assert not any(np.array_equal(one, row_major) for one in found)
    assert all(opaque.size(n, *shape, 2) > rows * cols * 2 for n in OPTIMAL.values())


def bound(conversions: tuple[LayoutConversion, ...], buffers: dict[str, Any], **memories: OpaqueMemory) -> Outcome:
    """How a job of conversions and an empty module ends."""
    return outcome_of(NOTHING, {}, buffers, opaque=memories, conversions=conversions)


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back(kind: str, shape: tuple[int, int]) -> None:
    """Row-major, inferencing, training, column-major: the bits of every element."""
    rows, cols = shape
    dtype, component = np.dtype(DTYPES[kind]), NUMBERS[kind]
    size = dtype.itemsize
    bits = np.random.default_rng(1).integers(0, 256, (rows, cols * size), np.uint8)
    stride, back_stride = cols * size + 48, rows * size + 16
    source = np.full((rows, stride), 0xCC, np.uint8)
    source[:, : cols * size] = bits
    places = [
        MatrixRegion("source", component, 0, 32, stride),
        MatrixRegion("i", component, 2, 64, 0),
        MatrixRegion("t", component, 3, 128, 0),
        MatrixRegion("back", component, 1, 0, back_stride),
    ]
    conversions = tuple(
        LayoutConversion(a, b, rows, cols, after=n > 0, host=n == 2) for n, (a, b) in enumerate(pairwise(places))
    )
    behind = np.concatenate([np.zeros(32, np.uint8), source.reshape(-1)])
    outcome = bound(
        conversions,
        {"source": behind, "back": np.full((cols, back_stride), 0x55, np.uint8)},
        i=OpaqueMemory(component, 2, rows, cols, offset=64),
        t=OpaqueMemory(component, 3, rows, cols, offset=128),
    )
    back = contents(outcome, "back", np.uint8).reshape(cols, back_stride)
    columns = bits.reshape(rows, cols, size).transpose(1, 0, 2).reshape(cols, -1)
    assert np.array_equal(back[:, : rows * size], columns)
    assert (back[:, rows * size :] == 0x55).all()
    assert outcome.memory.keys() == {"source", "back"}


@pytest.mark.parametrize(
    ("source", "through", "back"),
    [
        ("float32", "float16", "float32"),
        ("float32", "e4m3", "float32"),
        ("float16", "e4m3", "float16"),
        ("float16", "e5m2", "float32"),
        ("float32", "e5m2", "float16"),
    ],
)
@pytest.mark.parametrize("layout", OPTIMAL.values())
def test_types_are_converted_to_nearest_even(source: str, through: str, back: str, layout: int) -> None:
    values = np.random.default_rng(3).normal(scale=20, size=(9, 11)).astype(source)
    values[0, :3] = [17, 19, 2.0**-9 * 1.5]  # halfway between neighbours in fp8
    conversions = (
        LayoutConversion(
            MatrixRegion("from", NUMBERS[source], 0, 0, values.strides[0]),
            MatrixRegion("o", NUMBERS[through], layout, 0, 0),
            9,
            11,
        ),
        LayoutConversion(
            MatrixRegion("o", NUMBERS[through], layout, 0, 0), MatrixRegion("to", NUMBERS[back], 0, 0, 64), 9, 11
        ),
    )
    outcome = bound(
        conversions,
        {"from": values, "to": np.zeros((9, 64), np.uint8)},
        o=OpaqueMemory(NUMBERS[through], layout, 9, 11),
    )
    found = contents(outcome, "to", np.uint8).reshape(9, 64)[:, : 11 * np.dtype(back).itemsize].view(back)
    expected = values.astype(np.float32).astype(DTYPES[through]).astype(np.float32)
    assert np.array_equal(found, expected)


def read_back(o: OpaqueMemory) -> Any:
    """The elements of a matrix that nobody wrote."""
    place = MatrixRegion("o", o.component, o.layout, o.offset, 0)
    conversions = (LayoutConversion(place, MatrixRegion("to", o.component, 0, 0, 64), o.rows, o.cols, after=True),)
    return contents(bound(conversions, {"to": np.zeros((o.rows, 64), np.uint8)}, o=o), "to", np.float16)


@pytest.mark.parametrize("layout", OPTIMAL.values())
def test_memory_begins_as_zeros_or_as_no_matrix(layout: int) -> None:
    assert not read_back(OpaqueMemory(0, layout, 5, 7, 64, zero=True)).any()
    with pytest.raises(AssertionError, match=r"a matrix of 5x7 float16 in .*, where no conversion has put one"):
        read_back(OpaqueMemory(0, layout, 5, 7, 64))


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("layout", OPTIMAL.values())
def test_the_module_sees_the_bits_of_the_layout(layout: int, zero: bool) -> None:
    """A module that reads the memory in an ordinary way finds every element once, in secret order, and poison."""
    shape, size = (5, 6), opaque.size(layout, 5, 6, 2)
    values = np.arange(30, dtype=np.float16).reshape(shape)
    code = Code(
        "%o = OpIMul %uint %lane %n2\n%v = OpCooperativeVectorLoadNV %half_v1 %m %o\n"
        "OpCooperativeVectorStoreNV %copy %o %v",
        {}, None, {"m": "half", "copy": "half"}, types=(Vec("half", 1),), lanes=(size + 64) // 2,
    )  # fmt: skip
    conversion = LayoutConversion(MatrixRegion("from", 0, 0, 0, 12), MatrixRegion("o", 0, layout, 64, 0), *shape)
    outcome = outcome_of(
        code,
        {},
        {"from": values, "copy": np.zeros(size + 64, np.uint8)},
        bindings={(0, 0): "o", (0, 1): "copy"},
        opaque={"o": OpaqueMemory(0, layout, *shape, offset=64, zero=zero)},
        conversions=(conversion,),
    )
    seen = contents(outcome, "copy", np.float16)
    assert (seen[:32].view(np.uint16) == (0 if zero else 0xFFFF)).all()
    elements = seen[32:][~np.isnan(seen[32:])]
    assert sorted(elements) == list(range(30))
    assert not np.array_equal(elements, np.arange(30))


def test_a_training_matrix_may_be_scaled_as_an_array() -> None:
    """CV-039: whole elements, padding included, doubled one by one."""
    size = opaque.size(3, 6, 9, 4)
    values = np.random.default_rng(1).normal(size=(6, 9)).astype(np.float32)
    body = "%o = OpIMul %uint %lane %n4\n%v = OpCooperativeVectorLoadNV %float_v1 %m %o\n"
    body += "%w = OpFAdd %float_v1 %v %v\nOpCooperativeVectorStoreNV %m %o %w"
    outcome = outcome_of(
        Code(body, {}, None, {"m": "float"}, types=(Vec("float", 1),), lanes=size // 4),
        {},
        {"from": values, "to": np.zeros((6, 9), np.float32)},
        bindings={(0, 0): "o"},
        opaque={"o": OpaqueMemory(1, 3, 6, 9)},
        conversions=(
            LayoutConversion(MatrixRegion("from", 1, 0, 0, 36), MatrixRegion("o", 1, 3, 0, 0), 6, 9),
            LayoutConversion(MatrixRegion("o", 1, 3, 0, 0), MatrixRegion("to", 1, 0, 0, 36), 6, 9, after=True),
        ),
    )
    assert np.array_equal(contents(outcome, "to", np.float32).reshape(6, 9), values + values)


def test_opaque_memory_by_address() -> None:
    code = Code(
        "%at_word = OpAccessChain %long_pointer %buffer_table %n0 %n0\n%word = OpLoad %u64 %at_word\n"
        "%w = OpBitcast %physical %word\n%a = OpCooperativeVectorLoadNV %half_v4 %src %n0\n%result = "
        + instruction(Vec("float", 3), 4, "float16", "float16", "InferencingOptimal", offset="%n64"),
        {},
        Vec("float", 3),
        {"table": "u64", "src": "half"},
        types=(Vec("half", 4),),
        globals="%physical = OpTypePointer PhysicalStorageBuffer %array_half\n"
        "%long_pointer = OpTypePointer StorageBuffer %u64\n",
        head="OpCapability PhysicalStorageBufferAddresses\n",
        addressing="PhysicalStorageBuffer64",
    )
    words = tools.assemble(code.text())
    assert not (problem := tools.validate(words)), problem
    matrix = np.arange(12, dtype=np.float16).reshape(3, 4)
    buffers = {
        "table": memory(np.zeros(1, np.uint64), (Address(0, "o", 64),)),
        "src": memory(np.array([1, 10, 100, 1000], np.float16)),
        "out": memory(np.zeros((LANES, 3), np.float32)),
        "matrix": memory(matrix),
    }
    outcome = dispatch(
        words,
        buffers,
        bindings={(0, 0): "table", (0, 1): "src", (0, 2): "out"},
        opaque={"o": OpaqueMemory(0, 2, 3, 4, offset=128)},
        conversions=(LayoutConversion(MatrixRegion("matrix", 0, 0, 0, 8), MatrixRegion("o", 0, 2, 128, 0), 3, 4),),
    )
    assert (contents(outcome, "out", np.float32).reshape(-1, 3) == [3210, 7654, 12098]).all()


GOOD = MatrixRegion("a", 0, 0, 0, 16)
ELSEWHERE = MatrixRegion("b", 0, 0, 0, 16)

REFUSED = [
    (MatrixRegion("c", 0, 0, 0, 16), ELSEWHERE, "there is no memory 'c'"),
    (MatrixRegion("a", 0, 0, 0, 15), ELSEWHERE, "a stride of 15 bytes for 8 float16"),
    (MatrixRegion("a", 0, 1, 0, 7), ELSEWHERE, "a stride of 7 bytes for 4 float16"),
    (MatrixRegion("a", 0, 4, 0, 16), ELSEWHERE, "4 is not a memory layout"),
    (MatrixRegion("a", 99, 0, 0, 16), ELSEWHERE, "99 is not a component type"),
    (MatrixRegion("a", 1000491000, 0, 0, 16), ELSEWHERE, "for input vectors only"),
    (MatrixRegion("a", 3, 0, 0, 16), MatrixRegion("b", 4, 0, 0, 16), "int8 does not convert to int16 (VK-054)"),
    (MatrixRegion("a", 1, 0, 0, 32), MatrixRegion("b", 5, 0, 0, 32), "float32 does not convert to int32 (VK-054)"),
    (
        MatrixRegion("a", 1000491002, 0, 0, 16),
        MatrixRegion("b", 1000491003, 0, 0, 16),
        "does not convert to float8_e5m2",
    ),
    (MatrixRegion("a", 2, 0, 0, 64), MatrixRegion("b", 1, 0, 0, 64), "float64 does not convert to float32"),
    (MatrixRegion("a", 0, 0, 1 << 20, 16), ELSEWHERE, "of buffer 'a', which has"),
    (GOOD, MatrixRegion("o", 0, 2, 64, 0), "of opaque memory 'o'"),
]


@pytest.mark.parametrize(("source", "destination", "says"), REFUSED, ids=[says for _, _, says in REFUSED])
def test_conversions_that_are_refused(source: MatrixRegion, destination: MatrixRegion, says: str) -> None:
    buffers = {"a": np.zeros(1024, np.uint8), "b": np.zeros(1024, np.uint8)}
    good = LayoutConversion(GOOD, ELSEWHERE, 4, 8)
    outcome = bound((good, LayoutConversion(source, destination, 4, 8)), buffers, o=OpaqueMemory(0, 2, 4, 8))
    assert not outcome.memory
    assert says in outcome.detail
    assert f"conversion 1 of {source.of!r} to {destination.of!r}" in outcome.detail


def test_opaque_memory_has_an_optimal_layout() -> None:
    outcome = bound((), {}, o=OpaqueMemory(0, 1, 4, 8))
    assert "1 is not an optimal layout" in outcome.detail
