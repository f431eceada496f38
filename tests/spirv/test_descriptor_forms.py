"""A form of bindings: buffers as elements of arrays of descriptors, by constant, uniform and other indices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from cts.case.model import initial_memory
from cts.device.driver import Outcome, Status
from cts.device.job import Address, Memory, ModuleJob
from cts.drivers.interpreter import Interpreter, launch
from cts.drivers.interpreter.handlers import variable
from cts.drivers.vulkan import descriptors as declared
from cts.drivers.vulkan import module, support
from cts.judging.batch import judge_all
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.plugins.transform import Transformed
from cts.running.opening import open_driver
from cts.spirv.decode import Decoded, DecodeError, decode
from cts.spirv.forms import Unreadable, formed, formed_job
from cts.spirv.forms.accesses import ACCESSES
from cts.spirv.lower import module_job
from cts.spirv.tools import assemble, validate
from tests.case_builder import corpus_case
from tests.spirv.modules import form
from tests.spirv.test_memory_forms import LENGTH, length_job
from tests.vulkan_driver.devices import LAVAPIPE

STORES, EXCHANGE = "matrix_memory.strided.padded_store", "matrix_memory.workgroup.exchange_between_subgroups"
VECTORS, WORKGROUP = "vector_multiply.memory.matrices_by_invocation", "matrix_memory.dispatch.size_constant"
SWITCH = "matrix_programs.switch.without_default"
FORM = "interpreter|form:descriptors"


def job_of(name: str) -> ModuleJob:
    case = corpus_case(name)
    return module_job(case, initial_memory(case), 32)


def verdict(name: str, spec: str) -> Verdict:
    driver = open_driver(spec)  # a new one: a driver remembers what it has compiled
    (judged,) = judge_all([corpus_case(name)], [driver], registry.oracle().expect)
    driver.driver.close()
    return judged.attempts[0].verdict


def instructions(job: ModuleJob, name: str) -> list[Decoded]:
    return [i for i in decode(job.words) if i.name == name]


def capabilities(job: ModuleJob) -> set[str]:
    return {str(i.values[0]) for i in instructions(job, "OpCapability")}


def test_lengths_and_members_are_the_same() -> None:
    interpreter, places = Interpreter(), set()
    for seed in range(24):
        job = formed_job(length_job(), ["descriptors"], seed)
        assert not validate(job.words)
        outcome = interpreter.run_module(job)
        assert outcome.status is Status.DONE, outcome.detail
        assert outcome.memory["b"].view(np.uint32)[255:262].tolist() == [0, 100, 104, 104, 104, 104, 0]
        places.add(tuple(sorted(job.array_bindings.items())))
        assert (not job.array_bindings) == ("b" in job.bindings.values()), "either as it was, or in an array"
    assert () in places and len(places) > 6


@pytest.mark.parametrize("name", [STORES, EXCHANGE, VECTORS])
def test_every_kind_of_index(name: str) -> None:
    """Constants, indices by the workgroup, and others; arrays of several types at one place, buffers bound twice."""
    said, lengths = set[frozenset[str]](), set[int]()
    plain = job_of(name)
    for seed in range(30):
        job = formed_job(plain, ["descriptors"], seed)
        assert not validate(job.words)
        said.add(frozenset(capabilities(job) - capabilities(plain)))
        facts = module.facts(job.words, "main", {})
        arrays = {(d.set, d.binding): d.length for d in facts.descriptors if d.length > 1}
        lengths |= set(arrays.values())
        for place, length in arrays.items():
            assert [k for s, b, k in job.array_bindings if (s, b) == place] == list(range(length))
        assert job.buffers.keys() - plain.buffers.keys() <= {"$indices"}
    dynamic, other = "StorageBufferArrayDynamicIndexing", "StorageBufferArrayNonUniformIndexing"
    assert set[str]().union(*said) >= {dynamic, other, "ShaderNonUniform"}
    assert frozenset({dynamic}) in said and len(lengths) > 1
    assert {verdict(name, f"{FORM}:{seed}") for seed in range(8)} == {Verdict.PASS}


def test_pointers_by_an_index_that_is_not_uniform_say_so() -> None:
    found = 0
    for seed in range(30):
        job = formed_job(job_of(EXCHANGE), ["descriptors"], seed)
        marked = {i.values[0] for i in instructions(job, "OpDecorate") if i.values[1:] == ("NonUniform",)}
        assert bool(marked) == ("StorageBufferArrayNonUniformIndexing" in capabilities(job))
        if marked:
            found += 1
            accessed = [i for i in decode(job.words) if i.name in ACCESSES]
            assert marked & {v for i in accessed for v in i.values}
    assert found > 3


def test_matrices_of_a_workgroup_have_one_pointer() -> None:
    """Its subgroups may choose no other index."""
    for seed in range(30):
        assert "ShaderNonUniform" not in capabilities(formed_job(job_of(WORKGROUP), ["descriptors"], seed))


@pytest.mark.parametrize(
    "given",
    [
        {"bindings": {}, "array_bindings": {(1, 2, 0): "b"}},
        {"bindings": {(1, 3): "b"}},
        {"words": assemble(LENGTH.replace("%at_first = OpAccessChain %puint %data %u0",
                                          "%whole = OpCopyObject %pblock %data\n"
                                          "%at_first = OpAccessChain %puint %whole %u0"))},
        {"words": assemble(LENGTH.replace("%main = OpFunction", "%data2 = OpVariable %pblock StorageBuffer\n"
                                                                "%main = OpFunction")
                           .replace("%id %data", "%id %data %data2")
                           .replace("OpDecorate %data Binding 2", "OpDecorate %data Binding 2\n"
                                    "OpDecorate %data2 DescriptorSet 1\nOpDecorate %data2 Binding 2"))},
        {"words": formed(assemble(LENGTH), ["groups"], 1)},
    ],
    ids=["array", "elsewhere", "pointer", "twice", "groups"],
)  # fmt: skip
def test_buffers_that_stay_what_they_are(given: dict[str, Any]) -> None:
    """Those in arrays already, bound nowhere, whose pointers go elsewhere, or that share a place."""
    job = length_job(**given)
    for seed in range(6):
        other = formed_job(job, ["descriptors"], seed)
        assert (
            (other.words[5:] == job.words[5:]).all() and other.bindings == job.bindings and other.buffers == job.buffers
        )
    assert (formed(length_job().words, ["descriptors"], 1)[5:] == length_job().words[5:]).all(), (
        "no dispatch, no bindings"
    )


@pytest.mark.parametrize(
    ("given", "times"),
    [
        ({}, {1, 2}),
        ({"robust": True}, {1, 2}),
        ({"push_constants": bytes(8), "push_addresses": (Address(0, "b"),)}, {1}),
        ({"bindings": {(1, 2): "b", (1, 3): "b"}}, {1}),
    ],
)
def test_buffers_that_are_bound_twice(given: dict[str, Any], times: set[int]) -> None:
    """Only what is read, and what nothing else leads to."""
    store = "OpStore %at %sum\n"
    read = replace(length_job(**given), words=assemble(LENGTH.replace(store, "")))
    for job, expected in ((read, times), (length_job(**given), {1})):
        found = [formed_job(job, ["descriptors"], seed) for seed in range(24)]
        assert not any(validate(j.words) for j in found)
        assert {list(j.array_bindings.values()).count("b") for j in found} - {0} == expected
        assert all(j.robust == job.robust for j in found)


def test_places_are_free() -> None:
    """Neither the module's nor the dispatch's, in whatever sets they are."""
    data = np.zeros(2048, np.uint8)
    more = {"c": Memory(data, 1024, 20), "$indices": Memory(data, 1024, 20)}
    job = length_job()
    job = replace(job, buffers={**job.buffers, **more}, bindings={**job.bindings, (0, 0): "c"})
    job = replace(job, array_bindings={(1, 4, 0): "c", (1, 4, 1): "$indices"})
    for seed in range(12):
        other = formed_job(job, ["descriptors"], seed)
        assert other.array_bindings.items() >= job.array_bindings.items() and other.bindings[0, 0] == "c"
        new = {(s, b) for s, b, _ in other.array_bindings} | set(other.bindings)
        assert len(new) in (3, 4) and all(b > 4 for s, b in new - {(1, 2), (0, 0), (1, 4)})
        assert set(other.buffers) <= {"b", "c", "$indices", "$indices0"}


def test_the_indices_are_no_part_of_what_comes_back() -> None:
    class Driver(Interpreter):
        strays = False

        def run_module(self, job: ModuleJob) -> Outcome:
            outcome = super().run_module(job)
            if self.strays and "$indices" in outcome.memory:
                outcome.memory["$indices"][1000] ^= 1
            return outcome

    inner = Driver()
    job = length_job()
    seed = next(n for n in range(9) if "$indices" in formed_job(job, ["descriptors"], n).buffers)
    driver = Transformed(inner, [form(f"descriptors:{seed}")])
    assert list(driver.run_module(job).memory) == ["b"]
    inner.strays = True
    outcome = driver.run_module(job)
    assert outcome.status is Status.CRASH and not outcome.memory
    assert outcome.detail == "a store out of bounds changed the buffer '$indices' of the form, first at byte 1000"


@pytest.mark.parametrize(
    ("capability", "feature"),
    [
        ("StorageBufferArrayDynamicIndexing", "shaderStorageBufferArrayDynamicIndexing"),
        ("StorageBufferArrayNonUniformIndexing", "shaderStorageBufferArrayNonUniformIndexing"),
    ],
)
def test_devices_that_lack_the_index_do_not_run_it(capability: str, feature: str) -> None:
    jobs = [formed_job(job_of(EXCHANGE), ["descriptors"], seed) for seed in range(30)]
    job = next(j for j in jobs if capability in capabilities(j))
    facts = module.facts(job.words, "main", {})
    found = support.examine(LAVAPIPE, facts, job)
    assert feature in found.features and feature not in " ".join(found.missing)
    assert ("storage", 1) in found.descriptors.values() and max(n for _, n in found.descriptors.values()) > 1
    without = msgspec.structs.replace(LAVAPIPE, features=LAVAPIPE.features | {feature: False})
    assert f"feature {feature}" in support.examine(without, facts, job).missing
    assert len(set(declared.read(list(decode(job.words)), "main", {}))) > 1


def test_an_alignment_is_that_of_each_descriptor() -> None:
    """`operands` says what is known of a window, whichever element it is; another set of buffers is not known."""
    said = set()
    for seed in range(40):
        job = formed_job(job_of(STORES), ["descriptors", "operands"], seed)
        assert not validate(job.words)
        if job.array_bindings:
            for i in instructions(job, "OpCooperativeMatrixLoadKHR"):
                said |= {after for mask, after in zip(i.values, i.values[1:], strict=False) if "Aligned" in str(mask)}
    assert said == {16}


def test_damaged_modules_are_refused_or_written() -> None:
    random, found = np.random.default_rng(7), set()
    for plain in (length_job(), job_of(EXCHANGE), job_of(VECTORS)):
        for _ in range(200):
            words = plain.words.copy()
            places = random.integers(5, len(words), 2)
            words[places] = words[random.integers(5, len(words), 2)]
            try:
                formed_job(replace(plain, words=words), ["descriptors"], 1)
                found.add("written")
            except (DecodeError, Unreadable):
                found.add("refused")
    assert found == {"written", "refused"}


def _ignores_the_index(addresses: Any, index: Any, mask: Any) -> Any:
    return addresses[:1]


def _counts_from_one(addresses: Any, index: Any, mask: Any) -> Any:
    return addresses[(index + 1) % len(addresses)]


def _has_one_descriptor_less(addresses: Any, index: Any, mask: Any) -> Any:
    return addresses[np.minimum(index, max(len(addresses) - 2, 0))]


def _does_the_first_of_several_indices(addresses: Any, index: Any, mask: Any) -> Any:
    """A loop over the different indices that ends after one of them: the others get what comes first."""
    return addresses[np.where(index == index[0], index, 0)]


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        (STORES, _ignores_the_index),
        (STORES, _counts_from_one),
        (STORES, _has_one_descriptor_less),
        (VECTORS, _does_the_first_of_several_indices),
    ],
)
def test_the_form_finds_what_plain_modules_do_not(
    monkeypatch: pytest.MonkeyPatch, name: str, mistake: Callable[..., Any]
) -> None:
    monkeypatch.setattr(variable, "_chosen", mistake)
    assert verdict(name, "interpreter") is Verdict.PASS
    assert {verdict(name, f"{FORM}:{seed}") for seed in range(40)} - {Verdict.PASS}


def test_a_variable_that_shares_its_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer that has one descriptor for a place, and forgets that others have the same one."""
    real = launch._Dispatch._bound
    seen: dict[tuple[Any, Any], int] = {}

    def bound(self: Any, job: ModuleJob, id_: int) -> Any:
        decoration = self.program.declared.decoration
        place = decoration(id_, "DescriptorSet"), decoration(id_, "Binding")
        addresses = real(self, job, id_)
        return addresses if seen.setdefault(place, id_) == id_ else addresses * 0

    monkeypatch.setattr(launch._Dispatch, "_bound", bound)
    found = set()
    for seed in range(16):
        seen.clear()
        found.add(verdict(SWITCH, f"{FORM}:{seed}"))
    seen.clear()
    assert verdict(SWITCH, "interpreter") is Verdict.PASS
    assert found - {Verdict.PASS}
