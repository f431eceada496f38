"""The driver on Mesa's RADV, of which CTS_TEST_AMD_WORKER starts a worker: `chroot ROOT python3`."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

import cts
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation
from cts.device.driver import Described, ListingDriver, Outcome
from cts.drivers.amd import create
from cts.drivers.amd.driver import AmdDriver
from cts.drivers.amd.listing import Listing, parse
from cts.drivers.amd.mutants import mutated
from cts.findings.explain import explain
from cts.judging.judge import OpenDriver, attempt_of, job, job_for, judge
from cts.judging.verdict import Verdict
from cts.modules.dispatch import run
from cts.plugins import registry
from cts.running.opening import open_driver
from tests.amd.encodings import disagreements, fields

WORKER = os.environ.get("CTS_TEST_AMD_WORKER", "")

pytestmark = pytest.mark.skipif(not WORKER, reason="no RADV: set CTS_TEST_AMD_WORKER to a worker command (docs/amd.md)")

#: A matrix as most cases have it.
_TILE = "scope: Subgroup, rows: 16, cols: 16, use: Accumulator}"

_HALVES = f"""
schema: 1
name: halves
buffers:
  src: {{type: uint32, shape: [96], data: {{iota: {{}}}}}}
  dst: {{type: float16, shape: [256], data: {{fill: -5}}}}
program:
  - {{op: MatrixLoad, id: m, type: {{component: uint32, {_TILE}, buffer: src, stride: 4}}
  - {{op: MatrixConvert, id: m1, matrix: m, operation: ConvertSToF, component: float16}}
  - {{op: MatrixStore, matrix: m1, buffer: dst, stride: 16, order: ColumnMajor}}
"""
_FRACTIONS = f"""
schema: 1
name: fractions
buffers:
  src: {{type: float32, shape: [16, 16], data: {{random: {{seed: 1, low: 1, high: 64, halvings: 1}}}}}}
  dst: {{type: float32, shape: [16, 16], data: {{fill: -5}}}}
program:
  - {{op: MatrixLoad, id: m, type: {{component: float32, {_TILE}, buffer: src, stride: 16}}
  - {{op: MatrixConvert, id: m1, matrix: m, operation: ConvertFToS, component: int32}}
  - {{op: MatrixConvert, id: m2, matrix: m1, operation: ConvertSToF, component: float32}}
  - {{op: MatrixStore, matrix: m2, buffer: dst, stride: 16}}
"""
_NANS = f"""
schema: 1
name: nans
float_controls: FastMathNone
buffers:
  src: {{type: float32, shape: [16, 16], data: {{cycle: ['0x7f800001', 1, '0xff800001', -2, 3]}}}}
  dst: {{type: bfloat16, shape: [16, 16], data: {{fill: -5}}}}
program:
  - {{op: MatrixLoad, id: m, type: {{component: float32, {_TILE}, buffer: src, stride: 16}}
  - {{op: MatrixConvert, id: m1, matrix: m, operation: FConvert, component: bfloat16}}
  - {{op: MatrixStore, matrix: m1, buffer: dst, stride: 16}}
"""

#: By a case: the planted changes that it finds.
KILLS = {
    "matrix_memory.workgroup.stored_then_loaded": (
        "load-wait-dropped", "lds-wait-dropped", "scalar-wait-dropped", "load-wait-too-few", "store-offset",
        "store-of-next-register", "store-address", "store-descriptor", "store-of-low-half", "load-to-other-half",
        "lds-store-offset", "lds-load-offset", "lds-store-register", "descriptor-of-next-binding", "shift-by-one-more",
        "lanes-masked", "rows-not-reversed", "loop-condition", "branch-condition",
    ),
    "matrix_arithmetic.elements.udiv_u32": (
        "load-offset", "half-selected-wrongly", "multiplied-by-other", "conversion-of-next-register",
    ),
    "matrix_arithmetic.mul_add.saturates_at_the_bottom": (
        "load-to-next-register", "product-swapped", "product-without-c", "product-sign", "product-unclamped",
        "product-of-other-register",
    ),
    "matrix_programs.loop.continue_first": ("lanes-replicated-wrongly",),
    "matrix_programs.loop.once": ("sum-is-difference",),
    "matrix_arithmetic.elements.chain": ("packed-half",),
    "matrix_arithmetic.elements.udiv_u8": ("bytes-permuted",),
    "conversions.float.f16_to_f32": ("transposed-load-address", "mixed-half"),
    _HALVES: ("mixed-to-other-half",),
    _NANS: ("comparison-twin",),
    _FRACTIONS: ("trunc-dropped",),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal")


def opened(folder: Path, **options: str) -> OpenDriver:
    given = "".join(f",{name}={value}" for name, value in options.items())
    return open_driver(f"amd:worker={WORKER},journal={folder}{given}")


@cache
def expected(text: str) -> tuple[Case, Expectation]:
    case = cts.load(text)
    return case, registry.oracle().expect(case)


def verdict(driver: OpenDriver, text: str) -> Verdict:
    return judge(driver, *expected(text)).verdict


@pytest.mark.parametrize("chip", ["gfx1201", "navi31"])
@pytest.mark.parametrize("size", ["32", "64"])
@pytest.mark.parametrize("text", KILLS)
def test_cases_pass(text: str, size: str, chip: str, folder: Path) -> None:
    found = verdict(opened(folder, subgroup_size=size, chip=chip), text)
    if chip == "navi31" and found is Verdict.UNSUPPORTED:
        pytest.skip("this Mesa does not tell numbers of workgroups from those of waves")
    assert found is Verdict.PASS


@pytest.mark.parametrize("variant", create.variants(), ids=lambda variant: variant.name)
@pytest.mark.parametrize("text", KILLS)
def test_cases_pass_with_every_freedom(text: str, variant: Described, folder: Path) -> None:
    name, _, value = variant.name.partition("=")
    assert verdict(opened(folder, **{name: value}), text) is Verdict.PASS


@pytest.mark.parametrize(("text", "mutant"), [(text, m) for text, mutants in KILLS.items() for m in mutants])
def test_planted_changes_are_found(text: str, mutant: str, folder: Path) -> None:
    driver = opened(folder, mutant=mutant)
    found = verdict(driver, text)
    if found is Verdict.PASS and fits(driver, text, mutant):
        pytest.fail(f"{mutant} is not found")
    if found is Verdict.PASS:
        pytest.skip(f"this Mesa compiles nothing that {mutant} changes")
    assert found in (Verdict.FAIL, Verdict.CRASH)


def fits(driver: OpenDriver, text: str, mutant: str) -> bool:
    """Whether the code has an instruction that the change concerns."""
    assert isinstance(driver.driver, ListingDriver)
    code = parse(driver.driver.compiled(job(expected(text)[0], 64).module())["Assembly"])
    return mutated(code, mutant) != code


def test_every_planted_change_has_a_case() -> None:
    assert sorted(m.name for m in create.mutants()) == sorted(m for mutants in KILLS.values() for m in mutants)


@pytest.mark.parametrize(
    "text",
    [
        "matrix_memory.storage.physical",
        "matrix_memory.storage.physical_column_major",
        "matrix_memory.dispatch.tiles_of_workgroups_and_subgroups",
        "matrix_memory.workgroup.exchange_between_subgroups",
        "matrix_arithmetic.mul_add.of_every_subgroup",
    ],
)
def test_push_constants_and_workgroups(text: str, folder: Path) -> None:
    driver = opened(folder, check="uninitialised+beyond")
    assert verdict(driver, text) is Verdict.PASS


def test_push_constants_that_the_code_does_not_use(folder: Path) -> None:
    text = f"""
schema: 1
name: unused
buffers:
  a: {{type: float16, shape: [256], data: {{iota: {{}}}}, storage: PhysicalStorageBuffer}}
  b: {{type: float16, shape: [256], data: {{iota: {{start: 3}}}}, storage: PhysicalStorageBuffer}}
  dst: {{type: float16, shape: [256], data: {{fill: 0}}, storage: PhysicalStorageBuffer}}
program:
  - {{op: MatrixLoad, id: m, type: {{component: float16, {_TILE}, buffer: a, stride: 16}}
  - {{op: MatrixLoad, id: n, type: {{component: float16, {_TILE}, buffer: b, stride: 16}}
  - {{op: MatrixStore, matrix: n, buffer: dst, stride: 16}}
"""
    assert verdict(opened(folder), text) is Verdict.PASS


def test_the_machine_code_is_handed_out(folder: Path) -> None:
    driver = opened(folder).driver
    assert isinstance(driver, ListingDriver)
    texts = driver.compiled(job(expected("matrix_arithmetic.mul_add.a_times_identity")[0], 64).module())
    assert "v_wmma_f32_16x16x16_f16" in texts["Assembly"]


def test_a_fused_product_and_sum_is_the_back_ends(folder: Path) -> None:
    text = "matrix_arithmetic.environment.multiply_then_add_strict"
    assert verdict(opened(folder), text) is Verdict.FAIL
    assert verdict(opened(folder, aco="plain"), text) is Verdict.PASS


def test_the_driver_says_that_its_code_is_run_here(folder: Path) -> None:
    assert opened(folder).identity.endswith("its code run by this suite")


def test_texts_and_encodings_agree(folder: Path) -> None:
    driver = opened(folder)
    assert isinstance(driver.driver, ListingDriver)
    read = 0
    for text in (*KILLS, "kernels.gemm.beta_first", "matrix_memory.storage.physical", "conversions.float.bf16_to_f16"):
        code = parse(driver.driver.compiled(job(expected(text)[0], 64).module())["Assembly"])
        assert [found for i in code.instructions for found in disagreements(i)] == []
        read += sum(fields(i) is not None for i in code.instructions)
    assert read > 400


def test_a_swap_with_a_constant_is_a_finding() -> None:
    """Finding 11 of docs/findings/mesa-26.2.6-radv.md; without optimisations the memory is right."""
    file = Path(__file__).parent / "swapped_constant.yaml"
    (found,) = run(file, [f"amd:worker={WORKER}"]).runs
    if found.verdict is Verdict.PASS:
        pytest.skip("this Mesa swaps no register with a constant")
    assert found.verdict is Verdict.CRASH and "v_swap_b32" in found.outcome.detail
    plain = run(file, ["interpreter", f"amd:worker={WORKER},aco=plain"])
    assert plain.status == 0


#: Planted changes whose lead names the line; the others' leads say nothing.
NAMED = {
    "load-wait-dropped", "store-offset", "store-of-next-register", "store-address", "load-offset", "shift-by-one-more",
    "product-swapped", "sum-is-difference", "packed-half", "comparison-twin", "loop-condition",
}  # fmt: skip


@pytest.mark.parametrize(("text", "mutant"), [(text, m) for text, mutants in KILLS.items() for m in mutants])
def test_the_lead_of_a_planted_change_does_not_mislead(text: str, mutant: str, folder: Path) -> None:
    driver = opened(folder, mutant=mutant)
    case, expectation = expected(text)
    assert isinstance(driver.driver, AmdDriver)
    code = parse(driver.driver.compiled(job(case, 64).module())["Assembly"]).instructions
    changed = mutated(Listing(code, {}), mutant).instructions
    lines = {i.line for i, j in zip(code, changed, strict=True) if i.text != j.text}
    if not lines:
        pytest.skip(f"this Mesa compiles nothing that {mutant} changes")

    def is_right(outcome: Outcome) -> bool:
        return attempt_of(case, expectation, outcome, 0.0).verdict is Verdict.PASS

    lead = driver.driver.lead(job_for(driver, case), is_right)
    if lead is not None:
        between = range(lead.between[0], lead.between[1] + 1) if lead.between else ()
        assert lines & {*lead.lines, *between}
    assert lead is not None or mutant not in NAMED


def test_two_products_that_are_fused_are_one_lead(folder: Path) -> None:
    """Finding 1 of docs/findings/mesa-26.2.6-radv.md."""
    (said,) = explain(expected("matrix_arithmetic.environment.multiply_then_add_strict")[0], opened(folder)).code
    assert "v_pk_fma_f16" in said and "`v_pk_add_f16" in said and "alike in line" in said


def test_nothing_is_said_of_code_without_optimisations(folder: Path) -> None:
    driver = opened(folder, mutant="load-wait-dropped", aco="plain")
    assert explain(expected("matrix_memory.strided.padded_store")[0], driver).code == ()
