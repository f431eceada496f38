"""Forms of numbers, built-ins, undefined objects, barriers, constants and phis, none of which changes anything."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from cts.case.model import initial_memory
from cts.device.driver import Status
from cts.device.job import ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.spirv.decode import Decoded, decode
from cts.spirv.encode import Id
from cts.spirv.forms import formed_job
from cts.spirv.lower import module_job
from cts.spirv.tools import validate
from tests.case_builder import corpus_case

DYNAMIC = "kernels.gemm.three_accumulators"
SLICES = "kernels.convolution.three_by_three"
BARRIER = "matrix_programs.loop.barrier_each_turn"
BY_SUBGROUP = "matrix_programs.loop.count_per_subgroup"


def both(name: str, *forms: str, seed: int = 1) -> tuple[ModuleJob, ModuleJob]:
    """A case's job, and the same in forms, which was run to the same memory and is valid."""
    case = corpus_case(name)
    plain = module_job(case, initial_memory(case), 32)
    job = formed_job(plain, forms, seed)
    assert not validate(job.words)
    before, after = Interpreter().run_module(plain), Interpreter().run_module(job)
    assert before.status is after.status is Status.DONE, after.detail
    assert all((after.memory[b] == before.memory[b]).all() for b in case.buffers)
    return plain, job


def named(job: ModuleJob, name: str) -> list[Decoded]:
    return [i for i in decode(job.words) if i.name == name]


@pytest.mark.parametrize(("seed", "storage"), [(1, "PushConstant"), (4, "Uniform"), (0, "Private")])
def test_numbers_come_from_other_memory(seed: int, storage: str) -> None:
    plain, job = both(DYNAMIC, "parameters", seed=seed)
    found = {str(v.values[1]) for v in named(job, "OpVariable")}
    assert storage in found
    assert ("$parameters" in job.buffers) == (storage != "PushConstant")
    if storage == "PushConstant":
        buffer = plain.buffers["$parameters"]
        assert job.push_constants == buffer.data[buffer.start :][: len(job.push_constants)].tobytes()


def test_a_robust_dispatch_keeps_its_buffers() -> None:
    case = corpus_case("matrix_memory.robust.load_rows_beyond")
    plain = module_job(case, initial_memory(case), 32)
    assert (formed_job(plain, ["parameters"], 1).words == plain.words).all()


def test_built_ins_are_computed_from_others() -> None:
    _, job = both(BY_SUBGROUP, "builtins", seed=2)
    said = {str(i.values[2]) for i in named(job, "OpDecorate") if i.values[1] == "BuiltIn"}
    assert said & {"NumSubgroups", "SubgroupSize"}


def test_objects_are_undefined_in_loops_too() -> None:
    plain, job = both(SLICES, "undefined", seed=2)
    objects = {i.values[2] for i in named(job, "OpCooperativeMatrixLoadTensorNV")}
    assert {i.result for i in named(job, "OpUndef")} & {v for i in (*named(job, "OpPhi"),) for v in i.values} | objects
    assert len(named(job, "OpPhi")) >= len(named(plain, "OpPhi"))
    assert objects != {i.values[2] for i in named(plain, "OpCooperativeMatrixLoadTensorNV")}


def test_a_load_that_clips_keeps_its_object() -> None:
    plain, job = both("tensor_addressing.clip.rows", "undefined")
    assert (plain.words == job.words).all()


def test_barriers_of_a_subgroup_stand_beside_those_of_a_workgroup() -> None:
    plain, job = both(BARRIER, "barriers")
    assert len(named(job, "OpControlBarrier")) > len(named(plain, "OpControlBarrier"))


def test_constants_become_specialization_constants_with_numbers_of_their_own() -> None:
    plain, job = both(DYNAMIC, "specialized")
    ids = [i.values[2] for i in named(job, "OpDecorate") if i.values[1] == "SpecId"]
    assert len(ids) == len(set(ids)) > 0
    assert job.spec_constants == plain.spec_constants


def test_phis_are_variables() -> None:
    plain, job = both(DYNAMIC, "phis")
    assert len(named(job, "OpPhi")) < len(named(plain, "OpPhi"))
    assert any(i.values[1] == "Function" for i in named(job, "OpVariable"))


@pytest.mark.parametrize("name", [DYNAMIC, SLICES, BARRIER, BY_SUBGROUP])
@pytest.mark.parametrize("seed", range(3))
def test_all_together_and_with_others(name: str, seed: int) -> None:
    forms = (
        "parameters",
        "builtins",
        "undefined",
        "barriers",
        "specialized",
        "phis",
        "descriptors",
        "variables",
        "ids",
    )
    both(name, *forms, seed=seed)


def test_constants_of_matrices_are_written_in_other_words() -> None:
    counts = Counter[str]()
    for name, seed in product(("block_loads.program.multiplied", "block_loads.address.blocks_of_columns"), range(6)):
        plain, job = both(name, "composites", seed=seed)
        again = formed_job(job, ["composites"], seed + 1)
        assert not validate(again.words)
        counts["null"] += len(named(job, "OpConstantNull")) > len(named(plain, "OpConstantNull"))
        counts["made"] += len(named(job, "OpCompositeConstruct")) > len(named(plain, "OpCompositeConstruct"))
        counts["constant"] += len(named(again, "OpConstantComposite")) > len(named(job, "OpConstantComposite"))
    assert all(counts[what] for what in ("null", "made", "constant")), counts


def test_sized_arrays_lie_in_structures_and_arrays() -> None:
    deepest = set()
    for seed in range(12):
        _, job = both("matrix_memory.workgroup.transposed_by_each_subgroup", "offsets", seed=seed)
        deepest.add(max(len(i.values) - 2 for i in named(job, "OpAccessChain")))
    assert deepest == {2, 3, 4}


def test_a_barrier_of_the_subgroup_orders_its_own_accesses() -> None:
    plain, _ = both("matrix_memory.workgroup.transposed_by_each_subgroup")
    (scopes,) = {i.values[:2] for i in named(plain, "OpControlBarrier")[1:2]}
    numbers = {i.result: i.values[1] for i in named(plain, "OpConstant")}
    assert [numbers[s] for s in scopes if isinstance(s, Id)] == [3, 3]
