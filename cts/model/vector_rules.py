"""The types of cooperative vector instructions: what each makes of its operands' types, and what it asks of them.

`derived` yields problems and, last, the type of the result where there is one. Rules about values are
`cts.reference.validity`'s; which combinations of types a device multiplies, its capabilities'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import TypeAlias

from msgspec import structs

from cts.model import vectors as vec
from cts.model.component import ComponentType
from cts.model.instruction import Instruction
from cts.model.matrices import MulAddOperand
from cts.model.matrix_rules import represents
from cts.model.opaque import OpaqueMatrix
from cts.model.operand import SpecInt, constant_of
from cts.model.types import Problem, ScalarType, VectorShape
from cts.model.vectors import (
    Interpretation,
    MatrixLayout,
    SpecInterpretation,
    SpecLayout,
    VectorConversion,
    VectorOperation,
    VectorType,
)

Result: TypeAlias = VectorType | ScalarType
Found: TypeAlias = Iterator[Problem | Result]

_O = VectorOperation
_ONE = (_O.SNegate, _O.FNegate, _O.Not, _O.Exp, _O.Log, _O.Tanh, _O.Atan)
_THREE = (_O.FClamp, _O.UClamp, _O.SClamp, _O.NClamp, _O.Fma)
_FLOATING = frozenset(
    o
    for o in _O
    if (o.value.startswith(("F", "N")) and o is not _O.Not) or o in (_O.Step, _O.Exp, _O.Log, _O.Tanh, _O.Atan)
)


class Vectors:
    """The vectors and scalars that an instruction refers to, and the case's opaque matrices."""

    def __init__(
        self,
        shapes: Mapping[str, VectorShape],
        scalars: Mapping[str, ScalarType],
        opaque: Mapping[str, OpaqueMatrix],
    ) -> None:
        self.shapes = shapes
        self.scalars = scalars
        self.opaque = opaque

    def __getitem__(self, name: str) -> VectorShape:
        return self.shapes[name]


def interpretation_of(declared: Interpretation | SpecInterpretation) -> Interpretation:
    """The interpretation, however it is delivered."""
    return declared.spec if isinstance(declared, SpecInterpretation) else declared


def layout_of(declared: MatrixLayout | SpecLayout) -> MatrixLayout:
    """The matrix layout, however it is delivered."""
    return declared.spec if isinstance(declared, SpecLayout) else declared


def operand_count(operation: VectorOperation) -> int:
    """How many vectors an operation takes."""
    return 1 if operation in _ONE else 3 if operation in _THREE else 2


@singledispatch
def derived(instruction: Instruction, vectors: Vectors) -> Found:
    """The problems of a vector instruction whose references are sound, and the type of its result."""
    raise AssertionError(f"no typing rule for {type(instruction).__name__}")


@derived.register
def _constant(i: vec.VectorConstant, vectors: Vectors) -> Found:
    """CV-011, KM-021."""
    if (i.value is None) == (i.values is None):
        given = "nothing" if i.value is None else "value and values"
        yield Problem("value", f"{given} is given", "one of `value` and `values`")
        return
    if i.value is not None:
        yield from represents("value", i.type.component, i.value)
    if i.values is not None:
        length = constant_of(i.type.length)
        if len(i.values) != length:
            yield Problem("values", f"{len(i.values)} values", f"{length}, one for each component", "CV-011")
        for n, value in enumerate(i.values):
            yield from represents(f"values[{n}]", i.type.component, value)
    if isinstance(i.type.length, SpecInt) and not i.replicated:
        yield Problem("replicated", "a length by specialization", "`replicated: true`", "KM-021")
    if i.replicated and i.value is None:
        yield Problem("replicated", "nothing to replicate", "a single `value`", "KM-021")
    yield i.type


@derived.register
def _null(i: vec.VectorNull, vectors: Vectors) -> Found:
    """CV-011."""
    yield i.type


@derived.register
def _load(i: vec.VectorLoad, vectors: Vectors) -> Found:
    yield i.type


@derived.register
def _store(i: vec.VectorStore, vectors: Vectors) -> Found:
    yield from ()


@derived.register
def _construct(i: vec.VectorConstruct, vectors: Vectors) -> Found:
    """CV-011."""
    length = 0
    for n, name in enumerate(i.parts):
        part = vectors.shapes.get(name) or vectors.scalars[name]
        length += part.length if isinstance(part, VectorShape) else 1
        if part.component is not i.type.component:
            right = i.type.component.value
            yield Problem(f"parts[{n}]", f"components {part.component.value}", right, "CV-011")
    if len(i.parts) == 1 and i.parts[0] in vectors.shapes:
        right = "two parts at least, or a scalar for each component"
        yield Problem("parts", "one whole vector and nothing else", right, "CV-011")
    if length != constant_of(i.type.length):
        yield Problem("parts", f"{length} components", f"{constant_of(i.type.length)}, as the type has", "CV-011")
    if isinstance(i.type.length, SpecInt):
        yield Problem("type.length", "a length by specialization", "a literal length", "CV-011")
    yield i.type


@derived.register
def _extract(i: vec.VectorExtract, vectors: Vectors) -> Found:
    yield ScalarType(vectors[i.vector].component)


@derived.register
def _insert(i: vec.VectorInsert, vectors: Vectors) -> Found:
    yield from _scalar(i.scalar, vectors[i.vector].component, vectors)
    yield vectors[i.vector].declared


def _scalar(name: str, component: ComponentType, vectors: Vectors) -> Iterator[Problem]:
    found = vectors.scalars[name].component
    if found is not component:
        yield Problem("scalar", f"{name!r} is of type {found.value}", f"type {component.value}", "CV-011")


@derived.register
def _arithmetic(i: vec.VectorArithmetic, vectors: Vectors) -> Found:
    """CV-012."""
    a, count = vectors[i.a], operand_count(i.operation)
    given = [n for n in (i.a, i.b, i.c) if n is not None]
    if len(given) != count or (i.b is None and i.c is not None):
        yield Problem("a", f"{i.operation.value} of {len(given)} vectors", f"{count} vectors", "CV-012")
    for field, name in (("b", i.b), ("c", i.c)):
        if name is not None and vectors[name].declared != a.declared:
            yield Problem(field, "a vector of another type than a", "vectors of one type, declared alike", "CV-012")
    if i.operation is _O.UDiv and a.component.is_signed:
        yield Problem("a", f"UDiv of {a.component.value}", "unsigned components: SPIR-V asks for them", "CV-012")
    yield from _computes("a", a.component, i.operation in _FLOATING)
    yield a.declared


def _computes(field: str, component: ComponentType, floating: bool) -> Iterator[Problem]:
    if component.storage_only:
        yield Problem(field, f"no arithmetic on {component.value}", "float16, float32 or integers", "NU-034")
    elif component.is_float != floating:
        right = "float components" if floating else "integer components"
        yield Problem(field, f"components are {component.value}", right, "CV-012")


@derived.register
def _times_scalar(i: vec.VectorTimesScalar, vectors: Vectors) -> Found:
    component = vectors[i.vector].component
    yield from _computes("vector", component, True)
    if (i.scalar is None) == (i.value is None):
        yield Problem("scalar", "no scalar, or two", "one of `scalar` and `value`")
    elif i.scalar is not None:
        yield from _scalar(i.scalar, component, vectors)
    elif i.value is not None:
        yield from represents("value", component, i.value)
    yield vectors[i.vector].declared


@derived.register
def _convert(i: vec.VectorConvert, vectors: Vectors) -> Found:
    """CV-012."""
    source = vectors[i.vector]
    name = i.operation.value
    from_float = name.startswith(("F", "ConvertF"))
    to_float = name.endswith("ToF") or i.operation is VectorConversion.FConvert
    for field, component, is_float in (("vector", source.component, from_float), ("component", i.component, to_float)):
        if component.is_float != is_float:
            right = "a float type" if is_float else "an integer type"
            yield Problem(field, f"{name} with {component.value}", right, "CV-012")
    if i.operation in (VectorConversion.UConvert, VectorConversion.ConvertFToU) and i.component.is_signed:
        right = "an unsigned integer type: SPIR-V asks for it"
        yield Problem("component", f"{name} to {i.component.value}", right, "CV-012")
    same_width = source.component.size == i.component.size
    if i.operation in (VectorConversion.SConvert, VectorConversion.UConvert) and same_width:
        yield Problem("component", f"{name} to the same width", "another width, or VectorBitcast")
    if source.component is i.component:
        yield Problem("component", f"already {i.component.value}", "another component type")
    yield structs.replace(source.declared, component=i.component)


@derived.register
def _bitcast(i: vec.VectorBitcast, vectors: Vectors) -> Found:
    source = vectors[i.vector]
    if source.component.size != i.component.size or source.component is i.component:
        what = f"{source.component.value} as {i.component.value}"
        yield Problem("component", what, "another type of the same width", "CV-012")
    yield structs.replace(source.declared, component=i.component)


@derived.register
def _multiply(i: vec.VectorMatrixMul, vectors: Vectors) -> Found:
    """CV-016, CV-018."""
    source, m, k = vectors[i.input], constant_of(i.m), constant_of(i.k)
    assert isinstance(m, int) and isinstance(k, int)
    if constant_of(i.type.length) != m:
        yield Problem("type.length", f"{constant_of(i.type.length)} components", f"M = {m}", "CV-016")
    if i.type.component not in _RESULTS:
        right = ", ".join(c.value for c in _RESULTS)
        yield Problem("type.component", f"a result of {i.type.component.value}", right, "CV-016")
    reading = interpretation_of(i.input_interpretation)
    needed = -(-k // 4) if reading.packed else k
    if reading.packed and source.component is not ComponentType.uint32:
        yield Problem("input", f"packed components in {source.component.value}", "a vector of uint32", "CV-016")
    if source.length < needed or (source.length > needed and not reading.packed):
        yield Problem("input", f"{source.length} components", f"{needed} for K = {k}", "CV-016")
    for field in ("matrix_interpretation", "bias_interpretation"):
        declared = getattr(i, field)
        if declared is not None and interpretation_of(declared).packed:
            yield Problem(field, "packed", "an unpacked type: only inputs are packed", "CV-036b")
    if (i.bias is None) != (i.bias_interpretation is None):
        yield Problem("bias_interpretation", "a bias by half", "`bias` and `bias_interpretation`, or neither")
    unknown = set(i.operands) - {MulAddOperand.MatrixBSigned, MulAddOperand.MatrixResultSigned}
    if unknown:
        names = ", ".join(sorted(o.value for o in unknown))
        yield Problem("operands", names, "MatrixBSigned (the input) and MatrixResultSigned", "CV-017")
    layout = layout_of(i.layout)
    if constant_of(i.transpose) and not layout.optimal:
        yield Problem("transpose", f"with {layout.value}", "an optimal layout", "CV-018")
    yield from _is_opaque("matrix", i.matrix, layout, vectors)
    if layout.optimal and i.matrix in vectors.opaque:
        matrix = vectors.opaque[i.matrix]
        extents = (k, m) if constant_of(i.transpose) else (m, k)
        if (matrix.rows, matrix.cols) != extents:
            what, right = f"a {matrix.rows}x{matrix.cols} matrix", f"{extents[0]}x{extents[1]}"
            yield Problem("matrix", what, right, "CV-018")
        if matrix.component is not interpretation_of(i.matrix_interpretation).component:
            right = matrix.component.value
            yield Problem("matrix_interpretation", "another type than the matrix is of", right, "CV-035")
    yield i.type


#: CV-016: 32-bit integers, 16- and 32-bit floats.
_RESULTS = tuple(t for t in ComponentType if t.is_ieee or (not t.is_float and t.size == 4))


def _is_opaque(field: str, name: str, layout: MatrixLayout, vectors: Vectors) -> Iterator[Problem]:
    """An optimal layout goes with an opaque matrix of that layout, others with a buffer."""
    found = vectors.opaque.get(name)
    if layout.optimal and found is None:
        yield Problem(
            field, f"{name!r} is not an opaque matrix", f"one of {', '.join(sorted(vectors.opaque)) or 'none'}"
        )
    elif found is not None and found.layout is not layout:
        yield Problem("layout", f"{layout.value} of a matrix in {found.layout.value}", found.layout.value)


@derived.register
def _outer_product(i: vec.VectorOuterProductAccumulate, vectors: Vectors) -> Found:
    """CV-020, CV-037."""
    a, b = vectors[i.a], vectors[i.b]
    if a.component is not b.component or a.component is not ComponentType.float16:
        yield Problem("a", f"{a.component.value} and {b.component.value}", "float16 and float16", "CV-037")
    reading, layout = interpretation_of(i.interpretation), layout_of(i.layout)
    if reading.packed or not reading.component.is_ieee:
        yield Problem("interpretation", reading.value, "float16 or float32", "CV-037")
    if layout is not MatrixLayout.TrainingOptimal:
        yield Problem("layout", layout.value, "TrainingOptimal", "CV-037")
    yield from _is_opaque("matrix", i.matrix, layout, vectors)
    matrix = vectors.opaque.get(i.matrix)
    if matrix is not None and (matrix.rows, matrix.cols) != (a.length, b.length):
        what = f"a {matrix.rows}x{matrix.cols} matrix"
        yield Problem("matrix", what, f"{a.length}x{b.length}, as the vectors are long", "CV-020")
    if matrix is not None and matrix.component is not reading.component:
        yield Problem("interpretation", reading.value, matrix.component.value, "CV-020")


@derived.register
def _reduce_sum(i: vec.VectorReduceSumAccumulate, vectors: Vectors) -> Found:
    """CV-037."""
    component = vectors[i.vector].component
    if not component.is_ieee:
        yield Problem("vector", f"components {component.value}", "float16 or float32", "CV-037")
