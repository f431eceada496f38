"""Cases with the sizes of matrices that a device lists.

The corpus has many matrices of 16x16. A device that lists others can run the same programs with its own sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from cts.case.model import Buffer, Case, MatrixType, Use
from cts.device.capabilities import Capabilities

#: M, N and K of a product.
Sizes = tuple[int, int, int]

#: By how much the buffers grow, so that matrices with more rows or columns than the case's stay inside.
LONGER = (1, 2, 4)


def fitted(case: Case, capabilities: Capabilities) -> Iterator[tuple[str, Case]]:
    """The case with the sizes of each listed product in turn, if the driver can run it then; and what was changed.

    Rows and columns follow the use of a matrix: A is MxK, B is KxN, an accumulator MxN. All else stays, but for the
    first extent of the buffers. A case yielded here may break a rule, which the caller asks the oracle.
    """
    listed = dict.fromkeys((row.m, row.n, row.k) for row in capabilities.mul_adds)
    for sizes in listed:
        for factor in LONGER:
            try:
                changed: Case = _mapped(case, partial(_resized, sizes=sizes, factor=factor))
                runs = changed is not case and not capabilities.missing(changed)
            except ValueError:  # the case depends on its sizes
                continue
            if runs:
                yield "x".join(map(str, sizes)) + (f"-{factor}" if factor > 1 else ""), changed


def _resized(part: object, sizes: Sizes, factor: int) -> object:
    if isinstance(part, Buffer):
        return part if factor == 1 else replace(part, shape=(part.shape[0] * factor, *part.shape[1:]))
    if not isinstance(part, MatrixType) or not (isinstance(part.rows, int) and isinstance(part.cols, int)):
        return part
    if not isinstance(part.use, Use):
        return part
    m, n, k = sizes
    rows, cols = {Use.A: (m, k), Use.B: (k, n), Use.Accumulator: (m, n)}[part.use]
    return part if (part.rows, part.cols) == (rows, cols) else replace(part, rows=rows, cols=cols)


def _mapped(part: Any, change: Callable[[object], object]) -> Any:
    """A part of a case with all parts inside changed; itself if nothing changes."""
    changed = change(part)
    if changed is not part:
        return changed
    if isinstance(part, msgspec.Struct):
        fields = {name: getattr(part, name) for name in part.__struct_fields__}
        new = {name: new for name, old in fields.items() if (new := _mapped(old, change)) is not old}
        return replace(part, **new) if new else part
    if isinstance(part, tuple):
        items = tuple(_mapped(item, change) for item in part)
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    if isinstance(part, dict):
        pairs = {key: _mapped(value, change) for key, value in part.items()}
        return pairs if any(pairs[key] is not value for key, value in part.items()) else part
    return part
