"""Values that leave their block, or become more than a number: those that show most of what is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cts.spirv.encode import Id
from cts.spirv.forms.layout import Op


def sinks(function: list[Op], is_kept: Callable[[Op], bool]) -> Iterator[Id]:
    """The results of a function that not only kept results of their own block are computed from."""
    block, home = 0, dict[Id, int]()
    for op in function:
        block += op.name == "OpLabel"
        inside = op.result is not None and op.name not in ("OpPhi", "OpFunctionCall") and is_kept(op)
        yield from (v for v in op.ids if v in home and not (inside and home[v] == block))
        if op.result is not None:
            home[op.result] = block
    # Loops use values of later blocks.
    yield from (v for op in function if op.name == "OpPhi" for v in op.ids)
