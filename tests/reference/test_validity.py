"""Every rule: a case that breaks it, and a neighbour that barely does not."""

from __future__ import annotations

import pytest

from cts.case.model import Case
from cts.case.oracle.expectation import Violation
from cts.reference import ORACLE
from tests.reference.cases import case_of

WORKGROUP = "{component: float16, scope: Workgroup, rows: 16, cols: 16, use: Accumulator}"


def rules(case: Case) -> list[tuple[str, str]]:
    found = ORACLE.violations(case)
    assert all(isinstance(v, Violation) and v.what and v.remedy for v in found)
    return [(v.rule, v.path) for v in found]


def load(layout: str, clamp: str = "Constant", view: str = "", offset: str = "0", dim: int = 2, **options: str) -> Case:
    """A constant, a tensor load with these layout (t) and view (v) setters, and a store of the result."""
    use = ", view: v" if view else ""
    return case_of(
        f"op: MatrixConstant, id: z, type: MATRIX, value: 0\nop: TensorLayout, id: t0, dim: {dim}, clamp: {clamp}\n"
        f"{layout}\n{view}\n".replace("\n\n", "\n")
        + f"op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t{use}, offset: {offset}\n"
        "op: MatrixStore, matrix: m, buffer: dst, stride: 16",
        **options,
    )


def store(layout: str, view: str = "", clamp: str = "Constant", dim: int = 2, **options: str) -> Case:
    """A constant and a tensor store of it to `src`."""
    use = ", view: v" if view else ""
    return case_of(
        f"op: MatrixConstant, id: z, type: MATRIX, value: 0\nop: TensorLayout, id: t0, dim: {dim}, clamp: {clamp}\n"
        f"{layout}\n{view}\n".replace("\n\n", "\n")
        + f"op: MatrixStoreTensor, matrix: z, buffer: src, layout: t{use}",
        **options,
    )


def khr(load_fields: str, store_fields: str = "stride: 16", matrix: str = "", **options: str) -> Case:
    matrix_option = {"matrix": matrix} if matrix else {}
    return case_of(
        f"op: MatrixLoad, id: m, type: MATRIX, buffer: src, {load_fields}\n"
        f"op: MatrixStore, matrix: m, buffer: dst, {store_fields}",
        **matrix_option,
        **options,
    )


def dims(values: str, result: str = "t", of: str = "t0") -> str:
    return f"op: TensorLayoutSetDimension, id: {result}, of: {of}, dims: {values}"


def sliced(offset: str, span: str = "[16, 16]", size: str = "[32, 32]") -> str:
    return dims(size, "t1") + f"\nop: TensorLayoutSlice, id: t, of: t1, offset: {offset}, span: {span}"


def blocked(size: str) -> str:
    return f"op: TensorLayoutSetBlockSize, id: tb, of: t0, block_size: {size}\n" + dims("[32, 32]", "t", "tb")


def strided(strides: str, size: str = "[8, 16]") -> str:
    return dims(size, "t1") + f"\nop: TensorLayoutSetStride, id: t, of: t1, strides: {strides}"


def view(fields: str = "", has: bool = True, permutation: str = "[0, 1]", setter: str = "") -> str:
    n = permutation.count(",") + 1
    lines = f"op: TensorView, id: v0, dim: {n}, has_dimensions: {str(has).lower()}, permutation: {permutation}"
    return lines + f"\nop: TensorView{setter}, id: v, of: v0, {fields}"


def view_dims(values: str) -> str:
    return view(f"dims: {values}", setter="SetDimension")


def clip(fields: str, has: bool = False) -> str:
    row_offset, row_span, col_offset, col_span = fields.split()
    return view(
        f"row_offset: {row_offset}, row_span: {row_span}, col_offset: {col_offset}, col_span: {col_span}",
        has=has,
        setter="SetClip",
    )


BREAKING = {
    "undefined below": (load(sliced("[-1, 0]"), "Undefined"), "TA-060", "program[4].layout"),
    "undefined above": (load(sliced("[0, 17]"), "Undefined"), "TA-060", "program[4].layout"),
    "undefined on a store": (store(sliced("[17, 0]"), clamp="Undefined"), "TA-060", "program[4].layout"),
    "fresh layout": (load("op: TensorLayoutSetClampValue, id: t, of: t0, value: 3"), "TA-061", "program[3].layout"),
    "span 0": (load(sliced("[0, 0]", "[16, 0]")), "TA-061", "program[4].layout"),
    "span 0 on a store": (store(sliced("[0, 0]", "[0, 16]")), "TA-061", "program[4].layout"),
    "view dimension 0": (load(dims("[32, 32]"), view=view_dims("[16, 0]")), "TA-061", "program[5].view"),
    "block size 0, used": (
        load(dims("[32, 32]", "t1") + "\nop: TensorLayoutSetBlockSize, id: t, of: t1, block_size: [0, 1]"),
        "TA-062",
        "program[4].layout",
    ),
    "dimension 0 to the edge": (load(sliced("[0, 0]", size="[32, 0]"), "ClampToEdge"), "AM-57", "program[4].layout"),
    "dimension 0 mirrored": (load(sliced("[0, 0]", size="[32, 0]"), "RepeatMirrored"), "AM-57", "program[4].layout"),
    "dimension 0 repeated": (load(sliced("[0, 0]", size="[32, 0]"), "Repeat"), "TA-063", "program[4].layout"),
    "dimension 2^31 repeated, below it": (
        load(sliced("[-1, 0]", size=f"[{2**31}, 32]"), "Repeat"),
        "AM-57",
        "program[4].layout",
    ),
    "dimension 2^31 to the edge, below it": (
        load(sliced("[-1, 0]", size=f"[{2**31}, 32]"), "ClampToEdge"),
        "AM-57",
        "program[4].layout",
    ),
    "dimension 2^30 + 1 mirrored, below it": (
        load(sliced("[-1, 0]", size=f"[{2**30 + 1}, 32]"), "RepeatMirrored"),
        "AM-57",
        "program[4].layout",
    ),
    "mirrored dimension of 1": (
        load(sliced("[0, 0]", "[2, 16]", size="[1, 32]"), "RepeatMirrored"),
        "TA-063",
        "program[4].layout",
    ),
    "stride below the row": (load(strided("[15, 1]")), "TA-064", "program[3].strides[0]"),
    "stride below, in the second dimension": (
        load(
            "op: TensorLayoutSetDimension, id: t1, of: t0, dims: [2, 4, 6]\n"
            "op: TensorLayoutSetStride, id: t, of: t1, strides: [900, 11, 2]",
            dim=3,
        ),
        "TA-064",
        "program[3].strides[1]",
    ),
    "view without dimensions of a rank above the layout's": (
        load(dims("[32, 32]"), view=view("strides: [1, 1, 1]", has=False, permutation="[0, 1, 2]", setter="SetStride")),
        "TA-065",
        "program[5].view",
    ),
    "store wraps in a small span": (store(sliced("[0, 0]", "[15, 16]")), "TA-067", "program[4].layout"),
    "store through a broadcasting view": (
        store(
            dims("[16, 16]"),
            view=view_dims("[16, 16]").replace("id: v,", "id: v1,")
            + "\nop: TensorViewSetStride, id: v, of: v1, strides: [0, 1]",
        ),
        "TA-067",
        "program[6].layout",
    ),
    "store with inner stride 0": (store(strided("[16, 0]", "[16, 16]")), "TA-067", "program[4].layout"),
    "block size on a store": (store(blocked("[1, 2]")), "TA-068", "program[4].layout"),
    "load past the end": (load(sliced("[17, 0]", size="[33, 32]")), "TA-069", "program[4].layout"),
    "store past the end": (store(sliced("[17, 0]", size="[33, 32]")), "TA-069", "program[4].layout"),
    "one element past the end": (load(sliced("[0, 1]"), offset="528"), "TA-069", "program[4].layout"),
    "KHR load past the end": (khr("stride: 64, offset: 64"), "TA-069", "program[0].stride"),
    "KHR store past the end": (khr("stride: 32", "stride: 16, offset: 8"), "TA-069", "program[1].stride"),
    "pointer outside": (khr("stride: 32, offset: -8"), "TA-069", "program[0].offset"),
    "index past 4 GiB": (
        load(
            dims("[65536, 65536]", "t1") + "\nop: TensorLayoutSlice, id: t, of: t1, offset: [65535, 0], span: [16, 16]"
        ),
        "TA-042",
        "program[4].layout",
    ),
    "tensor pointer unaligned": (load(sliced("[0, 0]"), offset="4"), "TA-070", "program[4].offset"),
    "KHR pointer unaligned": (khr("stride: 32, offset: 4"), "VK-040", "program[0].offset"),
    "pointer to blocks unaligned": (
        khr("stride: 2, order: RowBlockedInterleavedARM, offset: 4"),
        "AM-59",
        "program[0].offset",
    ),
    "KHR stride unaligned": (khr("stride: 20"), "VK-040", "program[0].stride"),
    "KHR column-major stride unaligned": (
        khr("stride: 4, order: ColumnMajor", matrix="{component: float16, scope: Subgroup, rows: 8, cols: 2, use: A}"),
        "VK-040",
        "program[0].stride",
    ),
    "negative stride of a load": (khr("stride: -16, offset: 512"), "KM-013", "program[0].stride"),
    "stride 0 of a store": (
        khr("stride: 0", "stride: 0", matrix="{component: float16, scope: Subgroup, rows: 1, cols: 16, use: A}"),
        "KM-013",
        "program[1].stride",
    ),
    "overlapping rows of a KHR store": (khr("stride: 32", "stride: 8"), "TA-067", "program[1].stride"),
    "two workgroups at one place": (
        khr("stride: 32", dispatch="{workgroups: [2, 1, 1]}"),
        "TA-044",
        "program[1].stride",
    ),
    "two subgroups at one place": (khr("stride: 32", dispatch="{subgroups: 2}"), "TA-044", "program[1].stride"),
    "two stores at one place": (
        case_of(
            "op: MatrixConstant, id: a, type: MATRIX, value: 0\nop: MatrixStore, matrix: a, buffer: src, stride: 32\n"
            "op: MatrixStore, matrix: a, buffer: src, stride: 32, offset: 488"
        ),
        "TA-044",
        "program[2].buffer",
    ),
    "read before it is written": (
        case_of(
            "op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32\n"
            "op: MatrixStore, matrix: m, buffer: src, stride: 32, offset: 488"
        ),
        "TA-044",
        "program[1].buffer",
    ),
    "written before it is read": (
        case_of(
            "op: MatrixConstant, id: a, type: MATRIX, value: 0\n"
            "op: MatrixStore, matrix: a, buffer: src, stride: 32, offset: 488\n"
            "op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32"
        ),
        "TA-044",
        "program[2].buffer",
    ),
    "read by one workgroup, written by another": (
        case_of(
            "op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32, offset: {literal: 0, wg.x: 16}\n"
            "op: MatrixStore, matrix: m, buffer: src, stride: 32, offset: {literal: 16, wg.x: 496}",
            dispatch="{workgroups: [2, 1, 1]}",
        ),
        "TA-044",
        "program[1].buffer",
    ),
    "subgroup term on a workgroup matrix": (
        khr("stride: {literal: 32, sg: 16}", dispatch="{subgroups: 2}", matrix=WORKGROUP),
        "TA-071",
        "program[0].stride",
    ),
    "subgroup term in a workgroup matrix's layout": (
        load(sliced("[{literal: 0, sg: 1}, 0]"), dispatch="{subgroups: 2}", matrix=WORKGROUP),
        "TA-071",
        "program[3].offset[0]",
    ),
    "subgroup term in a workgroup matrix's view": (
        load(dims("[32, 32]"), view=view_dims("[16, {spec: 16, sg: 1}]"), dispatch="{subgroups: 2}", matrix=WORKGROUP),
        "TA-071",
        "program[4].dims[1]",
    ),
    "three subgroups with a workgroup matrix": (
        khr("stride: 32", dispatch="{subgroups: 3}", matrix=WORKGROUP),
        "VK-025",
        "dispatch.subgroups",
    ),
}

VALID = {
    "undefined, to the last element": load(sliced("[16, 16]"), "Undefined"),
    "undefined outside the clip": load(sliced("[24, 24]", "[8, 8]"), "Undefined", view=clip("0 8 0 8")),
    "span of 1": load(sliced("[0, 0]", "[1, 1]")),
    "unused layout with span 0": case_of("op: TensorLayout, id: t, dim: 2"),
    "block size 0, replaced before use": load(
        "op: TensorLayoutSetBlockSize, id: ta, of: t0, block_size: [0, 0]\n"
        "op: TensorLayoutSetBlockSize, id: tb, of: ta, block_size: [2, 2]\n" + dims("[32, 32]", "t", "tb")
    ),
    "dimension 0, constant": load(sliced("[0, 0]", size="[32, 0]")),
    "dimension 0, store": store(sliced("[0, 0]", size="[32, 0]"), clamp="ClampToEdge"),
    "dimension 2^31 - 1 to the edge, below it": load(sliced("[-1, 0]", size=f"[{2**31 - 1}, 32]"), "ClampToEdge"),
    "dimension 2^31 repeated, inside": load(sliced("[0, 0]", size=f"[{2**31}, 32]"), "Repeat"),
    "dimension 2^30 mirrored, below it": load(sliced("[-1, 0]", size=f"[{2**30}, 32]"), "RepeatMirrored"),
    "dimension 2^30 + 1 mirrored, inside": load(sliced("[0, 0]", size=f"[{2**30 + 1}, 32]"), "RepeatMirrored"),
    "dimension 0 to the edge, all clipped": load(
        sliced("[0, 0]", size="[32, 0]"), "ClampToEdge", view=clip("1 0xFFFFFFFF 0 16")
    ),
    "mirrored dimension of 1, in bounds": load(sliced("[0, 0]", "[1, 32]", size="[1, 32]"), "RepeatMirrored"),
    "mirrored dimension of 1, store": store(sliced("[0, 0]", "[16, 16]", size="[1, 32]"), clamp="RepeatMirrored"),
    "stride of exactly the row": load(strided("[16, 1]")),
    "stride in blocks": load(
        "op: TensorLayoutSetBlockSize, id: tb, of: t0, block_size: [1, 5]\n"
        + dims("[8, 16]", "t1", "tb")
        + "\nop: TensorLayoutSetStride, id: t, of: t1, strides: [4, 1]"
    ),
    "inner stride": load(strided("[32, 2]")),
    "view of another rank with dimensions": load(
        dims("[32, 32]"), view=view("dims: [256]", permutation="[0]", setter="SetDimension")
    ),
    "view without dimensions of a rank below the layout's": load(
        dims("[32, 32]"), view=view("strides: [1]", has=False, permutation="[0]", setter="SetStride")
    ),
    "clip rows wrap": load(dims("[32, 32]"), view=clip("1 0xFFFFFFFF 0 16")),
    "clip columns wrap": load(dims("[32, 32]"), view=clip("0 16 16 0xFFFFFFF0")),
    "clip to the last row": load(dims("[32, 32]"), view=clip("15 0xFFFFFFF0 0 0xFFFFFFFF")),
    "store to a span of its own size": store(sliced("[3, 3]", "[16, 16]")),
    "store with a wrapping span, clipped": store(sliced("[0, 0]", "[15, 16]"), view=clip("0 15 0 16")),
    "store that wraps where it is discarded": store(sliced("[0, 0]", "[32, 8]", size="[32, 8]")),
    "block size on a load": load(blocked("[3, 2]")),
    "to the last byte": khr("stride: 64, offset: 48"),
    "tensor load to the last byte": load(sliced("[0, 0]"), offset="528"),
    "past the end, but clamped": load(sliced("[17, 0]")),
    "tensor pointer aligned": load(sliced("[0, 0]"), offset="8"),
    "KHR pointer aligned to a short row": khr(
        "stride: 4, offset: 4", "stride: 4", matrix="{component: float16, scope: Subgroup, rows: 8, cols: 4, use: A}"
    ),
    "KHR column-major aligned to a short column": khr(
        "stride: 6, order: ColumnMajor, offset: 2",
        "stride: 2, order: ColumnMajor",
        matrix="{component: float16, scope: Subgroup, rows: 2, cols: 8, use: A}",
    ),
    "stride 0 of a load": khr("stride: 0"),
    "two workgroups side by side": khr(
        "stride: 32",
        "stride: 16, offset: {literal: 0, wg.x: 128}",
        dispatch="{workgroups: [2, 1, 1]}",
        matrix="{component: float16, scope: Subgroup, rows: 8, cols: 16, use: A}",
    ),
    "reads and writes next to each other": case_of(
        "op: MatrixLoad, id: m, type: MATRIX, buffer: src, stride: 32\n"
        "op: MatrixStore, matrix: m, buffer: src, stride: 32, offset: 16"
    ),
    "two loads of one place": case_of(
        "op: MatrixLoad, id: a, type: MATRIX, buffer: src, stride: 32\n"
        "op: MatrixLoad, id: b, type: MATRIX, buffer: src, stride: 32"
    ),
    "subgroup term with one subgroup": khr("stride: {literal: 32, sg: 16}", matrix=WORKGROUP),
    "workgroup term on a workgroup matrix": khr(
        "stride: {literal: 32, wg.x: 16}", dispatch="{subgroups: 2}", matrix=WORKGROUP
    ),
    "four subgroups with a workgroup matrix": khr("stride: 32", dispatch="{subgroups: 4}", matrix=WORKGROUP),
    "three subgroups with subgroup matrices": khr(
        "stride: 32",
        "stride: 16, offset: {literal: 0, sg: 80}",
        dispatch="{subgroups: 3}",
        matrix="{component: float16, scope: Subgroup, rows: 5, cols: 16, use: A}",
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_breaking_case_is_refused_by_its_rule(name: str) -> None:
    case, rule, path = BREAKING[name]
    assert rules(case) == [(rule, path)]


@pytest.mark.parametrize("name", VALID)
def test_nearly_breaking_case_is_valid(name: str) -> None:
    assert rules(VALID[name]) == []


def test_block_size_0_is_undefined_where_strides_are_computed() -> None:
    case = load(blocked("[0, 1]"))
    assert rules(case) == [("TA-062", "program[3].of"), ("TA-062", "program[4].layout")]


def test_wrap_around_is_no_violation() -> None:
    """TA-075: an offset that wraps past 2^32 back into bounds."""
    case = load(
        sliced(f"[{2**31}, 0]").replace("id: t,", "id: t2,")
        + f"\nop: TensorLayoutSlice, id: t, of: t2, offset: [{2**31}, 0], span: [16, 16]",
        "Undefined",
    )
    assert rules(case) == []


def test_violation_says_what_and_what_would_be_right() -> None:
    (violation,) = ORACLE.violations(load(sliced("[0, 0]"), offset="4"))
    assert "8 bytes into the buffer" in violation.what
    assert "multiple of 16 bytes" in violation.remedy
