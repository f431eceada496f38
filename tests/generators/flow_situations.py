"""What the switches, the Return and the fast math of a generated case are about."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case import model as m
from cts.case.model.operand import factors_of


def flow_situations(case: m.Case) -> Iterator[str]:
    """What is said of the switches of a case, and of where it ends early."""
    yield from _switches(case)
    yield from _returns(case)


def _returns(case: m.Case) -> Iterator[str]:
    opened: list[str] = []
    written = False
    for i in case.program:
        if isinstance(i, m.BlockStart):
            opened.append("loop" if isinstance(i, m.Loop) else "branch")
        elif isinstance(i, m.BlockEnd):
            opened.pop()
        elif isinstance(i, m.Return):
            yield "Return"
            yield from (f"Return in a {block}" for block in set(opened))
            yield from (f"Return by {axis}" for axis, factor in _axes(i.condition).items() if factor)
            if written:
                yield "Return behind a write"
        written |= i.writes is not None


def _axes(operand: m.Operand) -> dict[str, int]:
    """The factors of an operand that cases have, by what they count."""
    f = factors_of(operand)
    return {
        "workgroup": f.wg_x or f.wg_y or f.wg_z,
        "subgroup": f.sg,
        "iteration": f.loop,
        "outer iteration": f.loop_outer,
        "invocation": f.inv,
    }


def _switches(case: m.Case) -> Iterator[str]:
    for at, switch in enumerate(case.program):
        if not isinstance(switch, m.Switch):
            continue
        starts, end = m.branches_of(case.program, at)
        branches = [b for b in (case.program[n] for n in starts) if isinstance(b, m.Branch)]
        yield f"Switch of {len(branches)}"
        yield "Switch with a default" if len(starts) > len(branches) else "Switch without a default"
        yield from (f"Switch by {axis}" for axis, factor in _axes(switch.selector).items() if factor)
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


def fast_math_situations(case: m.Case) -> Iterator[str]:
    """What is said of the fast math of instructions and types."""
    given = [bits for i in case.program if (bits := getattr(i, "fast_math", None)) is not None]
    if case.fast_math:
        yield "default of a type"
    for bits in given:
        yield "fast math of an instruction"
        yield "no fast math of an instruction" if not bits else "some fast math of an instruction"
        yield from (f"fast math {bit.value}" for bit in bits)
    floating = [i for i in case.program if hasattr(i, "fast_math")]
    if given and len(given) < len(floating):
        yield "fast math of some instructions and not of others"
