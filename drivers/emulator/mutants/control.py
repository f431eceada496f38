"""Planted bugs of loops, conditions, switches and returns, of barriers, and of matrices that are used again."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Control flow and chains (control.py, machine.py)
control = of_area("matrix_programs")
LOOP_ONE_TURN_SHORT = control("loop-one-turn-short", "loops run one iteration less than asked")
LOOP_AT_LEAST_ONCE = control("loop-at-least-once", "loops test their count after the iteration: none becomes one")
LOOP_CARRY_NOT_UPDATED = control("loop-carry-not-updated", "a loop-carried matrix is the initial one in each iteration")
LOOP_CARRIES_IN_SEQUENCE = control(
    "loop-carries-in-sequence", "loop-carried matrices are updated one after the other: a swap loses one"
)
LOOP_CARRIES_TWO = control("loop-carries-two", "of the matrices that a loop carries, only two are updated")
LOOP_LAST_TURN_LOST = control(
    "loop-last-turn-lost", "behind a loop, a carried matrix is that of the last iteration's beginning"
)
LOOP_INDEX_FROM_ONE = control("loop-index-from-one", "the loop index starts at 1")
LOOP_INDEX_FROZEN = control("loop-index-frozen", "operands inside a loop are computed once, in the first iteration")
LOOP_OUTER_IS_INNER = control("loop-outer-is-inner", "an operand by the outer loop's index takes the inner one's")
LOOP_LOAD_HOISTED = control(
    "loop-load-hoisted", "loads in a loop are hoisted out of it: their first iteration serves them all"
)
BREAK_KEEPS_CARRIED = control(
    "break-keeps-carried", "behind a loop left by a break, what it carries is that of the last iteration's beginning"
)
BREAK_CONTINUES = control("break-continues", "a break goes on to the next iteration")
CONTINUE_BREAKS = control("continue-breaks", "a continue leaves the loop")
RETURN_IGNORED = control("return-ignored", "nothing ends by a return")
RETURN_LEAVES_LOOP = control(
    "return-leaves-loop", "a return leaves the innermost loop or branch that it is in, no more"
)
RETURN_ENDS_WORKGROUP = control("return-ends-workgroup", "a return of one subgroup ends its whole workgroup")
IF_INVERTED = control("if-inverted", "the branches of a condition change places")
IF_LOWEST_BIT = control("if-lowest-bit", "conditions test the lowest bit only")
IF_FIRST_TURN = control("if-first-turn", "the first iteration's condition decides for all iterations of a loop")
IF_FIRST_WORKGROUP = control("if-first-workgroup", "the first workgroup's condition decides for all")
MERGE_TAKES_THEN = control("merge-takes-then", "behind a condition, a merged matrix is always that of the first branch")
ELSE_ALWAYS_RUNS = control("else-always-runs", "the second branch's stores are done in either case")
SWITCH_FALLS_THROUGH = control("switch-falls-through", "a branch of a switch goes on in the one that follows it")
SWITCH_TAKES_DEFAULT = control("switch-takes-default", "a switch takes its default, whatever the selector is")
SWITCH_FIRST_LITERAL = control("switch-first-literal", "of several literals of a branch only the first one leads there")
SWITCH_LITERALS_IN_16_BITS = control(
    "switch-literals-in-16-bits", "the selector is compared with literals in its low 16 bits"
)
SWITCH_LITERALS_IN_31_BITS = control("switch-literals-in-31-bits", "literals with the highest bit set never match")
SWITCH_MERGE_TAKES_FIRST = control(
    "switch-merge-takes-first", "behind a switch, a merged matrix is always that of the first branch"
)
SWITCH_ASSUMES_A_MATCH = control(
    "switch-assumes-a-match", "a switch without a default takes its last branch where no literal matches"
)
BARRIER_IGNORED = control(
    "barrier-ignored", "the first subgroup does not see behind a barrier what others wrote before it"
)
SUBGROUP_BARRIER_IGNORED = control(
    "subgroup-barrier-ignored", "a load behind a barrier of the subgroup sees memory as it was at first"
)
MUL_ADD_IN_PLACE = control("mul-add-in-place", "MulAdd overwrites C, which later instructions still need")
PER_ELEMENT_IN_PLACE = control(
    "per-element-in-place", "a per-element operation overwrites its source, which later instructions still need"
)
CONVERT_IN_PLACE = control("convert-in-place", "a conversion between types of one width overwrites its source")
