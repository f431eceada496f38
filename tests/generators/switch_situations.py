"""What a Switch of a generated case is about."""

from __future__ import annotations

from collections.abc import Iterator

from cts import model as m
from cts.model.operand import factors_of


def switch_situations(case: m.Case) -> Iterator[str]:
    """What is said of the switches of a case."""
    for at, switch in enumerate(case.program):
        if not isinstance(switch, m.Switch):
            continue
        starts, end = m.branches_of(case.program, at)
        branches = [b for b in (case.program[n] for n in starts) if isinstance(b, m.Branch)]
        f = factors_of(switch.selector)
        named = {
            "workgroup": f.wg_x or f.wg_y or f.wg_z,
            "subgroup": f.sg,
            "iteration": f.loop,
            "outer iteration": f.loop_outer,
            "invocation": f.inv,
        }
        yield f"Switch of {len(branches)}"
        yield "Switch with a default" if len(starts) > len(branches) else "Switch without a default"
        yield from (f"Switch by {axis}" for axis, factor in named.items() if factor)
        closing = case.program[end]
        assert isinstance(closing, m.EndSwitch)
        yield "Switch gives a value" if closing.merge else "Switch gives nothing"
        for branch in branches:
            if len(branch.literals) > 1:
                yield "Branch of several literals"
            if any(literal < 0 for literal in branch.literals):
                yield "negative literal"
            if any(literal % (1 << 32) >= 1 << 16 for literal in branch.literals):
                yield "literal above 16 bits"
