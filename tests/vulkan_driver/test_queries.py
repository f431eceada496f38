"""The worker's own structures and queries, against a driver of Python functions: no Vulkan is needed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import cffi
import pytest

from cts.drivers.vulkan.worker.protocol import MatrixRow, VectorRow
from tests.device_queries.devices import listing

#: Answers of a query by the words of its info structure, () where it has none.
Rows: TypeAlias = dict[tuple[int, ...], list[tuple[int, ...]]]

DEVICE, INSTANCE = 0x1230, 0x4560


class Driver:
    """Entry points by name; each a C function that answers from `rows`, 32-bit words without the two of a header."""

    def __init__(self) -> None:
        self.ffi = cffi.FFI()
        self.ffi.cdef("typedef struct { uint32_t sType; void *pNext; uint32_t values[16]; } Any;")
        for name in ("Features", "Vulkan11Features", "Vulkan12Features", "Vulkan13Features"):
            self.ffi.cdef(f"typedef struct {{ uint32_t a{name}; }} VkPhysicalDevice{name};")
        self.asked: list[tuple[int, ...]] = []
        self.functions: dict[str, Any] = {}

    def package(self) -> ModuleType:
        """What the worker imports as `vulkan`."""
        module = ModuleType("vulkan")
        null = self.ffi.NULL
        address = SimpleNamespace(vkGetInstanceProcAddr=lambda _, name: self.functions.get(name.decode(), null))
        vars(module).update(ffi=self.ffi, lib=address)
        return module

    def answer(
        self, command: str, s_type: int, rows: dict[tuple[int, ...], list[tuple[int, ...]]], bytes_: int
    ) -> None:
        """Define a query, whose rows have `bytes_` bytes each."""

        def fill(asked: tuple[int, ...], count: Any, out: Any) -> int:
            found = rows.get(asked, [])
            if out == self.ffi.NULL:
                self.asked.append(asked)
                count[0] = len(found)
                return 0
            given, count[0] = count[0], min(count[0], len(found))
            for i, row in enumerate(found[: count[0]]):
                structure = self.ffi.cast("Any *", int(self.ffi.cast("uintptr_t", out)) + i * bytes_)
                assert (structure.sType, structure.pNext) == (s_type, self.ffi.NULL)
                structure.values[0 : len(row)] = row
            return 5 if given < len(found) else 0

        def plain(device: Any, count: Any, out: Any) -> int:
            assert int(self.ffi.cast("uintptr_t", device)) == DEVICE
            return fill((), count, out)

        def informed(device: Any, info: Any, count: Any, out: Any) -> int:
            assert int(self.ffi.cast("uintptr_t", device)) == DEVICE
            assert info.sType == 1000659001
            return fill(tuple(info.values[0:4]), count, out)

        kind = "int32_t(void *, uint32_t *, void *)" if () in rows else "int32_t(void *, Any *, uint32_t *, void *)"
        self.functions[f"vkGetPhysicalDevice{command}"] = self.ffi.callback(kind, plain if () in rows else informed)


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def worker(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The worker's modules that speak to this driver."""
    names = ["tables", "extensions", "lists", "queries", "instance", "answers"]
    package = "cts.drivers.vulkan.worker"
    monkeypatch.setitem(sys.modules, "vulkan", driver.package())
    for name in names:
        monkeypatch.delitem(sys.modules, f"{package}.{name}", raising=False)
    yield SimpleNamespace(**{name: importlib.import_module(f"{package}.{name}") for name in names})
    for name in names:
        sys.modules.pop(f"{package}.{name}", None)


def handle(driver: Driver, number: int) -> Any:
    return driver.ffi.cast("void *", number)


def test_plain_rows(driver: Driver, worker: SimpleNamespace) -> None:
    """VK-002, VK-003, VK-005: 16 bytes of header, then the members, in arrays."""
    driver.answer("CooperativeMatrixPropertiesKHR", 1000506001, {(): [(16, 8, 32, 0, 0, 1, 1, 0, 3)] * 2}, 56)
    flexible = (16, 8, 32, 3, 3, 5, 5, 1, 2, 128)
    driver.answer("CooperativeMatrixFlexibleDimensionsPropertiesNV", 1000593001, {(): [flexible] * 3}, 56)
    driver.answer("CooperativeVectorPropertiesNV", 1000491002, {(): [(0, 1, 2, 3, 4, 1), (0, 1, 2, 3, 4, 0)]}, 40)
    arguments = handle(driver, INSTANCE), handle(driver, DEVICE)
    plain = MatrixRow(16, 8, 32, 0, 0, 1, 1, False, 3)
    wide = MatrixRow(16, 8, 32, 3, 3, 5, 5, True, 2, 128, flexible=True)
    assert list(worker.queries.query_matrices(*arguments)) == [plain] * 2
    assert list(worker.queries.query_flexible_dimensions(*arguments)) == [wide] * 3
    assert list(worker.queries.query_vectors(*arguments)) == [VectorRow(0, 1, 2, 3, 4, t) for t in (True, False)]


def test_a_query_that_is_not_there_lists_nothing(driver: Driver, worker: SimpleNamespace) -> None:
    assert list(worker.queries.query_matrices(handle(driver, INSTANCE), handle(driver, DEVICE))) == []


def test_properties2_is_asked_with_and_without_saturation(driver: Driver, worker: SimpleNamespace) -> None:
    """VK-028: scope, invocations, subgroup size, flags."""
    rows: Rows = {(2, 64, 32, 0): [(16, 8, 32, 0, 0, 1, 1)], (2, 64, 32, 1): [(8, 8, 16, 3, 3, 5, 5)]}
    driver.answer("CooperativeMatrixProperties2EXT", 1000659002, rows, 48)
    arguments = handle(driver, INSTANCE), handle(driver, DEVICE)
    asked = [worker.lists.Selector(2, 64, 32, flags) for flags in (0, worker.lists.SATURATING)]
    found = [row for selector in asked for row in worker.queries.query_matrices2(*arguments, selector)]
    assert driver.asked == [(2, 64, 32, 0), (2, 64, 32, 1)]
    assert found == [
        MatrixRow(16, 8, 32, 0, 0, 1, 1, False, 2, 64, subgroup_size=32),
        MatrixRow(8, 8, 16, 3, 3, 5, 5, True, 2, 64, subgroup_size=32),
    ]


@pytest.mark.parametrize(
    ("sizes", "workgroup", "expected"),
    [
        ((32, 32, 32), 0, [(3, 0, 0), (3, 0, 32)]),
        (
            (16, 8, 32),
            64,
            [(3, 0, 0), (3, 0, 8), (3, 0, 16), (3, 0, 32)]
            + [(2, 16, 0), (2, 16, 8), (2, 16, 16)]
            + [(2, n, s) for n in (32, 64) for s in (0, 8, 16, 32)],
        ),
    ],
)
def test_only_valid_questions_are_asked(
    worker: SimpleNamespace, sizes: tuple[int, int, int], workgroup: int, expected: list[tuple[int, int, int]]
) -> None:
    """VK-028: no invocations at Subgroup scope, else a power of two and a multiple of the subgroup size."""
    assert list(worker.queries.selectors(*sizes, workgroup)) == [(*e, flags) for e in expected for flags in (0, 1)]


def test_features_go_by_names_that_are_unique(worker: SimpleNamespace) -> None:
    """A feature is enabled in one structure only; the two generations of matrix features share some names."""
    members = [m for table in worker.tables.FEATURES for m in table.members]
    assert len(members) == len(set(members))
    chain = worker.extensions.Chain(worker.tables.FEATURES[4:])
    chain.enable(["cooperativeMatrixReductions", "cooperativeMatrixProperties2"])
    enabled = {table.name: [m for m, on in values.items() if on] for table, values in chain.values()}
    assert {name: on for name, on in enabled.items() if on} == {
        "VkPhysicalDeviceCooperativeMatrix2FeaturesNV": ["cooperativeMatrixReductions"],
        "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT": ["cooperativeMatrixProperties2"],
    }


def test_an_array_is_asked_for_in_several_lengths(driver: Driver, worker: SimpleNamespace) -> None:
    """What comes of it is what a device should answer, and is recorded word by word."""
    rows = [(16, 8, 32, 0, 0, 1, 1, 0, 3), (8, 8, 16, 3, 3, 5, 5, 1, 3), (8, 8, 8, 7, 7, 9, 9, 0, 3)]
    of_nothing: Rows = {(): [*rows]}
    driver.answer("CooperativeMatrixPropertiesKHR", 1000506001, of_nothing, 56)
    wanted = worker.lists.MATRICES
    call = worker.lists.entry(handle(driver, INSTANCE), handle(driver, DEVICE), wanted)
    told: list[str] = []
    calls = list(worker.answers._calls(wanted, call, None, told.append))
    assert calls == listing(wanted.command, rows)["calls"]
    assert [c["length"] for c in calls] == [None, None, 0, 1, 2, 3, 5, 3]
    assert told[0] == "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR with no array" and len(told) == len(calls)


def test_a_question_goes_with_each_call(driver: Driver, worker: SimpleNamespace) -> None:
    rows: Rows = {(2, 64, 32, 0): [(16, 8, 32, 0, 0, 1, 1)]}
    driver.answer("CooperativeMatrixProperties2EXT", 1000659002, rows, 48)
    wanted = worker.lists.MATRICES2
    call = worker.lists.entry(handle(driver, INSTANCE), handle(driver, DEVICE), wanted)
    calls = list(worker.answers._calls(wanted, call, worker.lists.Selector(2, 64, 32), lambda _: None))
    assert calls == listing(wanted.command, rows[2, 64, 32, 0])["calls"]
    none = list(worker.answers._calls(wanted, call, worker.lists.Selector(3, 0, 0), lambda _: None))
    assert none == listing(wanted.command, [])["calls"]


@pytest.mark.parametrize("what", ["nothing", "values", "sType", "pNext", "behind"])
def test_what_a_structure_keeps(worker: SimpleNamespace, what: str) -> None:
    """One and two members: the word after an odd number of them is padding."""
    tables = [t for t in worker.tables.FEATURES if t.name.endswith(("LongVectorFeaturesEXT", "VectorFeaturesNV"))][-2:]
    chain = worker.extensions.Chain(tables, filled=True)
    first, second = chain._structures
    assert [len(t.members) for t in tables] == [2, 1]
    if what == "values":
        first.values[0:2], second.values[0:2] = [0, 1], [1, 0]
    elif what == "sType":
        second.sType += 1
    elif what == "pNext":
        first.pNext = worker.extensions.own.NULL
    elif what == "behind":
        first.values[2] = 0
    kept = {"sType": [True, False], "pNext": [False, True], "behind": [False, True]}
    assert list(chain.kept()) == kept.get(what, [True, True])
