"""A form of addresses: they are loaded from a storage buffer, not from push constants."""

from __future__ import annotations

import numpy as np

from cts.spirv.forms.layout import Layout, Op


def addresses(layout: Layout, random: np.random.Generator) -> None:
    """The block of push constants is a storage buffer, whose addresses the host writes there.

    Where the host has addresses to write, and nothing but pointers says where the block is.
    """
    variables = [op for op in layout.globals if op.name == "OpVariable" and op.values[1] == "PushConstant"]
    grouped = any(op.name == "OpDecorationGroup" for op in layout.annotations)
    if grouped or not layout.host.pushes_addresses or len(variables) != 1 or variables[0].result is None:
        return
    taken = layout.taken_places()
    set_ = max((s for s, _ in taken), default=0)
    last = max((binding for s, binding in taken if s == set_), default=-1)
    place = layout.moves.loaded = set_, last + int(random.integers(1, 4))
    layout.globals = [_stored(op) for op in layout.globals]
    variable = variables[0].result
    layout.annotations += [
        Op("OpDecorate", None, (variable, "DescriptorSet", place[0])),
        Op("OpDecorate", None, (variable, "Binding", place[1])),
        Op("OpDecorate", None, (variable, "NonWritable")),
    ]


def _stored(op: Op) -> Op:
    """A pointer type or a variable of push constants as one of a storage buffer."""
    if op.name == "OpTypePointer" and op.values[0] == "PushConstant":
        return Op(op.name, op.result, ("StorageBuffer", *op.values[1:]))
    if op.name == "OpVariable" and op.values[1] == "PushConstant":
        return Op(op.name, op.result, (op.values[0], "StorageBuffer", *op.values[2:]))
    return op
