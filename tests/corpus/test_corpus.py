"""Each corpus file by itself: loads, canonical, named after its place, valid, and citing known facts."""

from __future__ import annotations

from pathlib import Path

import pytest

import cts.cases
from cts.case.model import dumps_case, initial_memory
from cts.plugins import registry
from tests.case_builder import corpus_cases, corpus_files

ROOT = Path(cts.cases.__file__).parent
FILES, CASES = corpus_files(), corpus_cases()
IDS = list(FILES)


#: Area -> its topics: the folders below it, and cases that lie beside them.
TOPICS = {
    "tensor_addressing": {
        "block", "clamp", "clip", "constness", "dependence", "dispatch", "large", "layout", "load", "memory", "robust",
        "sizes", "slice", "store", "types", "view", "wrap",
    },
    "matrix_memory": {
        "arm", "arrays", "constants", "copies", "dependence", "dispatch", "large", "pointers", "robust", "scopes",
        "sizes", "storage", "strided", "types", "use", "vectors", "workgroup",
    },
    "matrix_arithmetic": {
        "apart", "components", "coordinates", "edges", "elements", "environment", "fast_math", "modes", "mul_add",
        "operands", "scalar", "sizes",
    },
    "conversions": {
        "back", "bitcast", "chain_through_integers", "constants", "dependence", "float", "float8", "integer", "mixed",
        "modes", "one_source_two_results", "sizes", "source_is_kept", "through_zero", "transpose", "transposed", "use",
    },
    "reductions": {"add", "functions", "integer", "max", "min", "programs", "scope", "shape"},
    "per_element": {
        "applied_twice", "body", "coordinates", "dependence", "extras", "flow", "helpers", "microscaling",
        "outputs", "scalar_per_workgroup", "source_is_kept", "tables",
    },
    "block_loads": {
        "address", "clamp", "coordinates", "dependence", "fields", "flow", "format", "helpers", "microscaling",
        "program", "tables", "types", "vector", "view",
    },
    "matrix_programs": {"condition", "kernel", "liveness", "loop", "return", "scopes", "sizes", "switch", "webs"},
}  # fmt: skip


def test_the_corpus_has_every_topic() -> None:
    found: dict[str, set[str]] = {}
    for name in IDS:
        area, topic = name.split(".")[:2]
        found.setdefault(area, set()).add(topic)
    assert {area: found.get(area) for area in TOPICS} == TOPICS
    assert all(sum(name.startswith(f"{area}.") for name in IDS) >= 50 for area in TOPICS)


@pytest.mark.family("name", IDS)
def test_file_is_canonical_and_named_after_its_place(name: str) -> None:
    assert FILES[name].read_text(encoding="utf-8") == dumps_case(CASES[name])
    assert CASES[name].name == name


@pytest.mark.family("name", IDS)
def test_case_breaks_no_rule(name: str) -> None:
    assert registry.oracle().violations(CASES[name]) == []


@pytest.mark.family("name", IDS)
def test_description_is_one_sentence_for_a_reader(name: str) -> None:
    description = CASES[name].description
    assert description[:1].isupper() or description[:1].isdigit() or description.startswith("float")
    assert description.endswith(".") and ". " not in description
    assert 20 <= len(description) <= 160


def test_contents_are_distinct() -> None:
    seen: dict[str, str] = {}
    for name, case in CASES.items():
        assert seen.setdefault(case.content_hash, name) == name, f"{name} repeats {seen[case.content_hash]}"


#: Cases whose point is that nothing is written.
WRITE_NOTHING = {
    "vector_arithmetic.divergence.continued_and_not_stored",
    "matrix_programs.condition.literal_false",
    "matrix_programs.condition.literal_false_vectors",
    "matrix_programs.return.always",
    "matrix_programs.loop.constant_zero_vectors",
    "tensor_addressing.clip.store_outside",
    "tensor_addressing.store.never_given_dimensions",
}


@pytest.mark.family("name", IDS)
def test_case_changes_memory(name: str) -> None:
    """A case that leaves memory as it was cannot tell a driver that works from one that does nothing."""
    case = CASES[name]
    allowed, before = registry.oracle().expect(case).buffers, initial_memory(case)
    changed = [b for b in case.buffers if (allowed[b].exact != before[b][1024:-1024]).any()]
    assert (not changed) == (name in WRITE_NOTHING)
