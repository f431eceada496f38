"""Planted bugs of loops, conditions, switches and returns, of barriers, and of matrices that are used again."""

from __future__ import annotations

from cts.drivers.emulator.mutants.matrices import of_area

# Control flow and chains (control.py, machine.py)
control = of_area("matrix_programs")
LOOP_ONE_TURN_SHORT = control("loops run one iteration less than asked")
LOOP_AT_LEAST_ONCE = control("loops test their count after the iteration: none becomes one")
LOOP_CARRY_NOT_UPDATED = control("a loop-carried matrix is the initial one in each iteration")
LOOP_CARRIES_IN_SEQUENCE = control("loop-carried matrices are updated one after the other: a swap loses one")
LOOP_CARRIES_TWO = control("of the matrices that a loop carries, only two are updated")
LOOP_LAST_TURN_LOST = control("behind a loop, a carried matrix is that of the last iteration's beginning")
LOOP_INDEX_FROM_ONE = control("the loop index starts at 1")
LOOP_INDEX_FROZEN = control("operands inside a loop are computed once, in the first iteration")
LOOP_OUTER_IS_INNER = control("an operand by the outer loop's index takes the inner one's")
LOOP_LOAD_HOISTED = control("loads in a loop are hoisted out of it: their first iteration serves them all")
BREAK_KEEPS_CARRIED = control(
    "behind a loop left by a break, what it carries is that of the last iteration's beginning"
)
BREAK_CONTINUES = control("a break goes on to the next iteration")
CONTINUE_BREAKS = control("a continue leaves the loop")
RETURN_IGNORED = control("nothing ends by a return")
RETURN_LEAVES_LOOP = control("a return leaves the innermost loop or branch that it is in, no more")
RETURN_ENDS_WORKGROUP = control("a return of one subgroup ends its whole workgroup")
IF_INVERTED = control("the branches of a condition change places")
IF_LOWEST_BIT = control("conditions test the lowest bit only")
IF_FIRST_TURN = control("the first iteration's condition decides for all iterations of a loop")
IF_FIRST_WORKGROUP = control("the first workgroup's condition decides for all")
MERGE_TAKES_THEN = control("behind a condition, a merged matrix is always that of the first branch")
ELSE_ALWAYS_RUNS = control("the second branch's stores are done in either case")
SWITCH_FALLS_THROUGH = control("a branch of a switch goes on in the one that follows it")
SWITCH_TAKES_DEFAULT = control("a switch takes its default, whatever the selector is")
SWITCH_FIRST_LITERAL = control("of several literals of a branch only the first one leads there")
SWITCH_LITERALS_IN_16_BITS = control("the selector is compared with literals in its low 16 bits")
SWITCH_LITERALS_IN_31_BITS = control("literals with the highest bit set never match")
SWITCH_MERGE_TAKES_FIRST = control("behind a switch, a merged matrix is always that of the first branch")
SWITCH_ASSUMES_A_MATCH = control("a switch without a default takes its last branch where no literal matches")
BARRIER_IGNORED = control("the first subgroup does not see behind a barrier what others wrote before it")
SUBGROUP_BARRIER_IGNORED = control("a load behind a barrier of the subgroup sees memory as it was at first")
MUL_ADD_IN_PLACE = control("MulAdd overwrites C, which later instructions still need")
PER_ELEMENT_IN_PLACE = control("a per-element operation overwrites its source, which later instructions still need")
CONVERT_IN_PLACE = control("a conversion between types of one width overwrites its source")
