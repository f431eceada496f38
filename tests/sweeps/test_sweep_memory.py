"""Windows of buffers, sets as cases, and modules that find their set."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import case_dynamic_operands, dynamic_words, guard_pattern, written
from cts.case.model.sweep import GAP, MAX_WORKGROUPS, Sweep, Windows, sets_at_a_time, window_stride
from cts.judging.judge import job
from cts.plugins import registry
from cts.spirv.lower import sweep_job
from tests.case_builder import corpus_case, corpus_cases

INTERPRETER = registry.driver("interpreter")
SIZE = INTERPRETER.capabilities().subgroup_size

CASES = [
    case
    for case in corpus_cases().values()
    if any(case_dynamic_operands(case))
    and not case.opaque
    and not case.conversions
    # Templates with these are refused.
    and case.robustness is None
    and not any(buffer.begins_at for buffer in case.buffers.values())
]


def test_windows_lie_behind_one_another_with_gaps() -> None:
    windows = Windows(3, 6, window_stride(6, 2))
    assert windows.stride == 2 * GAP
    contents = np.arange(18, dtype=np.uint8).reshape(3, 6)
    memory = windows.memory(contents)
    assert memory.shape == (2048 + 3 * windows.stride,)
    assert (windows.contents(memory) == contents).all()
    assert (windows.gaps(memory) == guard_pattern()[: windows.stride - 6]).all()
    assert (memory[:1024] == guard_pattern()).all() and (memory[-1024:] == guard_pattern()).all()


@pytest.mark.parametrize(("size", "element"), [(512, 2), (513, 1), (8, 8), (1024, 16)])
def test_windows_are_aligned_and_apart(size: int, element: int) -> None:
    stride = window_stride(size, element)
    assert stride % 256 == stride % element == 0 and stride - size >= GAP


def test_a_sweep_asks_for_as_many_words_as_the_template_reads() -> None:
    with pytest.raises(ValueError, match="asks for uint32"):
        Sweep(CASES[0], np.zeros((2, 999), np.uint32))


@pytest.mark.family("case", CASES, ids=lambda case: case.name)
def test_each_set_has_the_template_s_words_back(case) -> None:  # type: ignore[no-untyped-def]
    sweep = Sweep(case, dynamic_words(case)[None])
    assert sweep.case(0).content_hash == case.content_hash
    kinds: tuple[Literal["literal"], Literal["spec"]] = ("literal", "spec")
    for kind in kinds:
        assert not any(case_dynamic_operands(sweep.case(0, kind)))


@pytest.mark.family("case", CASES, ids=lambda case: case.name)
def test_every_set_of_a_dispatch_leaves_what_it_leaves_alone(case) -> None:  # type: ignore[no-untyped-def]
    """The same words three times: every window is like the memory of the case."""
    sweep = Sweep(case, np.repeat(dynamic_words(case)[None], 3, axis=0))
    (alone,), (together,) = [INTERPRETER.run(job(case, SIZE))], list(_swept(sweep))
    assert together.status is alone.status
    for name, windows in sweep.windows.items():
        assert (windows.contents(together.memory[name]) == alone.memory[name][1024:-1024]).all()
        assert (windows.gaps(together.memory[name]) == guard_pattern()[: windows.stride - windows.size]).all()
    assert set(written(case)) == set(sweep.windows)


def _swept(sweep: Sweep):  # type: ignore[no-untyped-def]
    outcome = INTERPRETER.run_module(sweep_job(sweep, sweep.memory(), SIZE))  # type: ignore[attr-defined]
    yield outcome


def test_a_template_that_is_too_large_is_refused() -> None:
    case = corpus_case("tensor_addressing.clamp.edge_low_load")
    assert sets_at_a_time(case) == MAX_WORKGROUPS
    import msgspec

    many = msgspec.structs.replace(case, dispatch=msgspec.structs.replace(case.dispatch, workgroups=(256, 256, 1)))
    with pytest.raises(BadInput, match="fewer workgroups"):
        sets_at_a_time(many)


def test_the_corpus_has_cases_to_sweep() -> None:
    assert len(CASES) > 50
