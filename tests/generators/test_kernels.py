"""Where the matrices of a kernel are stored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from cts.capabilities import everything
from cts.generators.choices import Choices
from cts.generators.kernels import Kernel
from cts.generators.memory import Region
from cts.generators.supports import Supports
from cts.model import ComponentType, Data, Dispatch, Scope, StorageClass, Use

T = ComponentType


class Last(Choices):
    """Every chance is taken, and of every choice the last; nothing is random."""

    def __init__(self) -> None:
        super().__init__(self._nothing)

    def _nothing(self, strategy: st.SearchStrategy[Any]) -> Any:
        raise AssertionError("nothing is drawn")

    def chance(self, tenths: int) -> bool:
        return tenths > 0

    def rarely(self, one_in: int) -> bool:
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
