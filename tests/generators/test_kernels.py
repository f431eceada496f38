"""Where the matrices of a kernel are stored."""

from __future__ import annotations

from typing import Any

import pytest

from cts.base.choices import Chance, Choices
from cts.case.model import ComponentType, Data, Dispatch, MatrixType, Order, Scope, SpecInt, SpecUse, StorageClass, Use
from cts.device.capabilities import everything
from cts.generators.build.kernels import Kernel
from cts.generators.build.memory import Lines, Region
from cts.generators.build.supports import Supports

T = ComponentType


class Last(Choices):
    """Every chance is taken, and of every choice the last; nothing is random."""

    def below(self, count: int) -> int:
        raise AssertionError("nothing is drawn")

    def chance(self, chance: Chance) -> bool:
        return True

    def between(self, low: int, high: int) -> int:
        return high

    def record(self, *highs: int) -> tuple[int, ...]:
        return highs


@pytest.mark.parametrize(
    ("storage", "again"),
    [
        (StorageClass.StorageBuffer, True),
        (StorageClass.PhysicalStorageBuffer, True),
        (StorageClass.Workgroup, False),
    ],
)
def test_a_store_goes_to_an_earlier_buffer_but_not_in_workgroup_memory(storage: StorageClass, again: bool) -> None:
    """A place far behind the others, in memory of which there is little, is more than a device has (VK-025)."""
    choices = Last()
    kernel = Kernel(choices, Supports(everything()), Scope.Subgroup, Dispatch())
    tile = Region("tile", T.float32, 1, storage, Data(fill=0), size=256)
    kernel.add(tile)
    matrix = kernel.null(T.float32, 8, 8, Use.Accumulator)
    stored = kernel.store(choices, matrix)
    assert (stored.buffer == "tile") is again
    assert (tile.size > 4099 * 16) is again


@pytest.mark.parametrize(
    ("order", "components", "expected"),
    [
        # Rows of 10 bytes begin at multiples of 10 bytes: every 5 numbers of 16 bits, or every 5 pairs of them.
        (Order.RowMajor, 1, (3, 10, 10, 5, 1, 30)),
        (Order.RowMajor, 2, (3, 10, 10, 5, 1, 50)),
        # Columns of 6 bytes.
        (Order.ColumnMajor, 1, (5, 6, 6, 3, 1, 30)),
    ],
)
def test_lines_of_a_matrix(order: Order, components: int, expected: tuple[int, ...]) -> None:
    region = Region("src", T.float16, components, StorageClass.StorageBuffer, Data(fill=0))
    lines = Lines.for_matrix(region, order, T.float16, rows=3, cols=5)
    stride = lines.unit * lines.dense
    found = (lines.count, lines.size, lines.alignment, lines.unit, lines.dense, lines.extent(stride))
    assert found == expected


def test_lines_are_aligned_to_16_bytes_at_most() -> None:
    region = Region("src", T.float32, 1, StorageClass.StorageBuffer, Data(fill=0))
    lines = Lines.for_matrix(region, Order.RowMajor, T.float32, rows=2, cols=9)
    assert (lines.size, lines.alignment, lines.unit, lines.dense) == (36, 16, 4, 3)


class Mixed(Last):
    """Operands are delivered each in a way of its own."""

    def pick(self, options: Any) -> Any:
        return "mixed" if "mixed" in options else super().pick(options)

    def between(self, low: int, high: int) -> int:
        # Of four operands, in base 3 from the first: literal, spec, literal, spec.
        return 2 * 3 + 2 * 27 if high == 80 else low


def test_the_constants_of_the_only_type_are_delivered_one_by_one() -> None:
    plain = MatrixType(T.float16, Scope.Subgroup, 8, 8, Use.A)
    kernel = Kernel(Mixed(), Supports(everything()), Scope.Subgroup, Dispatch(), only=plain)
    written = MatrixType(T.float16, Scope.Subgroup, SpecInt(8), 8, SpecUse(Use.A))
    assert kernel.type(T.float16, 8, 8, Use.A) == written
