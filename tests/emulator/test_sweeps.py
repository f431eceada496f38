"""Sweeps: many parameter sets at once leave what each of them leaves alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec import structs

from cts.base.choices import Seeded
from cts.case import model
from cts.case.model.buffer import Counter, Data, initial_bits
from cts.case.model.operand import BLOCKED_ORDERS
from cts.case.model.sweep import Sweep
from cts.device.capabilities import everything
from cts.device.driver import Job, Outcome, Status, SweepDriver, SweepJob
from cts.drivers.emulator import create, running
from cts.drivers.emulator.driver import MAX_INSTANCES
from cts.plugins import registry
from tests.case_builder import yaml_case

M2X4 = "{component: uint8, scope: Subgroup, rows: 2, cols: 4, use: A}"

#: Places of the guards in a memory.
GUARDS = (slice(model.GUARD_BYTES), slice(-model.GUARD_BYTES, None))

#: Generated cases of an area.
CASES = 12

#: Fields that hold operands.
OPERANDS = {"dims", "strides", "offset", "span", "block_size", "stride", "condition", "count", "index"}

VARIANTS: list[dict[str, str]] = [
    {},
    {"subgroup_size": "8", "tile": "row", "order": "shuffled", "stores": "reversed", "decode": "mixed"},
    {"contract": "on", "zeros": "negative", "denormals": "flush", "both": "columns", "reduce": "strided"},
    {"accumulate": "tree", "precision": "result", "opaque": "swizzled", "gaps": "zeroed", "atomics": "shuffled"},
    {"atomics": "combined", "precision": "float32", "arguments": "swapped", "rounding": "up"},
]

#: Bugs of operands, of control flow, of more than one instance, and of values changed in place.
MUTANTS = (
    "dynamic-neighbour",
    "dynamic-16-bit",
    "first-workgroup-operands",
    "first-subgroup-operands",
    "pointer-offset-replaced",
    "if-first-workgroup",
    "if-inverted",
    "merge-takes-then",
    "loop-at-least-once",
    "loop-carry-not-updated",
    "mul-add-in-place",
    "replicated-half-width",
    "times-scalar-narrowed",
    "strict-sum-folded",
    "vector-insert-in-place",
    "vector-multiply-in-place",
    "vector-divergent-lost",
    "vector-stride-of-lane-four",
    "training-inactive-contribute",
    "reduce-sum-atomic-lost",
    "outer-product-atomic-lost",
    "atomic-add-in-workgroup",
    "reduce-sum-forgets-atomics",
    "conversion-tail-rows-dropped",
)


def no_module() -> Any:
    raise AssertionError("the emulator runs cases, not modules")


def run(sweep: Sweep, **options: str) -> Outcome:
    driver = create(options)
    assert isinstance(driver, SweepDriver)
    (outcome,) = driver.run_sweeps([SweepJob(sweep, sweep.memory(), no_module)])
    return outcome


def alone(case: model.Case, **options: str) -> Outcome:
    return create(options).run(Job(case, model.initial_memory(case), no_module))


def agrees(sweep: Sweep, **options: str) -> None:
    """Each window holds what the buffer holds after its set has run alone."""
    outcome = run(sweep, **options)
    assert outcome.status is Status.DONE, outcome.detail
    before = sweep.memory()
    assert outcome.memory.keys() == before.keys()
    for name in before.keys() - sweep.windows.keys():
        np.testing.assert_array_equal(outcome.memory[name], before[name], name)
    for name, windows in sweep.windows.items():
        gaps = windows.gaps(outcome.memory[name])
        assert (gaps == model.guard_pattern()[: gaps.shape[1]]).all(), name
        for side in GUARDS:
            np.testing.assert_array_equal(outcome.memory[name][side], model.guard_pattern())
    for number in range(len(sweep)):
        expected = alone(sweep.case(number), **options)
        assert expected.status is Status.DONE, expected.detail
        for name, windows in sweep.windows.items():
            contents = windows.contents(outcome.memory[name])[number]
            np.testing.assert_array_equal(
                contents, expected.memory[name][model.GUARD_BYTES : -model.GUARD_BYTES], f"{name} of set {number}"
            )


def swept(case: model.Case) -> model.Case:
    """The case with more of its operands read at run time."""
    program = []
    for instruction in case.program:
        changed: dict[str, Any] = {}
        for name in instruction.__struct_fields__:
            value = getattr(instruction, name)
            if name in instruction.component_values:
                changed[name] = lifted(value, lambda v: model.SpecNumber(dynamic=v), (int, float, str))
            elif name in OPERANDS and not (name == "stride" and is_blocked(instruction)):
                changed[name] = lifted(value, lambda v: model.Scalar(dynamic=v), (int,))
        program.append(structs.replace(instruction, **changed))
    return structs.replace(case, program=tuple(program))


def is_blocked(instruction: model.Instruction) -> bool:
    """Whether it accesses a blocked layout, whose stride is a literal (AL-006)."""
    return getattr(instruction, "order", None) in BLOCKED_ORDERS


def lifted(value: Any, lift: Callable[[Any], Any], types: tuple[type, ...]) -> Any:
    if isinstance(value, tuple):
        return tuple(lifted(v, lift, types) for v in value)
    return lift(value) if isinstance(value, types) else value


def perturbed(case: model.Case, *, other_data: bool) -> Sweep | None:
    """The case's own words, others with a bit of one or two changed, and its own again; those that are valid.

    With other data, the contents of all buffers are moved on by an element from set to set.
    """
    own, random = model.dynamic_words(case), np.random.default_rng(len(case.program))
    rows = [own]
    for _ in range(9 if len(own) else 2):
        row = own.copy()
        for _ in range(min(len(own), int(random.integers(1, 3)))):
            row[random.integers(len(own))] ^= np.uint32(1 << random.integers(6))
        rows.append(row)
    sweep = Sweep(case, np.array([*rows, own]))
    if other_data:
        sweep = replace(sweep, data={name: moved_on(buffer, len(sweep)) for name, buffer in case.buffers.items()})
    valid = [not registry.oracle().violations(sweep.case(n)) for n in range(len(sweep))]
    return sweep.chosen(np.array(valid)) if any(valid) else None


def moved_on(buffer: model.Buffer, count: int) -> npt.NDArray[np.uint8]:
    contents = initial_bits(buffer)
    return np.stack([np.roll(contents, n).view(np.uint8) for n in range(count)])


def drawn(area: str, cases: int = CASES) -> Iterator[Sweep]:
    """Sweeps of generated cases, as they are and with more operands read at run time."""
    return (sweep for number in range(cases) if (sweep := sweep_of(area, number)) is not None)


@cache
def sweep_of(area: str, number: int) -> Sweep | None:
    case = registry.area(area)(everything())(Seeded(f"sweep {number}"))
    return perturbed(swept(case) if number % 3 else case, other_data=number % 4 == 2)


@pytest.mark.parametrize("area", registry.names("cts.areas"))
def test_every_set_leaves_what_it_leaves_alone(area: str) -> None:
    sweeps = list(drawn(area))
    assert len(sweeps) > CASES / 2
    assert max(len(np.unique(sweep.sets, axis=0)) for sweep in sweeps) > 1
    for number, sweep in enumerate(sweeps):
        agrees(sweep)
        agrees(sweep, **VARIANTS[number % len(VARIANTS)])


def stays_inside(sweep: Sweep, mutant: str) -> bool:
    """Whether no set alone leaves a trace outside of the buffers: there, a sweep has the windows of others."""
    for number in range(len(sweep)):
        outcome = alone(sweep.case(number), mutant=mutant)
        guards = [memory[side] for memory in outcome.memory.values() for side in GUARDS]
        if outcome.status is not Status.DONE or any((guard != model.guard_pattern()).any() for guard in guards):
            return False
    return True


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bug_is_the_same_in_a_sweep(mutant: str) -> None:
    area = next(bug.area for bug in create.mutants() if bug.name == mutant)
    shown = False
    # Drawn until the bug shows, and CASES at least: areas with webs and edges have fewer cases of each instruction.
    for number, sweep in enumerate(drawn(area, 10 * CASES)):
        if shown and number >= CASES:
            break
        if stays_inside(sweep, mutant):
            agrees(sweep, mutant=mutant)
            right, wrong = run(sweep).memory, run(sweep, mutant=mutant).memory
            shown |= any((right[name] != wrong[name]).any() for name in right)
    assert shown, "no sweep shows the bug"


#: Stores its 8 numbers of `src`, from an offset on, at an offset.
COPY = """
  - {op: MatrixLoad, id: m, type: M2X4, buffer: src, stride: 4, offset: {dynamic: 0, wg.x: 8}}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 4, offset: {dynamic: 0, wg.x: 8}}
"""


def copying(words: list[list[int]], *, workgroups: int = 1, dst: int = 16) -> Sweep:
    """A sweep of COPY with the offsets of its load and its store."""
    buffers = f"""
        src: {{type: uint8, shape: [64], data: {{counter: {{}}}}}}
        dst: {{type: uint8, shape: [{dst}], data: {{fill: 238}}}}
    """
    case = yaml_case(COPY, buffers, f"{{workgroups: [{workgroups}, 1, 1]}}", M2X4=M2X4)
    return Sweep(case, np.array(words, np.uint32).reshape(-1, 2))


def contents(sweep: Sweep, outcome: Outcome) -> list[list[int]]:
    assert outcome.status is Status.DONE, outcome.detail
    found: list[list[int]] = sweep.windows["dst"].contents(outcome.memory["dst"]).tolist()
    return found


def test_each_set_has_its_words_and_its_window() -> None:
    sweep = copying([[0, 0], [5, 8], [40, 1]])
    assert contents(sweep, run(sweep)) == [
        [*range(8), *[238] * 8],
        [*[238] * 8, *range(5, 13)],
        [238, *range(40, 48), *[238] * 7],
    ]


def test_each_set_has_its_data() -> None:
    sweep = copying([[0, 0], [0, 0], [1, 0]])
    given = np.arange(3 * 64, dtype=np.uint8).reshape(3, 64)
    sweep = replace(sweep, data={"src": given, "dst": np.full((3, 16), [[1], [2], [3]], np.uint8)})
    assert contents(sweep, run(sweep)) == [
        [*range(8), *[1] * 8],
        [*range(64, 72), *[2] * 8],
        [*range(129, 137), *[3] * 8],
    ]


@pytest.mark.parametrize("workgroups", [1, 2, 1024])
def test_sets_beyond_what_runs_together(workgroups: int) -> None:
    count = 2 * running.TOGETHER // workgroups + 3
    sweep = copying([[n % 40, n % 3] for n in range(count)], dst=8 * workgroups + 3, workgroups=workgroups)
    case = structs.replace(sweep.template, buffers=sweep.template.buffers | {"src": wide(8 * workgroups + 40)})
    sweep = replace(sweep, template=case)
    numbers = np.arange(8 * workgroups + 40).astype(np.uint8)
    for n, found in enumerate(contents(sweep, run(sweep))):
        end = n % 3 + 8 * workgroups
        assert found[n % 3 : end] == numbers[n % 40 : n % 40 + 8 * workgroups].tolist()
        assert {*found[: n % 3], *found[end:]} == {238}


def wide(count: int) -> model.Buffer:
    return model.Buffer(type=model.ComponentType.uint8, shape=(count,), data=Data(counter=Counter()))


def test_the_window_of_another_set_can_be_reached() -> None:
    sweep = copying([[0, 512], [8, 8]])
    assert sweep.windows["dst"].stride == 512
    assert contents(sweep, run(sweep)) == [[238] * 16, [*range(16)]]


@pytest.mark.parametrize(("offset", "buffer"), [((2000, 0), "src"), ((0, 3000), "dst")])
def test_an_access_past_the_memory_is_a_crash(offset: tuple[int, int], buffer: str) -> None:
    outcome = run(copying([[0, 0], [0, 0], [*offset]]))
    assert (outcome.status, outcome.memory) == (Status.CRASH, {})
    assert f"of buffer '{buffer}'" in outcome.detail
    assert "scope instance 2" in outcome.detail


def test_a_set_that_does_not_fit_is_unsupported() -> None:
    case = copying([[0, 0]]).template
    case = structs.replace(case, dispatch=model.Dispatch(workgroups=(MAX_INSTANCES // 1024, 1024, 2)))
    outcome = run(Sweep(case, np.zeros((1, 2), np.uint32)))
    assert outcome.status is Status.UNSUPPORTED
    assert f"{2 * MAX_INSTANCES} subgroups" in outcome.detail


def test_the_job_keeps_its_memory() -> None:
    sweep = copying([[0, 0], [8, 0]])
    memory = sweep.memory()
    job = SweepJob(sweep, {name: data.copy() for name, data in memory.items()}, no_module)
    first, second = create({}).run_sweeps([job, job])
    for name in memory:
        np.testing.assert_array_equal(job.memory[name], memory[name])
        np.testing.assert_array_equal(first.memory[name], second.memory[name])
