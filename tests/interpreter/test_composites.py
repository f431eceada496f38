"""Composites, matrices of vectors, and pointers as arguments."""

from __future__ import annotations

import numpy as np

from tests.interpreter.modules import kernel, run_kernel

X = [3, 0, 7, 1, 10, 4, 2, 9]


def test_carry_borrow_and_extended_products_are_structs() -> None:
    body = """
%all = OpNot %uint %u0
%carried = OpIAddCarry %two %all %x
%carry = OpCompositeExtract %uint %carried 1
%borrowed = OpISubBorrow %two %u3 %x
%borrow = OpCompositeExtract %uint %borrowed 1
%product = OpUMulExtended %two %all %x
%high = OpCompositeExtract %uint %product 1
%signed = OpSMulExtended %two %all %x
%signed_high = OpCompositeExtract %uint %signed 1
%is_minus = OpIEqual %bool %signed_high %all
%minus = OpSelect %uint %is_minus %u1 %u0
%c8 = OpIMul %uint %carry %u8
%b4 = OpIMul %uint %borrow %u4
%m2 = OpIMul %uint %minus %u2
%h16 = OpIMul %uint %high %u16
%s0 = OpIAdd %uint %c8 %b4
%s1 = OpIAdd %uint %s0 %m2
%s2 = OpIAdd %uint %s1 %h16
OpStore %slot %s2
"""
    found = run_kernel(kernel(body, globals_="%two = OpTypeStruct %uint %uint"), X)
    expected = [8 * (x > 0) + 4 * (x > 3) + 2 * (x > 0) + 16 * max(x - 1, 0) for x in X]
    assert found.tolist() == expected


MATRICES = """
%v2float = OpTypeVector %float 2
%v3float = OpTypeVector %float 3
%m2x3 = OpTypeMatrix %v3float 2
%m3x2 = OpTypeMatrix %v2float 3
%m2x2 = OpTypeMatrix %v2float 2
%f1 = OpConstant %float 1
%f2 = OpConstant %float 2
%f3 = OpConstant %float 3
%f4 = OpConstant %float 4
%f5 = OpConstant %float 5
%f6 = OpConstant %float 6
%column0 = OpConstantComposite %v3float %f1 %f2 %f3
%column1 = OpConstantComposite %v3float %f4 %f5 %f6
%matrix = OpConstantComposite %m2x3 %column0 %column1
"""


def test_matrix_products() -> None:
    """M has the columns (1, 2, 3) and (4, 5, 6); sums of components are stored, scaled by the lane's x."""
    body = """
%f = OpConvertUToF %float %x
%v2 = OpCompositeConstruct %v2float %f %f1
%mv = OpMatrixTimesVector %v3float %matrix %v2
%vm = OpVectorTimesMatrix %v2float %mv %matrix
%t = OpTranspose %m3x2 %matrix
%square = OpMatrixTimesMatrix %m2x2 %t %matrix
%scaled = OpMatrixTimesScalar %m2x2 %square %f
%outer = OpOuterProduct %m2x2 %vm %v2
%sum = OpFAdd %v2float %vm %vm
%e0 = OpCompositeExtract %float %scaled 1 0
%e1 = OpCompositeExtract %float %outer 0 1
%e2 = OpCompositeExtract %float %sum 0
%s0 = OpFAdd %float %e0 %e1
%s1 = OpFAdd %float %s0 %e2
%r = OpConvertFToU %uint %s1
OpStore %slot %r
"""
    m = np.array([[1, 2, 3], [4, 5, 6]])
    expected = []
    for x in X:
        vm = m @ (m.T @ [x, 1])
        expected.append((m @ m.T)[1, 0] * x + vm[1] * x + 2 * vm[0])
    assert run_kernel(kernel(body, globals_=MATRICES), X).tolist() == expected


def test_bool_vectors() -> None:
    body = """
%pair = OpCompositeConstruct %v2uint %x %lane
%limits = OpCompositeConstruct %v2uint %u5 %u3
%below = OpULessThan %v2bool %pair %limits
%any = OpAny %bool %below
%all = OpAll %bool %below
%chosen = OpSelect %v2uint %below %pair %limits
%c0 = OpCompositeExtract %uint %chosen 0
%c1 = OpCompositeExtract %uint %chosen 1
%both = OpLogicalAnd %bool %any %all
%one = OpLogicalNotEqual %bool %any %both
%none = OpLogicalNot %bool %any
%one_word = OpSelect %uint %one %u1 %u0
%none_word = OpSelect %uint %none %u2 %u0
%c16 = OpIMul %uint %c0 %u16
%s0 = OpIAdd %uint %one_word %none_word
%c4 = OpIMul %uint %c1 %u4
%s1 = OpIAdd %uint %s0 %c4
%s2 = OpIAdd %uint %s1 %c16
OpStore %slot %s2
"""
    expected = []
    for lane, x in enumerate(X):
        hits = (x < 5) + (lane < 3)
        expected.append({0: 2, 1: 1, 2: 0}[hits] + 4 * min(lane, 3) + 16 * min(x, 5))
    assert run_kernel(kernel(body, globals_="%v2bool = OpTypeVector %bool 2"), X).tolist() == expected


def test_struct_and_array_values() -> None:
    """Constructed, compared by selection, taken apart and changed, lane by lane."""
    types = """
%three = OpTypeArray %uint %u3
%record = OpTypeStruct %three %v2uint
%empty = OpConstantNull %record
%unknown = OpUndef %record
"""
    body = """
%a = OpCompositeConstruct %three %x %lane %u7
%v = OpCompositeConstruct %v2uint %u8 %x
%r = OpCompositeConstruct %record %a %v
%odd = OpBitwiseAnd %uint %x %u1
%is_odd = OpIEqual %bool %odd %u1
%chosen = OpSelect %record %is_odd %r %empty
%copied = OpCopyObject %record %chosen
%changed = OpCompositeInsert %record %u16 %copied 0 1
%inside = OpCompositeInsert %record %u2 %unknown 1 0
%p0 = OpCompositeExtract %uint %changed 0 0
%p1 = OpCompositeExtract %uint %changed 0 1
%p2 = OpCompositeExtract %uint %changed 1 1
%p3 = OpCompositeExtract %uint %inside 1 0
%s0 = OpIAdd %uint %p0 %p1
%s1 = OpIMul %uint %p2 %p3
%s = OpIAdd %uint %s0 %s1
OpStore %slot %s
"""
    found = run_kernel(kernel(body, globals_=types), X)
    assert found.tolist() == [x % 2 * (x + 2 * x) + 16 for x in X]


def test_replicated_composites() -> None:
    head = 'OpCapability ReplicatedCompositesEXT\nOpExtension "SPV_EXT_replicated_composites"'
    globals_ = "%v4uint = OpTypeVector %uint 4\n%sevens = OpConstantCompositeReplicateEXT %v4uint %u7"
    body = """
%xs = OpCompositeConstructReplicateEXT %v4uint %x
%sum = OpIAdd %v4uint %xs %sevens
%last = OpCompositeExtract %uint %sum 3
OpStore %slot %last
"""
    assert run_kernel(kernel(body, globals_=globals_, head=head), X).tolist() == [x + 7 for x in X]


def test_pointer_arguments_and_copied_memory() -> None:
    """The callee stores through a pointer to the caller's variable, for the lanes that called."""
    globals_ = """
%uint_function = OpTypePointer Function %uint
%bump_type = OpTypeFunction %void %uint_function %uint
"""
    functions = """
%bump = OpFunction %void None %bump_type
%target = OpFunctionParameter %uint_function
%amount = OpFunctionParameter %uint
%bump_start = OpLabel
%old = OpLoad %uint %target
%new = OpIAdd %uint %old %amount
OpStore %target %new
OpReturn
OpFunctionEnd
"""
    body = """
OpCopyMemory %v %x_pointer
%big = OpUGreaterThan %bool %x %u3
OpSelectionMerge %join None
OpBranchConditional %big %call %join
%call = OpLabel
%done = OpFunctionCall %void %bump %v %lane
OpBranch %join
%join = OpLabel
OpCopyMemory %slot %v
"""
    text = kernel(body, globals_=globals_, functions=functions)
    found = run_kernel(text, X, variables="%v = OpVariable %uint_function Function")
    assert found.tolist() == [x + lane * (x > 3) for lane, x in enumerate(X)]
