"""The passes, in the order in which the reducer tries them. `cts.findings.reduction.interface` defines passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cts.case.model import Case
from cts.findings.reduction.interface import CasePass, InstructionPass, Pass
from cts.findings.reduction.passes import (
    begin_at_zero,
    drop_fast_math,
    drop_float_controls,
    drop_float_modes,
    drop_robustness,
    fill_with_counts,
    flatten_blocks,
    fold_pointers,
    halve_invocations,
    halve_matrices,
    load_or_fill,
    lower_operands,
    lower_ranks,
    make_operands_literal,
    make_program_literal,
    merge_slices,
    narrow_to_subgroups,
    remove_conversions,
    remove_instructions,
    remove_operands,
    reset_opaque_matrices,
    reset_workgroup_shape,
    shorten_vectors,
    shrink_buffers,
    shrink_dispatch,
    shrink_matrices,
    simplify_callbacks,
    simplify_contents,
    simplify_types,
    simplify_vector_operands,
    use_one_workgroup,
    use_storage_buffers,
)


class _OfCases(Protocol):
    """A module of a `CasePass`."""

    __name__: str

    def propose(self, case: Case) -> Iterator[Case]: ...


class _OfInstructions(Protocol):
    """A module of an `InstructionPass`."""

    __name__: str

    def propose(self, case: Case, i: int) -> Iterator[Case]: ...


def _case(module: _OfCases) -> CasePass:
    return CasePass(_name(module.__name__), module.propose)


def _instruction(module: _OfInstructions) -> InstructionPass:
    return InstructionPass(_name(module.__name__), module.propose)


def _name(module: str) -> str:
    return module.rpartition(".")[2]


#: Done once, before anything is removed: then the rest can tell which element was read.
EVIDENCE: tuple[Pass, ...] = (_case(fill_with_counts),)

#: Less of everything at once.
WHOLE: tuple[Pass, ...] = (
    _case(use_one_workgroup),
    _case(make_program_literal),
    _case(narrow_to_subgroups),
    _case(use_storage_buffers),
    _case(begin_at_zero),
    _case(halve_matrices),
    _case(halve_invocations),
    _case(remove_conversions),
    _case(shorten_vectors),
)

#: Less at one instruction: all of these at the last instruction, then at the one before it.
INSTRUCTIONS: tuple[InstructionPass, ...] = (
    _instruction(flatten_blocks),
    _instruction(remove_instructions),
    _instruction(remove_operands),
    _instruction(make_operands_literal),
    _instruction(simplify_vector_operands),
    _instruction(load_or_fill),
)

#: Simpler shapes, numbers and data, once no instruction can go: each pass until it finds nothing more.
DETAILS: tuple[Pass, ...] = (
    _case(reset_workgroup_shape),
    _case(shrink_dispatch),
    _case(drop_fast_math),
    _case(drop_float_controls),
    _case(drop_float_modes),
    _case(drop_robustness),
    _case(reset_opaque_matrices),
    _case(merge_slices),
    _case(fold_pointers),
    _case(lower_ranks),
    _case(shrink_matrices),
    _case(simplify_callbacks),
    _case(lower_operands),
    _case(shrink_buffers),
    _case(simplify_types),
    _case(simplify_contents),
)

PASSES: tuple[Pass, ...] = (*EVIDENCE, *WHOLE, *INSTRUCTIONS, *DETAILS)
