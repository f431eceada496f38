"""Forms of a module: each is valid, is what it says, and makes no difference; consumers that it trips are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from msgspec import structs

from cts.base.errors import BadInput, HarnessTrouble
from cts.case.model import Case, initial_memory
from cts.case.model.case import WorkgroupSizeMode
from cts.device.driver import Status
from cts.judging.batch import judge_all
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.plugins.form import UNKNOWN_CAPABILITY
from cts.plugins.transform import TransformFailed, parse
from cts.running import corpus
from cts.running.opening import open_driver
from cts.spirv.forms import BY_NAME_ALONE, DRAWN, FORMS, formed, formed_job
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.listing import assembly
from cts.spirv.lower import lower, module_job
from cts.spirv.tools import can_validate, validate
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts
from tests.spirv.form_mistakes import MISTAKES
from tests.spirv.modules import form

#: Every so many cases of the corpus.
STEP = 23

DECODES = "block_loads.format.q4_0"
#: Cases whose invocations differ.
INVOCATIONS = ("vector_arithmetic.divergence.conditions", "vector_multiply.memory.matrices_by_invocation")

#: A matrix whose components each invocation passes through a function, so that it asks for its length.
COMPONENTS = "matrix_arithmetic.components.f16"

SEVERAL = "matrix_programs.kernel.flash_attention"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    oracle = registry.oracle()
    return [corpus.read(entry, oracle) for entry in corpus.entries()[::STEP]]


def verdict(case: Case, spec: str) -> Verdict:
    driver = open_driver(spec)  # a new one: a driver remembers what it has compiled
    (judged,) = judge_all([case], [driver], registry.oracle().expect)
    driver.driver.close()
    return judged.attempts[0].verdict


def words(name: str) -> npt.NDArray[np.uint32]:
    return lower(corpus_case(name), 32).words


def names(module: npt.NDArray[np.uint32]) -> list[str]:
    return [op.name for op in Layout.from_words(module)]


def test_a_module_is_put_together_as_it_was(cases: list[Case]) -> None:
    for case in cases:
        module = lower(case, 32).words
        assert (formed(module, [], 0) == module).all(), case.name


@pytest.mark.parametrize("form", [*FORMS, DRAWN])
def test_a_form_is_valid_and_makes_no_difference(cases: list[Case], form: str) -> None:
    assert can_validate()
    changed = 0
    for case in cases:
        job = module_job(case, initial_memory(case), 32)
        module, other = job.words, formed_job(job, [form], 1).words
        changed += len(other) != len(module) or bool((other != module).any())
        assert (formed_job(job, [form], 1).words == other).all(), "the same seed gives the same form"
        said = validate(other)
        assert UNKNOWN_CAPABILITY in said or bool(said) == bool(validate(module)), case.name
    some = ("functions", "lengths", "addresses", "constants", "composites", "parameters", "builtins", "undefined")
    assert changed > 0.6 * len(cases) or form in (*some, "barriers", "phis", "long-vectors", "indices-64")
    for name in (DECODES, SEVERAL, COMPONENTS):
        assert verdict(corpus_case(name), f"interpreter|form:{form}:2") is Verdict.PASS


def test_all_forms_at_once_make_no_difference(cases: list[Case]) -> None:
    for case in cases:
        assert verdict(case, f"interpreter|form:{'+'.join(FORMS)}:3") is Verdict.PASS, case.name


def test_seeds_give_other_forms() -> None:
    module = words(SEVERAL)
    assert len({formed(module, [DRAWN], seed).tobytes() for seed in range(20)}) == 20


def test_functions_come_in_every_order() -> None:
    def places(seed: int) -> tuple[str, ...]:
        other = formed(words(DECODES), ["functions"], seed)
        return tuple(re.findall(r"(%\w+) = OpFunction ", assembly(other)))

    assert {places(seed) for seed in range(12)} == {("%main", "%f"), ("%f", "%main")}


def test_ids_are_sparse() -> None:
    module = words(DECODES)
    dense, sparse = Layout.from_words(module), Layout.from_words(formed(module, ["ids"], 4))
    assert names(module) == [op.name for op in sparse] and sparse.bound > 1.5 * dense.bound
    used = sorted({op.result for op in sparse if op.result is not None})
    assert used[-1] < sparse.bound and used != list(range(used[0], used[0] + len(used)))


def test_arrays_with_a_stride_are_not_those_of_variables() -> None:
    """An array of a block has an ArrayStride, which Vulkan allows no variable of a function."""
    layout = Layout.from_words(words(DECODES))
    half, uint = layout.type("OpTypeFloat", 16), layout.type("OpTypeInt", 32, 0)
    three = next(op.result for op in layout.globals if op.name == "OpConstant" and op.values == (uint, 3))
    assert three is not None
    array = layout.add("OpTypeArray", half, three)
    layout.annotations.append(Op("OpDecorate", None, (array, "ArrayStride", 2)))
    pointer = layout.add("OpTypePointer", "PhysicalStorageBuffer", array)
    layout.add("OpTypeFunction", half, pointer)
    assert not validate(layout.words())
    assert not any(validate(formed(layout.words(), ["variables"], seed)) for seed in range(30))


@pytest.mark.parametrize("by", WorkgroupSizeMode)
def test_the_size_of_a_workgroup_comes_before_matrices(by: WorkgroupSizeMode) -> None:
    """spirv-val wants to know it where it meets a matrix of that scope."""
    case = corpus_case("matrix_memory.dispatch.size_constant")
    module = lower(structs.replace(case, dispatch=structs.replace(case.dispatch, size_by=by)), 32).words
    assert not any(validate(formed(module, ["order"], seed)) for seed in range(30))


def test_declarations_are_in_another_order() -> None:
    module = words(SEVERAL)
    plain, other = (Layout.from_words(m) for m in (module, formed(module, ["order"], 1)))
    assert [op.result for op in plain.globals] != [op.result for op in other.globals]
    assert sorted(map(repr, plain)) == sorted(map(repr, other))


def test_pointers_that_are_declared_forward_stay_before_their_structures() -> None:
    """A list whose elements point to the next: the pointer names the structure, and the structure the pointer."""
    layout = Layout.from_words(words(DECODES))
    uint = layout.type("OpTypeInt", 32, 0)
    pointer, node = layout.id(), layout.id()
    layout.globals += [
        Op("OpTypeForwardPointer", None, (pointer, "PhysicalStorageBuffer")),
        Op("OpTypeStruct", node, (uint, pointer)),
        Op("OpTypePointer", pointer, ("PhysicalStorageBuffer", node)),
    ]
    for seed in range(20):
        found = Layout.from_words(formed(layout.words(), ["order"], seed)).globals
        at = {op.name: n for n, op in enumerate(found) if pointer in op.values or op.result == pointer}
        assert at["OpTypeForwardPointer"] < at["OpTypeStruct"] < at["OpTypePointer"]


def test_decorations_are_in_groups() -> None:
    grouped = formed(words(DECODES), ["groups"], 1)
    found = names(grouped)
    assert {"OpDecorationGroup", "OpGroupDecorate", "OpGroupMemberDecorate"} <= set(found)
    again = formed(grouped, ["groups", "order"], 2)
    assert names(again).count("OpDecorationGroup") == found.count("OpDecorationGroup"), "what has groups keeps them"


def test_debug_information_is_everywhere() -> None:
    found = [names(formed(words(SEVERAL), ["debug"], seed)) for seed in range(6)]
    for kind in ("OpString", "OpSource", "OpModuleProcessed", "OpLine", "OpNoLine", "OpExtInst"):
        assert all(kind in f for f in found), kind
    assert {"OpName" in f for f in found} == {True, False}
    for f in found:
        merges = [f[n + 1] for n, name in enumerate(f) if name in ("OpSelectionMerge", "OpLoopMerge")]
        assert set(merges) <= {"OpBranch", "OpBranchConditional", "OpSwitch"}


def test_other_entry_points_come_first_and_last() -> None:
    orders = {
        tuple(op.values[2] for op in Layout.from_words(formed(words(DECODES), ["entry-points"], seed)).entry_points)
        for seed in range(12)
    }
    assert orders == {("main", "other"), ("other", "main")}
    twice = formed(formed(words(DECODES), ["entry-points"], 1), ["entry-points"], 2)
    assert {op.values[2] for op in Layout.from_words(twice).entry_points} == {"main", "other", "other0"}


def test_a_module_that_is_newer_than_the_grammar_is_unsupported() -> None:
    layout = Layout.from_words(words(DECODES))
    layout.extensions.append(Op("OpExtension", None, ("SPV_XYZ_not_yet",)))
    with pytest.raises(TransformFailed, match="cannot write the module in another form: it declares") as failed:
        form("ids")(layout.words())
    assert failed.value.status is Status.UNSUPPORTED
    with pytest.raises(TransformFailed, match="magic number"):
        form("ids")(np.zeros(9, np.uint32))


@pytest.mark.parametrize(
    ("text", "what"),
    [("form:nope", "'nope' is not a form"), ("form:ids+:3", "'' is not a form"), ("form:ids:x", "'x'")],
)
def test_what_is_no_form(text: str, what: str) -> None:
    with pytest.raises(BadInput, match=re.escape(what)):
        parse(text)


def test_an_invalid_form_is_a_bug_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(layout: Layout, _random: np.random.Generator) -> None:
        layout.memory_model.clear()

    monkeypatch.setitem(FORMS, "ids", broken)
    with pytest.raises(HarnessTrouble, match="form:ids made an invalid module of a valid one"):
        form("ids")(words(DECODES))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_forms_find_what_plain_modules_do_not(
    monkeypatch: pytest.MonkeyPatch, mistake: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """Mistakes of consumers that modules as they are lowered do not show: some of these cases pass."""
    mistake(monkeypatch)
    cases = [corpus_case(name) for name in (DECODES, COMPONENTS, *INVOCATIONS)]
    blind = [case for case in cases if verdict(case, "interpreter") is Verdict.PASS]
    forms = [f"interpreter|form:{'+'.join([DRAWN, *BY_NAME_ALONE])}:{seed}" for seed in range(12)]
    found = (verdict(case, form) for form in forms for case in blind)
    assert any(one is not Verdict.PASS for one in found)


def test_the_verb_takes_forms(command: Cts) -> None:
    ran = command("run", "reductions.add.row_f32", "-d", "interpreter", "-d", "emulator", "--vary", "forms=2")
    assert ran.status == 0
    assert [f"interpreter|form:drawn:{n}" in ran.out + ran.err for n in (1, 2, 3)] == [True, True, False]
    ran = command("run", "reductions.add.row_f32", "-d", "emulator", "--vary", "forms=2")
    assert ran.status == 2 and "none of the drivers runs modules" in ran.err


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)
