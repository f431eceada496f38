"""The areas of cooperative vectors: cases are valid, within the capabilities, and shrink to little."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, find, settings

from cts.base.choices import Choices, Seeded, strategy
from cts.base.errors import NothingToGenerate
from cts.case import model
from cts.device.capabilities import Capabilities, VectorMulSupport, everything
from cts.generators.build.contents import Wanted, cycle, draw_contents
from cts.generators.build.value_ranges import Known
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.parts.vector_flow import draw_alike, draw_loop
from cts.generators.parts.vector_parts import MAKERS
from cts.plugins import registry
from tests.generators.samples import sample
from tests.generators.vector_devices import DEVICES, LEAST, REQUIRED
from tests.generators.vector_situations import row_of

EXAMPLES = 150
AREAS = ("vector_arithmetic", "vector_conversions", "vector_multiply", "vector_training")
PAIRS = [(a, d) for a in AREAS for d in DEVICES if (a, d) != ("vector_training", "least")]


@pytest.mark.parametrize(("area", "device"), PAIRS)
def test_cases_are_valid_and_within_the_capabilities(area: str, device: str) -> None:
    capabilities: Capabilities = DEVICES[device]
    oracle = registry.oracle()
    cases = sample(EXAMPLES, capabilities, area)
    assert len(cases) == EXAMPLES
    for case in cases:
        assert model.resolve(case)[1] == [], model.dumps_case(case)
        assert capabilities.missing(case) == [], model.dumps_case(case)
        assert oracle.violations(case) == [], model.dumps_case(case)


def products(cases: Iterable[model.Case]) -> Iterator[tuple[model.VectorMatrixMul, VectorMulSupport]]:
    """Every multiplication and the row that it asks for."""
    for case in cases:
        types = model.types_of(case)
        for i in case.program:
            if isinstance(i, model.VectorMatrixMul):
                source = types[i.input]
                assert isinstance(source, model.VectorShape)
                yield i, row_of(i, source.component)


@pytest.mark.parametrize("device", DEVICES)
def test_every_row_of_a_device_is_multiplied_by(device: str) -> None:
    """With a bias, of which a row says the type; transposed only where the row allows it (VK-052).

    Of several seeds, for later examples of one are made of its earlier ones; of no more of them than it takes.
    """
    rows = {replace(r, transpose=False) for r in DEVICES[device].vector_muls}
    allowed = {
        replace(r, bias_interpretation=r.matrix_interpretation) for r in DEVICES[device].vector_muls if r.transpose
    }
    biased: set[VectorMulSupport] = set()
    transposed: set[VectorMulSupport] = set()
    for number in range(16):
        for i, row in products(sample(100, DEVICES[device], "vector_multiply", number)):
            if i.bias:
                biased.add(replace(row, transpose=False))
            if row.transpose:
                transposed.add(replace(row, bias_interpretation=row.matrix_interpretation))
        if biased >= rows and len(transposed) >= len(allowed) // 2:
            break
    assert biased == rows
    assert transposed <= allowed
    assert len(transposed) >= len(allowed) // 2


@pytest.mark.parametrize("row", REQUIRED, ids=lambda row: f"{row.input.value}-{row.input_interpretation.value}")
def test_a_device_with_one_row_has_cases_of_it(row: VectorMulSupport) -> None:
    alone = replace(LEAST, vector_muls=(row,), vector_components=frozenset({row.input, row.result}))
    found = list(products(sample(40, alone, "vector_multiply")))
    assert {r for i, r in found if i.bias} == {row}
    assert {i.bias is None for i, _ in found} == {False, True}


@pytest.mark.parametrize("area", AREAS)
def test_cases_survive_yaml(area: str) -> None:
    for case in sample(EXAMPLES, everything(), area)[::5]:
        assert model.loads_case(model.dumps_case(case)) == case


@pytest.mark.parametrize("area", AREAS)
def test_a_driver_without_vectors_has_no_cases(area: str) -> None:
    with pytest.raises(NothingToGenerate, match="the driver"):
        registry.area(area)(replace(everything(), features=frozenset()))


def test_a_driver_without_training_has_no_cases_of_it() -> None:
    with pytest.raises(NothingToGenerate, match="training"):
        registry.area("vector_training")(LEAST)


def has(kind: type) -> Callable[[model.Case], bool]:
    return lambda case: any(isinstance(i, kind) for i in case.program)


def smallest(area: str, wanted: Callable[[model.Case], bool]) -> model.Case:
    """The smallest of three: Hypothesis also draws constants of the modules that happen to be imported by then."""
    quick = settings(max_examples=2000, derandomize=True, database=None, phases=[Phase.generate, Phase.shrink])
    strategies = strategy(registry.area(area)(everything()))
    found = [find(strategies, wanted, settings=quick, random=Random(seed)) for seed in range(3)]
    return min(found, key=lambda case: (len(case.program), case.dispatch.invocations))


@pytest.mark.parametrize(
    ("area", "kind", "instructions"),
    [
        ("vector_arithmetic", model.VectorStore, [model.VectorLoad, model.VectorStore]),
        ("vector_multiply", model.VectorMatrixMul, [model.VectorLoad, model.VectorMatrixMul, model.VectorStore]),
        ("vector_training", model.VectorReduceSumAccumulate, [model.VectorLoad, model.VectorReduceSumAccumulate]),
        ("vector_training", model.VectorAtomicAdd, [model.VectorLoad, model.VectorAtomicAdd]),
        (
            "vector_training",
            model.VectorOuterProductAccumulate,
            [model.VectorLoad] * 2 + [model.VectorOuterProductAccumulate],
        ),
    ],
)
def test_shrinks_to_what_is_wanted(area: str, kind: type, instructions: list[type]) -> None:
    case = smallest(area, has(kind))
    assert [type(i) for i in case.program] == instructions
    assert case.dispatch.invocations == 1


def test_an_optimal_layout_shrinks_to_one_product() -> None:
    def wanted(case: model.Case) -> bool:
        return any(
            isinstance(i, model.VectorMatrixMul) and model.layout_of(i.layout) is model.MatrixLayout.TrainingOptimal
            for i in case.program
        )

    case = smallest("vector_multiply", wanted)
    assert len(case.program) == 3
    assert len(case.conversions) == 1


def test_a_loop_shrinks_to_few_steps() -> None:
    """A loop with one step has 5 to 7 instructions. Shrinking may keep steps before it, whose number is drawn first."""
    assert len(smallest("vector_arithmetic", has(model.EndLoop)).program) <= 12


def test_what_is_constructed_of_parts_has_the_numbers_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector that is constructed of loaded parts may have negative numbers, which no unsigned conversion takes."""
    loaded: list[Known | None] = []
    load = VectorKernel.load

    def noted(self: VectorKernel, *arguments: Any) -> Vector:
        vector = load(self, *arguments)
        loaded.append(vector.known)
        return vector

    monkeypatch.setattr(VectorKernel, "load", noted)
    parts = 0
    for seed in range(40):
        choices = Seeded(f"made {seed}")
        kernel = VectorKernel(choices, everything(), model.Dispatch(invocations=1))
        contents = draw_contents(choices, model.ComponentType.float32, Wanted(size=8, sign="nonnegative", exact=True))
        vector = kernel.load(choices, model.ComponentType.float32, 3, contents)
        loaded.clear()
        made = MAKERS["construct"](choices, kernel, vector)
        if made is None:
            continue
        parts += 1
        assert all(part is not None and made.range.covers(part) for part in loaded), (made, loaded)
        assert made.range.covers(vector.range)
    assert parts > 20


def test_what_a_loop_carries_is_known_of_every_iteration() -> None:
    """A constant 1 may begin a loop whose turns make more of it: its numbers are not all that are carried."""
    begun: set[str] = set()
    for seed in range(60):
        choices = Seeded(f"loop {seed}")
        kernel = VectorKernel(choices, everything(), model.Dispatch(invocations=1))
        contents = draw_contents(choices, model.ComponentType.float32, Wanted(size=8, exact=True))
        vector = replace(kernel.load(choices, model.ComponentType.float32, 3, contents), known=Known(-80, 80, -1))
        seen: list[Vector] = []

        def iteration(_: Choices, carried: Sequence[Vector], seen: list[Vector] = seen) -> Sequence[Vector]:
            seen += carried
            return carried

        (after,) = draw_loop(choices, kernel, [vector], iteration)
        assert [v.known for v in seen] == [vector.known] and after.range.covers(vector.range)
        begin = next(i for i in kernel.program.instructions if isinstance(i, model.Loop))
        made = next(i for i in kernel.program.instructions if begin.carry[0].init in i.defines)
        begun.add(type(made).__name__)
    assert len(begun) > 3, "other producers than the vector itself"


def test_what_leaves_a_loop_early_is_known_behind_it() -> None:
    """The end of an iteration may hand on less than a Break does."""
    left = 0
    for seed in range(80):
        choices = Seeded(f"exit {seed}")
        kernel = VectorKernel(choices, everything(), model.Dispatch(invocations=1))
        contents = draw_contents(choices, model.ComponentType.float32, Wanted(size=8, exact=True))
        wide = replace(kernel.load(choices, model.ComponentType.float32, 3, contents), known=Known(-500, 500, -1))
        narrow = kernel.constant(choices, model.ComponentType.float32, 3, (0, 1))
        (after,) = draw_loop(choices, kernel, [narrow], lambda _, carried, wide=wide: [wide])  # type: ignore[misc]
        exits = [i for i in kernel.program.instructions if isinstance(i, model.Break)]
        if any(wide.id in one.next for one in exits):
            left += 1
            assert after.range.covers(wide.range)
    assert left > 3


def test_a_loop_that_makes_an_operand_in_a_loop_has_places_of_its_own() -> None:
    for number in range(40):
        choices = Seeded(f"loops {number}")
        kernel = VectorKernel(choices, everything(), model.Dispatch(invocations=2))

        def iteration(c: Choices, carried: Sequence[Vector], kernel: VectorKernel = kernel) -> Sequence[Vector]:
            return [draw_alike(c, kernel, vector, ("loop",)) for vector in carried]

        vector = kernel.load(choices, model.ComponentType.int32, 5, cycle((1, 2, 3)))
        kernel.store(choices, draw_loop(choices, kernel, [vector], iteration)[0])
        case = kernel.case()
        assert registry.oracle().violations(case) == [], model.dumps_case(case)
