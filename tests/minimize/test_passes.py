"""Each pass of the reducer: in the list, documented, and of use on a case made for it."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from cts.case import model
from cts.findings.reduction import passes
from cts.findings.reduction.interface import Candidate
from cts.findings.reduction.passes import PASSES
from cts.findings.reduction.reducer import reduce_by

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reduction.md"

A = "{component: float16, scope: Subgroup, rows: 8, cols: 8, use: A}"
HEAD = "schema: 1\nname: x\n"
BUFFERS = """\
buffers:
  src: {type: float16, shape: [64], data: {random: {seed: 3, low: -9, high: 9}}}
  dst: {type: float16, shape: [64], data: {fill: 77}}
"""
LOAD = f"  - {{op: MatrixLoad, id: m, type: {A}, buffer: src, stride: 8}}\n"
STORE = "  - {op: MatrixStore, matrix: m, buffer: dst, stride: 8}\n"
#: More than one mode, and more than one width.
MODES = "float_modes: {float16: [DenormPreserve, RoundingModeRTZ], float32: [RoundingModeRTE]}\n"

COPY = HEAD + BUFFERS + "program:\n" + LOAD + STORE

PER_ELEMENT = (
    HEAD
    + "functions:\n  f: {kind: PerElement, type: float16, body: value + value}\n"
    + BUFFERS
    + "program:\n"
    + LOAD
    + "  - {op: MatrixPerElement, id: p, matrix: m, function: f}\n"
    + STORE.replace("matrix: m", "matrix: p")
)

SUM = (
    COPY.replace(STORE, "")
    + "  - {op: MatrixArithmetic, id: s, operation: FAdd, a: m, b: m,"
    + " fast_math: [AllowContract, AllowReassoc, AllowTransform]}\n"
    + STORE.replace("matrix: m", "matrix: s")
)

TENSOR = (
    HEAD
    + BUFFERS
    + f"""\
program:
  - {{op: TensorLayout, id: t, dim: 2}}
  - {{op: TensorLayoutSetDimension, id: t1, of: t, dims: [8, 8]}}
  - {{op: TensorLayoutSlice, id: t2, of: t1, offset: [1, 2], span: [8, 8]}}
  - {{op: TensorLayoutSlice, id: t3, of: t2, offset: [1, 1], span: [8, 8]}}
  - {{op: MatrixConstant, id: z, type: {A}, value: -7}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t3}}
"""
    + STORE
)

LOOP = HEAD + BUFFERS + "program:\n  - {op: Loop, count: 2}\n" + LOAD + STORE + "  - {op: EndLoop}\n"

VECTORS = (
    HEAD
    + """\
dispatch: {invocations: 8}
opaque:
  w: {component: float16, rows: 4, cols: 4, layout: InferencingOptimal, offset: 64}
conversions:
  - source: {of: src, component: float16, layout: RowMajor, stride: 8}
    destination: {of: w}
    rows: 4
    cols: 4
"""
    + BUFFERS
    + """\
program:
  - {op: VectorConstant, id: c, type: {component: float16, length: 4}, values: [1, 2, 3, 4]}
  - op: VectorMatrixMul
    id: r
    type: {component: float16, length: 4}
    input: c
    input_interpretation: float16
    matrix: w
    matrix_interpretation: float16
    m: 4
    k: 4
    layout: InferencingOptimal
  - {op: VectorStore, vector: r, buffer: dst, offset: {literal: 0, inv: 4}}
"""
)


def anything(case: model.Case) -> bool:
    return True


def has(*kinds: type) -> Callable[[model.Case], bool]:
    return lambda case: all(any(isinstance(i, kind) for i in case.program) for kind in kinds)


def copies(case: model.Case) -> bool:
    return has(model.MatrixLoad, model.MatrixStore)(case)


def tall(case: model.Case) -> bool:
    return all(t.rows > 5 for t in model.types_of(case).values() if isinstance(t, model.MatrixShape))


def two_groups(case: model.Case) -> bool:
    return case.dispatch.workgroups[0] > 1


def stores_from_8(case: model.Case) -> bool:
    """To the element of `dst` with index 8."""
    starts = [i.offset for i in case.program if isinstance(i, (model.Pointer, model.MatrixStore))]
    return "dst" in case.buffers and sum(s for s in starts if isinstance(s, int)) == 8


def slices_from_3(case: model.Case) -> bool:
    """The slices of the last dimension come to 3."""
    offsets = [i.offset[-1] for i in case.program if isinstance(i, model.TensorLayoutSlice)]
    return "src" in case.buffers and sum(o for o in offsets if isinstance(o, int)) == 3


def specializes(case: model.Case) -> bool:
    return "spec: 8" in model.dumps_case(case)


def multiplies_by_w(case: model.Case) -> bool:
    return "w" in case.opaque


class Example(NamedTuple):
    """A case, and what of it is interesting, for a pass that is then needed."""

    text: str
    interesting: Callable[[model.Case], bool] = anything


SPEC = COPY.replace("stride: 8", "stride: {spec: 8}")
SHAPED = "dispatch: {subgroups: 4, shape: {y: 2, z: 2}, size_by: SpecLocalSizeId}\n"
POINTER = (
    COPY.replace("program:\n", "program:\n  - {op: Pointer, id: q, buffer: dst, offset: 8}\n")
    .replace("buffer: dst, stride", "buffer: q, stride")
    .replace("dst: {type: float16, shape: [64]", "dst: {type: float16, shape: [128]")
)

EXAMPLES = {
    "fill_with_counts": Example(COPY, lambda case: "src" in case.buffers),
    "use_one_workgroup": Example(COPY.replace(HEAD, HEAD + "dispatch: {workgroups: [2, 1, 1]}\n")),
    "make_program_literal": Example(SPEC),
    "narrow_to_subgroups": Example(COPY.replace("scope: Subgroup", "scope: Workgroup")),
    "use_storage_buffers": Example(COPY.replace("high: 9}}}", "high: 9}}, storage: PhysicalStorageBuffer}")),
    "begin_at_zero": Example(
        COPY.replace("high: 9}}}", "high: 9}}, begins_at: 2147483392}").replace(
            "buffer: src, ", "buffer: src, offset: 1073741696, "
        ),
        has(model.MatrixLoad),
    ),
    "halve_matrices": Example(COPY),
    "halve_invocations": Example(VECTORS),
    "remove_conversions": Example(VECTORS),
    "shorten_vectors": Example(VECTORS),
    "flatten_blocks": Example(LOOP, copies),
    "remove_instructions": Example(COPY + STORE),
    "remove_operands": Example(COPY.replace("stride: 8", "stride: 8, order: ColumnMajor"), copies),
    "make_operands_literal": Example(SPEC, specializes),
    "simplify_vector_operands": Example(VECTORS, has(model.VectorConstant, model.VectorStore)),
    "load_or_fill": Example(COPY),
    "reset_workgroup_shape": Example(COPY.replace(HEAD, HEAD + SHAPED), lambda case: case.dispatch.subgroups == 4),
    "shrink_dispatch": Example(COPY.replace(HEAD, HEAD + "dispatch: {workgroups: [5, 1, 1]}\n"), two_groups),
    "drop_float_controls": Example(COPY.replace(HEAD, HEAD + "float_controls: FastMathNone\n")),
    "drop_fast_math": Example(
        SUM.replace(HEAD, HEAD + "float_controls: FastMathNone\nfast_math: {float16: [NSZ, NotNaN]}\n")
    ),
    "drop_float_modes": Example(COPY.replace(HEAD, HEAD + MODES)),
    "drop_robustness": Example(COPY.replace(HEAD, HEAD + "robustness: robustBufferAccess2\n")),
    "reset_opaque_matrices": Example(VECTORS, multiplies_by_w),
    "merge_slices": Example(TENSOR, slices_from_3),
    "fold_pointers": Example(POINTER, stores_from_8),
    "lower_ranks": Example(TENSOR, has(model.TensorLayout)),
    "shrink_matrices": Example(COPY, tall),
    "simplify_callbacks": Example(PER_ELEMENT, has(model.MatrixPerElement)),
    "lower_operands": Example(COPY, copies),
    "shrink_buffers": Example(COPY),
    "simplify_types": Example(COPY),
    "simplify_contents": Example(COPY),
}


def steps(example: Example) -> list[str]:
    """The passes that took the steps of a reduction, in order."""
    taken = []

    def first(candidates: Iterator[Candidate]) -> Candidate | None:
        found = next((c for c in candidates if example.interesting(c.case)), None)
        if found is not None:
            taken.append(found.by)
        return found

    case = model.loads_case(example.text)
    assert example.interesting(case)
    reduce_by(case, first)
    return taken


def rows() -> dict[str, str]:
    """The table of passes: what each does, by its name."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Passes\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", section, re.MULTILINE))


def test_every_module_is_a_pass_of_the_list() -> None:
    modules = [m.name for m in pkgutil.iter_modules(passes.__path__)]
    assert sorted(p.name for p in PASSES) == sorted(modules)


def test_every_pass_is_documented_in_the_order_of_the_list() -> None:
    assert list(rows()) == [p.name for p in PASSES]


@pytest.mark.parametrize("name", [p.name for p in PASSES])
def test_the_page_says_what_the_module_says(name: str) -> None:
    described = import_module(f"cts.findings.reduction.passes.{name}").__doc__
    assert described is not None
    assert rows()[name] == described.rstrip(".")


@pytest.mark.parametrize("name", [p.name for p in PASSES])
def test_every_pass_takes_a_step(name: str) -> None:
    assert name in steps(EXAMPLES[name])
