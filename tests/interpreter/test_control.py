"""Divergence and reconvergence, against what each invocation would do alone."""

from __future__ import annotations

import numpy as np

from cts.device.driver import Status
from cts.drivers.interpreter import Interpreter
from cts.drivers.interpreter.order import order
from tests.interpreter.modules import assemble, assemble_unchecked, contents, dispatch, kernel, memory, run_kernel

X = [3, 0, 7, 1, 10, 4, 2, 9]


def test_if_else_with_phi() -> None:
    body = """
%odd = OpBitwiseAnd %uint %x %u1
%is_odd = OpIEqual %bool %odd %u1
OpSelectionMerge %join None
OpBranchConditional %is_odd %yes %no
%yes = OpLabel
%triple = OpIMul %uint %x %u3
OpBranch %join
%no = OpLabel
%half = OpShiftRightLogical %uint %x %u1
OpBranch %join
%join = OpLabel
%r = OpPhi %uint %triple %yes %half %no
OpStore %slot %r
"""
    assert run_kernel(kernel(body), X).tolist() == [3 * x if x % 2 else x // 2 for x in X]


def test_loop_with_a_trip_count_per_lane() -> None:
    """Lanes that left the loop must keep the values they left with: %i and %next are used behind it."""
    body = """
OpBranch %head
%head = OpLabel
%i = OpPhi %uint %u0 %start %next %continue
%sum = OpPhi %uint %u0 %start %more %continue
%twice = OpIMul %uint %sum %u2
%go = OpULessThan %bool %i %x
OpLoopMerge %done %continue None
OpBranchConditional %go %body %done
%body = OpLabel
%more = OpIAdd %uint %sum %i
OpBranch %continue
%continue = OpLabel
%next = OpIAdd %uint %i %u1
OpBranch %head
%done = OpLabel
%r = OpIAdd %uint %twice %i
OpStore %slot %r
"""
    assert run_kernel(kernel(body), X).tolist() == [x * (x - 1) + x for x in X]


def test_nested_loops_with_break_and_continue() -> None:
    """Count pairs (i, j), j <= i < x, leaving out odd i and stopping each row at j == 3."""
    body = """
OpBranch %outer
%outer = OpLabel
%i = OpPhi %uint %u0 %start %i_next %outer_continue
%count = OpPhi %uint %u0 %start %count_next %outer_continue
%go = OpULessThan %bool %i %x
OpLoopMerge %done %outer_continue None
OpBranchConditional %go %row %done
%row = OpLabel
%low = OpBitwiseAnd %uint %i %u1
%odd = OpIEqual %bool %low %u1
OpSelectionMerge %even None
OpBranchConditional %odd %outer_continue %even
%even = OpLabel
OpBranch %inner
%inner = OpLabel
%j = OpPhi %uint %u0 %even %j_next %inner_continue
%here = OpPhi %uint %count %even %here_next %inner_continue
OpLoopMerge %row_done %inner_continue None
OpBranch %test
%test = OpLabel
%inside = OpULessThanEqual %bool %j %i
OpSelectionMerge %test_stop None
OpBranchConditional %inside %test_stop %row_done
%test_stop = OpLabel
%stop = OpIEqual %bool %j %u3
OpSelectionMerge %count_it None
OpBranchConditional %stop %row_done %count_it
%count_it = OpLabel
%here_next = OpIAdd %uint %here %u1
OpBranch %inner_continue
%inner_continue = OpLabel
%j_next = OpIAdd %uint %j %u1
OpBranch %inner
%row_done = OpLabel
OpBranch %outer_continue
%outer_continue = OpLabel
%count_next = OpPhi %uint %count %row %here %row_done
%i_next = OpIAdd %uint %i %u1
OpBranch %outer
%done = OpLabel
OpStore %slot %count
"""
    expected = [sum(min(i + 1, 3) for i in range(x) if i % 2 == 0) for x in X]
    assert run_kernel(kernel(body), X).tolist() == expected


def test_swapped_phis_take_their_values_at_once() -> None:
    """Fibonacci: each phi reads the other's old value."""
    body = """
OpBranch %head
%head = OpLabel
%a = OpPhi %uint %u0 %start %b %head_again
%b = OpPhi %uint %u1 %start %c %head_again
%i = OpPhi %uint %u0 %start %next %head_again
%go = OpULessThan %bool %i %x
OpLoopMerge %done %head_again None
OpBranchConditional %go %step %done
%step = OpLabel
%c = OpIAdd %uint %a %b
OpBranch %head_again
%head_again = OpLabel
%next = OpIAdd %uint %i %u1
OpBranch %head
%done = OpLabel
OpStore %slot %a
"""
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    assert run_kernel(kernel(body), X).tolist() == [fibonacci[x] for x in X]


def test_switch_with_fallthrough_and_default() -> None:
    body = """
OpSelectionMerge %join None
OpSwitch %x %other 0 %zero 7 %seven 1 %few 2 %few
%zero = OpLabel
OpBranch %join
%seven = OpLabel
%more = OpIAdd %uint %x %u4
OpBranch %few
%few = OpLabel
%base = OpPhi %uint %x %start %more %seven
%scaled = OpIMul %uint %base %u10
OpBranch %join
%other = OpLabel
OpBranch %join
%join = OpLabel
%r = OpPhi %uint %u16 %zero %scaled %few %u5 %other
OpStore %slot %r
"""
    table = {0: 16, 1: 10, 2: 20, 7: 110}
    assert run_kernel(kernel(body), X).tolist() == [table.get(x, 5) for x in X]
    assert run_kernel(kernel(body, lanes=1), [7]).tolist() == [110]


def test_switch_on_narrow_and_negative_literals() -> None:
    body = """
%narrow = OpSConvert %i8 %x
OpSelectionMerge %join None
OpSwitch %narrow %other -1 %minus 3 %three
%minus = OpLabel
OpBranch %join
%three = OpLabel
OpBranch %join
%other = OpLabel
OpBranch %join
%join = OpLabel
%r = OpPhi %uint %u1 %minus %u3 %three %u0 %other
OpStore %slot %r
"""
    text = kernel(body, globals_="%i8 = OpTypeInt 8 1")
    assert run_kernel(text, [0xFF, 3, 0xFFFFFFFF, 4, 0x103, 0, 1, 2]).tolist() == [1, 3, 1, 0, 3, 0, 0, 0]


CALLS = """
%f = OpFunction %uint None %f_type
%n = OpFunctionParameter %uint
%entry = OpLabel
%small = OpULessThan %bool %n %u3
OpSelectionMerge %rest None
OpBranchConditional %small %tiny %rest
%tiny = OpLabel
OpReturnValue %u0
%rest = OpLabel
OpBranch %head
%head = OpLabel
%k = OpPhi %uint %n %rest %less %again
%above = OpUGreaterThan %bool %k %u4
OpLoopMerge %out_of %again None
OpBranchConditional %above %work %out_of
%work = OpLabel
%nine = OpIEqual %bool %k %u9
OpSelectionMerge %on None
OpBranchConditional %nine %from_loop %on
%from_loop = OpLabel
OpReturnValue %u9
%on = OpLabel
OpBranch %again
%again = OpLabel
%less = OpISub %uint %k %u2
OpBranch %head
%out_of = OpLabel
OpReturnValue %k
OpFunctionEnd
"""


def early(n: int) -> int:
    if n < 3:
        return 0
    while n > 4:
        if n == 9:
            return 9
        n -= 2
    return n


def test_early_returns_inside_a_call_in_divergent_flow() -> None:
    body = """
%is_big = OpUGreaterThan %bool %x %u1
OpSelectionMerge %join None
OpBranchConditional %is_big %big %join
%big = OpLabel
%called = OpFunctionCall %uint %f %x
%plus = OpIAdd %uint %x %u2
%again_called = OpFunctionCall %uint %f %plus
%both = OpIMul %uint %called %u16
%sum = OpIAdd %uint %both %again_called
OpBranch %join
%join = OpLabel
%r = OpPhi %uint %u15 %start %sum %big
OpStore %slot %r
"""
    text = kernel(body, globals_="%f_type = OpTypeFunction %uint %uint", functions=CALLS)
    assert run_kernel(text, X).tolist() == [early(x) * 16 + early(x + 2) if x > 1 else 15 for x in X]


def test_a_call_in_a_loop_keeps_finished_lanes() -> None:
    body = """
OpBranch %loop
%loop = OpLabel
%i = OpPhi %uint %u0 %start %i_next %loop_again
%last = OpPhi %uint %u16 %start %result %loop_again
%go = OpULessThan %bool %i %x
OpLoopMerge %done %loop_again None
OpBranchConditional %go %call %done
%call = OpLabel
%result = OpFunctionCall %uint %f %i
OpBranch %loop_again
%loop_again = OpLabel
%i_next = OpIAdd %uint %i %u1
OpBranch %loop
%done = OpLabel
OpStore %slot %last
"""
    text = kernel(body, globals_="%f_type = OpTypeFunction %uint %uint", functions=CALLS)
    assert run_kernel(text, X).tolist() == [early(x - 1) if x else 16 for x in X]


def test_return_from_main_stops_only_those_lanes() -> None:
    body = """
%none = OpIEqual %bool %x %u0
OpSelectionMerge %on None
OpBranchConditional %none %leave %on
%leave = OpLabel
OpReturn
%on = OpLabel
OpStore %slot %x
"""
    assert run_kernel(kernel(body), X).tolist() == [x or 0xFFFFFFFF for x in X]


def test_variables_are_stored_by_the_active_lanes_only() -> None:
    body = """
OpStore %v %u16
%odd = OpBitwiseAnd %uint %x %u1
%is_odd = OpIEqual %bool %odd %u1
OpSelectionMerge %join None
OpBranchConditional %is_odd %yes %join
%yes = OpLabel
OpStore %v %x
OpBranch %join
%join = OpLabel
%r = OpLoad %uint %v
OpStore %slot %r
"""
    text = kernel(body, globals_="%uint_function = OpTypePointer Function %uint")
    found = run_kernel(text, X, variables="%v = OpVariable %uint_function Function")
    assert found.tolist() == [x if x % 2 else 16 for x in X]


BARRIER = """
OpSelectionMerge %join None
OpBranchConditional %{condition} %yes %join
%yes = OpLabel
OpControlBarrier %u2 %u2 %semantics
OpBranch %join
%join = OpLabel
OpStore %slot %x
"""
SEMANTICS = "%semantics = OpConstant %uint 264"


def test_barrier_in_uniform_flow() -> None:
    body = "%condition = OpULessThan %bool %u1 %u2" + BARRIER.format(condition="condition")
    assert run_kernel(kernel(body, globals_=SEMANTICS), X).tolist() == X


def test_barrier_that_some_invocations_miss_is_named() -> None:
    body = "%condition = OpULessThan %bool %x %u4" + BARRIER.format(condition="condition")
    words = assemble(kernel(body, globals_=SEMANTICS))
    data = np.array(X, np.uint32)
    outcome = dispatch(words, {"in": memory(data), "out": memory(data)})
    assert outcome.status is Status.ERROR
    assert outcome.detail.startswith("OpControlBarrier at word ")
    assert "barrier" in outcome.detail


ENDLESS = """
OpBranch %head
%head = OpLabel
OpLoopMerge %done %again None
OpBranch %again
%again = OpLabel
%forever = OpULessThan %bool %u1 %u2
OpBranchConditional %forever %head %done
%done = OpLabel
OpStore %slot %x
"""


def test_a_loop_without_end_is_ended() -> None:
    words = assemble(kernel(ENDLESS))
    data = np.array(X, np.uint32)
    outcome = dispatch(words, {"in": memory(data), "out": memory(data)}, driver=Interpreter(max_steps=1000))
    assert outcome.status is Status.TIMEOUT
    assert "1000 steps" in outcome.detail


def test_many_workgroups_run_in_batches() -> None:
    """More lanes than one batch holds, with a partial last one."""
    body = "%r = OpIAdd %uint %x %lane\nOpStore %slot %r"
    x = np.arange(300 * 64, dtype=np.uint32) * 3
    assert np.array_equal(run_kernel(kernel(body, lanes=64), x, workgroups=300), x * 4 // 3)


def test_order_of_an_irreducible_loop() -> None:
    """Two entries into a cycle: the cycle stays together and its exit comes after it."""
    found = order("s", {"s": ["a", "b"], "a": ["b"], "b": ["a", "x"], "x": []})
    assert found.blocks[0] == "s"
    assert found.blocks[-1] == "x"
    assert found.cyclic == {1, 2}
    assert found.last[1] == 2


def test_order_waits_at_the_head_for_lanes_inside_the_loop() -> None:
    graph = {"s": ["h"], "h": ["k1", "b"], "k1": ["h"], "b": ["h", "x"], "x": []}
    found = order("s", graph)
    head = found.blocks.index("h")
    assert found.next({head, found.blocks.index("b")}) == found.blocks.index("b")
    assert found.next({head, found.blocks.index("x")}) == head


def test_irreducible_flow_runs() -> None:
    """A cycle entered at two places, as a producer without structured control flow writes it.

    spirv-val refuses it for Vulkan, so it is not asked.
    """
    body = """
%odd = OpBitwiseAnd %uint %x %u1
%is_odd = OpIEqual %bool %odd %u1
OpBranchConditional %is_odd %a %b
%a = OpLabel
%va = OpPhi %uint %x %start %vb1 %b
%va1 = OpIAdd %uint %va %u1
OpBranch %b
%b = OpLabel
%vb = OpPhi %uint %x %start %va1 %a
%vb1 = OpIMul %uint %vb %u2
%go = OpULessThan %bool %vb1 %u16
OpBranchConditional %go %a %done
%done = OpLabel
OpStore %slot %vb1
"""

    def alone(x: int) -> int:
        if x % 2:
            x += 1
        x *= 2
        while x < 16:
            x = (x + 1) * 2
        return x

    text = kernel(body)
    data = np.array(X, np.uint32)
    outcome = dispatch(assemble_unchecked(text), {"in": memory(data), "out": memory(data)})
    assert contents(outcome, "out", np.uint32).tolist() == [alone(x) for x in X]
