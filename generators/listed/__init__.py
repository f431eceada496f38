"""What a driver lists works: for each row of its capabilities one smallest and one largest case, nothing drawn."""

from __future__ import annotations

from collections.abc import Iterator

from cts.capabilities import Capabilities
from cts.generators.listed import matrices, products, vectors
from cts.model import Case


def cases(capabilities: Capabilities) -> Iterator[Case]:
    """Loads and stores, conversions, multiplications and accumulations, by row; each case is named after its row."""
    yield from matrices.cases(capabilities)
    yield from products.cases(capabilities)
    yield from vectors.cases(capabilities)
