"""The passes over a dispatch, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cts.modules.reduction import flow, settings, values
from cts.modules.reduction.edits import Edit
from cts.modules.reduction.subject import Subject

Propose: TypeAlias = Callable[[Subject], Iterator[Subject]]
Edits: TypeAlias = Callable[[Subject], list[Edit]]


@dataclass(frozen=True)
class Whole:
    """A pass whose candidates are whole subjects; each that is taken is asked for more."""

    propose: Propose

    @property
    def name(self) -> str:
        return self.propose.__name__


@dataclass(frozen=True)
class Many:
    """A pass of edits, which are made many at a time, then fewer."""

    edits: Edits

    @property
    def name(self) -> str:
        return self.edits.__name__


#: Small dispatches run faster, so that they come first.
ONCE: tuple[Whole, ...] = (
    Whole(settings.shrink_dispatch),
    Whole(settings.clean_up),
    Whole(settings.strip_debug),
    Whole(settings.specialise),
    Whole(settings.shrink_workgroups),
    Whole(settings.lower_push_constants),
)
STRUCTURE: tuple[Whole | Many, ...] = (
    Many(flow.remove_calls),
    Many(values.remove_effects),
    Many(values.zero_results),
    Many(flow.remove_loops),
    Many(flow.unroll_loops),
    Many(flow.choose_branches),
    Many(flow.return_early),
    Many(flow.return_parameters),
    Many(flow.remove_arms),
    Many(flow.remove_parameters),
    Many(flow.inline_calls),
    Many(flow.merge_blocks),
    Many(flow.test_at_head),
    Many(values.take_operands),
    Many(values.take_stored),
    Many(values.bypass_composites),
    Many(values.one_results),
    Many(values.take_others),
    Many(values.share_constants),
    Many(values.share_types),
)
DETAILS: tuple[Whole | Many, ...] = (
    Whole(settings.shrink_dispatch),
    Whole(settings.shrink_workgroups),
    Many(values.drop_declarations),
    Many(values.drop_memory_operands),
    Whole(settings.drop_settings),
    Many(values.lower_constants),
    Whole(settings.lower_push_constants),
    Whole(settings.shrink_buffers),
    Whole(settings.simplify_contents),
)

#: What spirv-val alone can judge.
DECLARED = (Many(values.drop_declarations), Many(values.share_types))
