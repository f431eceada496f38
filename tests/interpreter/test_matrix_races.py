"""Data races of loads and stores of matrices, as `check=races` tells of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from cts.drivers.interpreter import create
from tests.interpreter.test_tensor import module, run

LOAD = "%matrix = OpCooperativeMatrixLoadKHR %m %from %u0 %cols\n"
LAYOUT = "%l1 = OpTensorLayoutSetDimensionNV %t %l %u4 %u5\n"
STORE = "OpCooperativeMatrixStoreTensorNV %to %matrix {layout} None None\n%loaded = OpCopyObject %m %matrix\n"


def checked(body: str, options: dict[str, str] | None = None, count: int = 40, **parts: Any) -> Outcome:
    workgroups = parts.pop("workgroups", (1, 1, 1))
    driver = create({"check": "races", **(options or {})})
    return run(module(body, **parts), count, np.arange(1, 41, dtype=np.uint32), driver=driver, workgroups=workgroups)


def race(body: str, **parts: Any) -> str:
    """What the race is, which must be there."""
    outcome = checked(body, **parts)
    assert outcome.status is Status.ERROR, outcome
    assert outcome.fault is not None and outcome.fault.code == "race", outcome
    assert outcome.fault.where.startswith("OpCooperativeMatrixStore")
    return outcome.fault.what


STRIDED = "%l2 = OpTensorLayoutSetStrideNV %t %l1 {} {}\n%l3 = OpTensorLayoutSliceNV %t %l2 %u0 %u2 %u0 %u3\n"


@pytest.mark.parametrize(
    ("strides", "what"),
    [
        # Both rows at one place: (0, c) and (1, c) meet at word c.
        (("%u0", "%u1"), "elements (0, 0) and (1, 0) of a matrix are both stored to bytes 0 to 3 of buffer 'dst', "
         "and a store writes each location once (TA-067); so are 2 more pairs"),
        # Rows overlap by two: (0, 1) and (1, 0), (0, 2) and (1, 1).
        (("%u1", "%u1"), "elements (0, 1) and (1, 0) of a matrix are both stored to bytes 4 to 7 of buffer 'dst', "
         "and a store writes each location once (TA-067); so is 1 more pair"),
        # All columns at one place.
        (("%u1", "%u0"), "elements (0, 0) and (0, 1) of a matrix are both stored to bytes 0 to 3 of buffer 'dst', "
         "and a store writes each location once (TA-067); so are 3 more pairs"),
    ],
)  # fmt: skip
def test_elements_of_one_tensor_store_that_meet(strides: tuple[str, str], what: str) -> None:
    assert race(LOAD + LAYOUT + STRIDED.format(*strides) + STORE.format(layout="%l3")) == what


def test_elements_that_are_stored_apart_do_not_race() -> None:
    body = LOAD + LAYOUT + STRIDED.format("%u3", "%u1") + STORE.format(layout="%l3")
    assert checked(body).status is Status.DONE


def test_elements_that_are_not_stored_meet_nothing() -> None:
    """A slice of which row 0 alone is in bounds: discarded rows would all be at the edge."""
    body = LOAD + LAYOUT + "%l2 = OpTensorLayoutSliceNV %t %l1 %u3 %u2 %u0 %u3\n" + STORE.format(layout="%l2")
    assert checked(body, clamp=2).status is Status.DONE


def test_what_a_robust_store_leaves_out_meets_nothing() -> None:
    """All columns at one place, which is past the end of the buffer."""
    store = STORE.format(layout="%l3").replace("%to", "%past")
    far = "%past = OpAccessChain %word_pointer %dst %u0 %u16\n" + LOAD + LAYOUT + STRIDED.format("%u1", "%u0") + store
    assert checked(far, {"robust": "yes"}, count=4).status is Status.DONE


def test_rows_of_a_plain_store_that_overlap() -> None:
    body = LOAD + "OpCooperativeMatrixStoreKHR %to %matrix %u0 %u2\n%loaded = OpCopyObject %m %matrix\n"
    assert race(body) == (
        "elements (0, 2) and (1, 0) of a matrix are both stored to bytes 8 to 11 of buffer 'dst', "
        "and a store writes each location once (TA-044)"
    )
    assert checked(body.replace("%u0 %u2", "%u0 %u3")).status is Status.DONE


def test_subgroups_that_store_to_one_place_are_named() -> None:
    body = LOAD + "OpCooperativeMatrixStoreKHR %to %matrix %u0 %cols\n%loaded = OpCopyObject %m %matrix\n"
    assert race(body, invocations=64) == (
        "subgroup 0 of workgroup (0, 0, 0) writes bytes 0 to 3 of buffer 'dst', which subgroup 1 of "
        "workgroup (0, 0, 0) wrote by the same instruction, and no barrier of their workgroup lies between; "
        "5 more accesses by this instruction race alike"
    )


def test_workgroups_that_store_to_one_place_are_named() -> None:
    body = LOAD + "OpCooperativeMatrixStoreKHR %to %matrix %u0 %cols\n%loaded = OpCopyObject %m %matrix\n"
    what = race(body, scope=2, workgroups=(2, 3, 1))
    assert what.startswith("workgroup (0, 0, 0) writes bytes 0 to 3 of buffer 'dst', which workgroup (1, 2, 0) wrote")
    assert "by the same instruction, and nothing orders different workgroups" in what


def test_a_store_after_a_load_by_another_subgroup_names_the_load() -> None:
    body = """
%matrix = OpCooperativeMatrixLoadKHR %m %to %u0 %cols
%at = OpIMul %uint %sg %u6
%place = OpAccessChain %word_pointer %dst %u0 %at
OpCooperativeMatrixStoreKHR %place %matrix %u0 %cols
%loaded = OpCopyObject %m %matrix
"""
    what = race(body, invocations=64)
    assert what.startswith("subgroup 0 of workgroup (0, 0, 0) writes bytes 0 to 3 of buffer 'dst', which subgroup 1")
    assert "read by OpCooperativeMatrixLoadKHR %" in what
