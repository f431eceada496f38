"""What a driver lists works: for each row of its capabilities one smallest and one largest case, nothing drawn."""

from __future__ import annotations

from cts.case.model import Case
from cts.device.capabilities import Capabilities
from cts.generators.listed import matrices, products, vectors
from cts.plugins.registry import ListedCases


def cases(capabilities: Capabilities) -> ListedCases:
    """Loads and stores, conversions, multiplications and accumulations, by row; each case is named after its row.

    Small ones come first, so that a run that ends early has tried every row.
    """
    parts = (matrices.cases(capabilities), products.cases(capabilities), vectors.cases(capabilities))
    by_size = sorted((case for part in parts for case in part), key=_size)
    left_out = (*matrices.left_out(capabilities), *products.left_out(capabilities))
    return ListedCases(tuple(by_size), tuple(dict.fromkeys(left_out)))


def _size(case: Case) -> int:
    return sum(buffer.size for buffer in case.buffers.values())
