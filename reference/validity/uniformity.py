"""What may not differ between the subgroups of a workgroup (TA-071)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cts.case import model
from cts.case.model.operand import Factors
from cts.case.oracle.expectation import Violation
from cts.reference.common.operands import lanes_of
from cts.reference.execution.program import Evaluation


def of_program(evaluation: Evaluation) -> Iterator[Violation]:
    """TA-071: nothing that a Workgroup-scope matrix instruction uses may differ between its subgroups.

    Nor may it, or a barrier, be in a loop or under a condition that does, in a loop that some leave earlier, or where
    some have ended.
    Stricter than a comparison
    of values: a layout or view whose chain of instructions has a per-subgroup operand counts as
    varying even where a later instruction overwrites that state.
    """
    if lanes_of(evaluation.case.dispatch) == 1:
        return
    varying: dict[str, str] = {}  # layout, view or pointer id -> path of the operand that varies
    around: list[str | None] = []  # the same of every open Loop, If and Switch
    ended: str | None = None  # and of the first Return that not all take
    reported: set[str] = set()
    for i, instruction in enumerate(evaluation.case.program):
        own = _varying_operand(instruction)
        path = None if own is None else f"program[{i}].{own}"
        used = [path, *(varying.get(name) for name in _uses(instruction))]
        barrier = isinstance(instruction, model.ControlBarrier) and instruction.scope is model.Scope.Workgroup
        whole = barrier or _at_workgroup(evaluation, instruction)
        if whole:
            lanes = "subgroups" if evaluation.case.dispatch.invocations is None else "invocations"
            what = "a barrier of the workgroup" if barrier else "a matrix of Workgroup scope"
            for operand in (*around, ended, *used):
                if operand is not None and operand not in reported:
                    reported.add(operand)
                    yield Violation(
                        "TA-071",
                        operand,
                        f"differs between {lanes}, and program[{i}] has {what}",
                        "no `sg` or `inv` term: operands are uniform in the matrix's scope",
                    )
        match instruction:
            case model.Loop() if path is None:
                around.append(_varying_exit(evaluation, i))
            case model.Return():
                ended = ended or path or next((p for p in around if p is not None), None)
            case model.BlockStart():
                around.append(path)
            case model.BlockEnd():
                around.pop()
            case _:
                name = getattr(instruction, "id", None)
                first = next((p for p in used if p is not None), None)
                if name is not None and first is not None:
                    varying[name] = first


def _varying_exit(evaluation: Evaluation, loop: int) -> str | None:
    """The operand, by its path, of a loop by which iterations differ: of a Break, a Continue, or around a Return."""
    program = evaluation.case.program
    varying = ((i, _varying_operand(program[i])) for i in model.exits_of(program, loop))
    exits = (f"program[{i}].{field}" for i, field in varying if field is not None)
    return next(exits, None) or _varying_return(program, loop)


def _varying_return(program: Sequence[model.Instruction], loop: int) -> str | None:
    """The operand by which a Return within a loop, or what is around it there, varies."""
    around: list[str | None] = []
    for i, instruction in enumerate(program[loop:], loop):
        own = _varying_operand(instruction)
        path = None if own is None else f"program[{i}].{own}"
        if isinstance(instruction, model.BlockStart):
            around.append(path)
        elif isinstance(instruction, model.BlockEnd):
            around.pop()
        elif isinstance(instruction, model.Return) and (path_of_block := next((p for p in (path, *around) if p), None)):
            return path_of_block
        if not around:
            return None
    raise AssertionError("a well-formed program closes its blocks")


def _uses(instruction: model.Instruction) -> Iterator[str]:
    yield from model.references(instruction)
    for field in ("layout", "view", "buffer"):
        name = getattr(instruction, field, None)
        if name is not None:
            yield name


def _at_workgroup(evaluation: Evaluation, instruction: model.Instruction) -> bool:
    """Whether a matrix of Workgroup scope is an operand or the result."""
    names = [*model.references(instruction), *([instruction.id] if hasattr(instruction, "id") else [])]
    shapes = (evaluation.types.get(name) for name in names)
    return any(isinstance(s, model.MatrixShape) and s.scope is model.Scope.Workgroup for s in shapes)


def _varying_operand(instruction: model.Instruction) -> str | None:
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        for i, operand in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(operand, model.Scalar) and _differs(operand.factors):
                return f"{name}[{i}]" if isinstance(value, tuple) else name
    return None


def _differs(factors: Factors) -> bool:
    """Whether there is a term of the subgroup or of the invocation."""
    return any(factor % (1 << 32) for factor in (factors.sg, *factors.of_invocation))
