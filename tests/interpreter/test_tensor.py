"""Cooperative matrices and tensor addressing, against matrices written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from cts.drivers.interpreter import Interpreter
from cts.drivers.interpreter.matrices.addressing import elements
from cts.drivers.interpreter.types import TensorLayout, TensorView
from cts.drivers.interpreter.values import Layout, View, zero
from cts.spirv import tools
from tests.interpreter.modules import contents, dispatch, memory

FILL = 99


def module(
    body: str,
    *,
    clamp: int = 2,
    rows: int = 2,
    cols: int = 3,
    globals_: str = "",
    decorations: str = "",
    scope: int = 3,
    invocations: int = 32,
) -> Any:
    """uint matrices %m, a 2-dimensional layout type %t and fresh layout %l, `src` and `dst` pointers, and `body`."""
    constants = "\n".join(f"%u{n} = OpConstant %uint {n}" for n in (*range(17), FILL))
    words = tools.assemble(f"""
OpCapability Shader
OpCapability GroupNonUniform
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpCapability TensorAddressingNV
OpCapability CooperativeMatrixTensorAddressingNV
OpCapability CooperativeMatrixBlockLoadsNV
OpExtension "SPV_KHR_cooperative_matrix"
OpExtension "SPV_NV_tensor_addressing"
OpExtension "SPV_NV_cooperative_matrix2"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %src %dst %subgroup %workgroup
OpExecutionMode %main LocalSize {invocations} 1 1
OpName %loaded "loaded"
OpDecorate %subgroup BuiltIn SubgroupId
OpDecorate %workgroup BuiltIn WorkgroupId
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %src DescriptorSet 0
OpDecorate %src Binding 0
OpDecorate %dst DescriptorSet 0
OpDecorate %dst Binding 1
{decorations}
%void = OpTypeVoid
%bool = OpTypeBool
%true = OpConstantTrue %bool
%false = OpConstantFalse %bool
%int = OpTypeInt 32 1
%uint = OpTypeInt 32 0
%v3uint = OpTypeVector %uint 3
{constants}
%i_1 = OpConstant %int -1
%i_2 = OpConstant %int -2
%scope = OpConstant %uint {scope}
%rows = OpConstant %uint {rows}
%cols = OpConstant %uint {cols}
%procedure = OpTypeFunction %void
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%block_pointer = OpTypePointer StorageBuffer %block
%word_pointer = OpTypePointer StorageBuffer %uint
%uint_input = OpTypePointer Input %uint
%v3uint_input = OpTypePointer Input %v3uint
%src = OpVariable %block_pointer StorageBuffer
%dst = OpVariable %block_pointer StorageBuffer
%subgroup = OpVariable %uint_input Input
%workgroup = OpVariable %v3uint_input Input
%m = OpTypeCooperativeMatrixKHR %uint %scope %rows %cols %u2
%object = OpConstantComposite %m %u{FILL}
%clamp = OpConstant %uint {clamp}
%t = OpTypeTensorLayoutNV %u2 %clamp
{globals_}
%main = OpFunction %void None %procedure
%start = OpLabel
%l = OpCreateTensorLayoutNV %t
%from = OpAccessChain %word_pointer %src %u0 %u0
%to = OpAccessChain %word_pointer %dst %u0 %u0
%sg = OpLoad %uint %subgroup
{body}
OpReturn
OpFunctionEnd
""")
    assert not (problem := tools.validate(words)), problem
    return words


STORE = "\nOpCooperativeMatrixStoreKHR %to %loaded %u0 %cols\n"


def run(words: Any, count: int = 6, src: Any = None, **job: Any) -> Outcome:
    """The tensor is 4 x 5, element (r, c) = 10 r + c, unless `src` is given."""
    tensor = np.array([[10 * r + c for c in range(5)] for r in range(4)], np.uint32) if src is None else src
    return dispatch(words, {"src": memory(tensor), "dst": memory(np.zeros(count, np.uint32))}, **job)


def loaded(body: str, **parts: Any) -> list[list[int]]:
    """The 2x3 matrix that `body` loads as %loaded, read from memory and checked against the capture."""
    rows, cols = parts.get("rows", 2), parts.get("cols", 3)
    outcome = run(module(body + STORE, **parts), rows * cols)
    found = contents(outcome, "dst", np.uint32).reshape(rows, cols)
    assert np.array_equal(outcome.matrices["loaded"], found[None])
    result: list[list[int]] = found.tolist()
    return result


SLICED = """
%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5
%l2 = OpTensorLayoutSliceNV %t %l1 {row} %u2 {col} %u3
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %l2 None None
"""


@pytest.mark.parametrize(
    ("clamp", "row", "col", "expected"),
    [
        (0, "%u1", "%u2", [[12, 13, 14], [22, 23, 24]]),
        (1, "%i_1", "%u3", [[0, 0, 0], [3, 4, 0]]),
        (2, "%i_1", "%u3", [[3, 4, 4], [3, 4, 4]]),
        (2, "%u3", "%i_2", [[30, 30, 30], [30, 30, 30]]),
        (3, "%i_1", "%u3", [[33, 34, 30], [3, 4, 0]]),
        (3, "%u3", "%i_2", [[33, 34, 30], [3, 4, 0]]),
        (4, "%i_1", "%u3", [[13, 14, 13], [3, 4, 3]]),
        (4, "%u3", "%i_2", [[32, 31, 30], [22, 21, 20]]),
    ],
)
def test_clamp_modes_on_both_sides(clamp: int, row: str, col: str, expected: Any) -> None:
    assert loaded(SLICED.format(row=row, col=col), clamp=clamp) == expected


def test_clamp_value_is_a_bit_pattern() -> None:
    body = "%l0 = OpTensorLayoutSetClampValueNV %t %l %u7\n" + SLICED.format(row="%u3", col="%u3").replace(
        "%t %l ", "%t %l0 "
    )
    assert loaded(body, clamp=1) == [[33, 34, 7], [7, 7, 7]]


def test_slices_add_offsets_and_replace_spans() -> None:
    body = """
%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5
%l2 = OpTensorLayoutSliceNV %t %l1 %u2 %u1 %u2 %u1
%l3 = OpTensorLayoutSliceNV %t %l2 %i_1 %u2 %i_1 %u3
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %l3 None None
"""
    assert loaded(body) == [[11, 12, 13], [21, 22, 23]]


def test_strides_of_ones_own() -> None:
    """Only every second row and column of the buffer; SetDimension after SetStride would undo it."""
    body = """
%l1 = OpTensorLayoutSetDimensionNV %t %l %u2 %u3
%l2 = OpTensorLayoutSetStrideNV %t %l1 %u10 %u2
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %l2 None None
"""
    assert loaded(body) == [[0, 2, 4], [20, 22, 24]]


def test_blocks_share_an_element() -> None:
    """TA-036: coordinates are divided by the block size, and strides count blocks."""
    body = """
%l1 = OpTensorLayoutSetBlockSizeNV %t %l %u1 %u2
%l2 = OpTensorLayoutSetDimensionNV %t %l1 %u2 %u5
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %l2 None None
"""
    # Rows are ceil(5 / 2) = 3 blocks apart; the matrix numbers the span's 10 elements row by row.
    assert loaded(body) == [[0, 0, 1], [1, 2, 3]]


def test_a_transposing_view() -> None:
    globals_ = "%v = OpTypeTensorViewNV %u2 %false %u1 %u0"
    body = """
%view = OpCreateTensorViewNV %v
%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5
%l2 = OpTensorLayoutSliceNV %t %l1 %u0 %u3 %u1 %u2
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %l2 None TensorView %view
"""
    assert loaded(body, globals_=globals_) == [[1, 11, 21], [2, 12, 22]]


def test_a_view_of_another_rank_with_a_broadcast_stride() -> None:
    """A 1-dimensional view of 3 repeats row 1 of the tensor in every matrix row; stride 2 skips elements."""
    globals_ = "%v = OpTypeTensorViewNV %u1 %true %u0"
    body = """
%view0 = OpCreateTensorViewNV %v
%view1 = OpTensorViewSetDimensionNV %v %view0 %u3
%view = OpTensorViewSetStrideNV %v %view1 %u2
%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5
%l2 = OpTensorLayoutSliceNV %t %l1 %u1 %u1 %u0 %u5
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %l2 None TensorView %view
"""
    assert loaded(body, globals_=globals_) == [[10, 12, 14], [10, 12, 14]]


def test_clipped_elements_keep_the_object() -> None:
    """TA-032: the clip rectangle is numbered by itself, its width not shortened by the matrix's edge."""
    globals_ = "%v = OpTypeTensorViewNV %u2 %false %u0 %u1"
    body = """
%view0 = OpCreateTensorViewNV %v
%view = OpTensorViewSetClipNV %v %view0 %u0 %u2 %u1 %u2
%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5
%l2 = OpTensorLayoutSliceNV %t %l1 %u1 %u2 %u1 %u2
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %l2 None TensorView %view
"""
    assert loaded(body, globals_=globals_) == [[FILL, 11, 12], [FILL, 21, 22]]


def test_store_writes_what_is_inside() -> None:
    """Every clamp mode discards stores out of bounds; the rest lands at its place."""
    for clamp in (1, 2, 3, 4):
        body = """
%matrix = OpCooperativeMatrixLoadKHR %m %from %u0 %cols
%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5
%l2 = OpTensorLayoutSliceNV %t %l1 %i_1 %u2 %u3 %u3
OpCooperativeMatrixStoreTensorNV %to %matrix %l2 None None
%loaded = OpCopyObject %m %matrix
"""
        outcome = run(module(body, clamp=clamp), 20, np.arange(1, 7, dtype=np.uint32))
        expected = np.zeros((4, 5), int)
        expected[0, 3:] = [4, 5]
        assert contents(outcome, "dst", np.uint32).reshape(4, 5).tolist() == expected.tolist()


def test_column_major_and_strides_of_plain_loads_and_stores() -> None:
    body = """
%loaded = OpCooperativeMatrixLoadKHR %m %from %u1 %u5
OpCooperativeMatrixStoreKHR %to %loaded %u1 %u4
"""
    outcome = run(module(body), 12)
    assert outcome.matrices["loaded"].tolist() == [[[0, 10, 20], [1, 11, 21]]]
    assert contents(outcome, "dst", np.uint32).tolist() == [0, 1, 0, 0, 10, 11, 0, 0, 20, 21, 0, 0]


def test_each_subgroup_has_its_own_matrix() -> None:
    """Two workgroups of two subgroups; offsets vary by both, and so does the splatted Object."""
    body = """
%wg3 = OpLoad %v3uint %workgroup
%wg = OpCompositeExtract %uint %wg3 0
%mine = OpCompositeConstruct %m %sg
%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5
%l2 = OpTensorLayoutSliceNV %t %l1 %wg %u2 %sg %u3
%v1 = OpTensorViewSetClipNV %v %v0 %u0 %u1 %u0 %u3
%loaded = OpCooperativeMatrixLoadTensorNV %m %from %mine %l2 None TensorView %v1
%twice = OpIMul %uint %wg %u2
%instance = OpIAdd %uint %twice %sg
%at = OpIMul %uint %instance %u6
%place = OpAccessChain %word_pointer %dst %u0 %at
OpCooperativeMatrixStoreKHR %place %loaded %u0 %cols
"""
    globals_ = "%v = OpTypeTensorViewNV %u2 %false %u0 %u1"
    text = "%v0 = OpCreateTensorViewNV %v\n" + body
    words = module(text, globals_=globals_, invocations=64)
    outcome = run(words, 24, workgroups=(2, 1, 1))
    expected = [[[10 * w + s + c for c in range(3)], [s] * 3] for w in range(2) for s in range(2)]
    assert outcome.matrices["loaded"].tolist() == expected
    assert contents(outcome, "dst", np.uint32).reshape(4, 2, 3).tolist() == expected


def test_workgroup_scope_spans_subgroups() -> None:
    body = SLICED.format(row="%u1", col="%u2") + STORE
    outcome = run(module(body, scope=2, invocations=64), workgroups=(3, 1, 1))
    assert outcome.matrices["loaded"].tolist() == [[[12, 13, 14], [22, 23, 24]]] * 3


def test_subgroups_in_different_branches() -> None:
    """Uniform within a subgroup, divergent within the workgroup: each takes its own branch."""
    body = """
%first = OpIEqual %bool %sg %u0
OpSelectionMerge %join None
OpBranchConditional %first %yes %no
%yes = OpLabel
%a = OpCooperativeMatrixLoadKHR %m %from %u0 %u5
OpBranch %join
%no = OpLabel
%b = OpCooperativeMatrixLoadKHR %m %from %u1 %u5
OpBranch %join
%join = OpLabel
%loaded = OpPhi %m %a %yes %b %no
%at = OpIMul %uint %sg %u6
%place = OpAccessChain %word_pointer %dst %u0 %at
OpCooperativeMatrixStoreKHR %place %loaded %u0 %cols
"""
    found = contents(run(module(body, invocations=64), 12), "dst", np.uint32).reshape(2, 2, 3)
    assert found.tolist() == [[[0, 1, 2], [10, 11, 12]], [[0, 10, 20], [1, 11, 21]]]


@pytest.mark.parametrize(
    ("subgroup_size", "rule"), [(16, "not all invocations of the scope are active"), (32, "not dynamically uniform")]
)
def test_what_is_not_uniform_is_named(subgroup_size: int, rule: str) -> None:
    """One subgroup of 32 that is not uniform for the load: by an operand, or by the flow of control."""
    body = """
%odd = OpIEqual %bool %sg %u1
"""
    if subgroup_size == 16:  # two subgroups make up the workgroup-scope matrix; one of them leaves
        body += """
OpSelectionMerge %join None
OpBranchConditional %odd %yes %join
%yes = OpLabel
%loaded = OpCooperativeMatrixLoadKHR %m %from %u0 %u5
OpBranch %join
%join = OpLabel
"""
        words = module(body, scope=2)
    else:
        body = "%at = OpAccessChain %word_pointer %src %u0 %sg\n%loaded = OpCooperativeMatrixLoadKHR %m %at %u0 %u5\n"
        words = module(body, scope=2, invocations=64)
    outcome = run(words, driver=Interpreter(subgroup_size=subgroup_size))
    assert outcome.status is Status.ERROR
    assert outcome.detail.startswith("OpCooperativeMatrixLoadKHR %")
    assert '"loaded"' in outcome.detail
    assert rule in outcome.detail


def test_length_is_the_share_of_an_invocation() -> None:
    body = """
%n = OpCooperativeMatrixLengthKHR %uint %m
OpStore %to %n
%loaded = OpCopyObject %m %object
"""
    words = module(body, rows=16, cols=16)
    for size, expected in ((32, 8), (8, 32), (16, 16)):
        outcome = run(words, driver=Interpreter(subgroup_size=size))
        assert contents(outcome, "dst", np.uint32)[0] == expected


def layout_of(**fields: Any) -> Layout:
    fresh: Layout = zero(TensorLayout(2, 2))
    return fresh._replace(**{name: np.array([value], np.uint32) for name, value in fields.items()})


def test_sums_wrap_in_32_bits() -> None:
    """TA-030, TA-035: offset + coordinate is reduced mod 2^32 before it is read as signed."""
    layout = layout_of(dimension=[4, 5], span=[2, 3], stride=[5, 1], offset=[2**32 - 1, 2**31 - 1])
    found = elements(2, 3, layout, TensorLayout(2, 3), None, None, is_store=False)
    # Rows -1 and 0 wrap around to 3 and 0. Columns are 2^31 - 1, then -2^31 and -2^31 + 1: 2, 2, 3 modulo 5.
    assert found.index[0].tolist() == [[17, 17, 18], [2, 2, 3]]


def test_clip_bounds_wrap_in_32_bits() -> None:
    """TA-066: a span that does not wrap reaches to the end, one that wraps holds nothing."""
    layout = layout_of(dimension=[4, 5], span=[2, 3], stride=[5, 1])
    view_type = TensorView(2, False, (0, 1))
    view: View = zero(view_type)
    for row_span, skipped in ((0xFFFFFFFE, [[True] * 3, [False] * 3]), (0xFFFFFFFF, [[True] * 3] * 2)):
        clip = np.array([[1, row_span, 0, 0xFFFFFFFF]], np.uint32)
        with np.errstate(over="ignore"):
            found = elements(2, 3, layout, TensorLayout(2, 2), view._replace(clip=clip), view_type, is_store=False)
        assert found.skipped is not None
        assert found.skipped[0].tolist() == skipped
