"""Attributes of tensor layouts and views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cts.case.model import ClampMode, LayoutType, ViewType
from cts.features.attributes import NUMBER, OPERAND, TRUTH, WORD, one_of, several, word_of, words_of
from cts.features.layout_state import Layout
from cts.features.sites import Axis, Given, Site, Values


def _operands(get: Callable[[Layout], Any]) -> Callable[[Site], Values]:
    def got(site: Site) -> Values:
        operands = get(site.of)
        return None if operands is None else tuple(Site(site.view, OPERAND, Given(o)) for o in operands)

    return got


def _type(name: str, kind: type) -> Callable[[Layout], Any]:
    return lambda layout: getattr(layout.type, name) if isinstance(layout.type, kind) else None


def _permutation(site: Site) -> Values:
    return site.of.type.permutation if isinstance(site.of.type, ViewType) else None


#: The fields of operands that say where elements go.
WHERE = "dims strides block_size span offset row_offset row_span col_offset col_span"

_CLIP = "row_offset row_span col_offset col_span"


def _clamp(layout: Layout) -> str | None:
    return word_of(layout.type.clamp) if isinstance(layout.type, LayoutType) else None


LAYOUT = {
    "dim": one_of(NUMBER, "how many dimensions", lambda s: s.type.dim),
    "clamp": one_of(WORD, "clamp mode", _clamp, words_of(ClampMode)),
    "has_dimensions": one_of(TRUTH, "a view with dimensions of its own", _type("has_dimensions", ViewType)),
    "permutation": several(NUMBER, "permutation of a view", _permutation),
    "dims": several(OPERAND, "dimensions", _operands(lambda s: s.dims), (), "dims"),
    "strides": several(OPERAND, "strides given since the dimensions", _operands(lambda s: s.strides), (), "strides"),
    "block": several(OPERAND, "block size", _operands(lambda s: s.block_size), (), "block_size"),
    "span": several(OPERAND, "span of the slice, or the dimensions", _operands(lambda s: s.spans), (), "span dims"),
    "offset": several(OPERAND, "offset of the slice", _operands(lambda s: s.offset), (), "offset"),
    "clamp_value": several(OPERAND, "clamp value given", _operands(lambda s: s.clamp_value), (), "value"),
    "clip": several(OPERAND, "a clip: row offset and span, then of columns", _operands(lambda s: s.clip), (), _CLIP),
}  # fmt: skip


def _of_axis(get: Callable[[Layout], tuple[Any, ...] | None]) -> Callable[[Site], Values]:
    def got(site: Site) -> Values:
        axis: Axis = site.of
        operands = get(axis.layout)
        if operands is None or axis.index >= len(operands):
            return None
        return (Site(site.view, OPERAND, Given(operands[axis.index])),)

    return got


def _end(name: str) -> Callable[[Site], Values]:
    def got(site: Site) -> Values:
        axis: Axis = site.of
        extent = site.view.extents.get(axis.place)
        # A view has other dimensions than its layout: the reached extent counts in the layout's dimensions.
        if extent is None or isinstance(axis.layout.type, ViewType) or axis.index >= len(extent.first):
            return None
        return (getattr(extent, name)[axis.index],)

    return got


AXIS = {
    "index": one_of(NUMBER, "its number, the outermost first", lambda a: a.index),
    "inner": one_of(TRUTH, "it is the innermost", lambda a: a.index == len(a.layout.dims) - 1),
    "size": several(OPERAND, "dimension", _of_axis(lambda s: s.dims), (), "dims"),
    "stride": several(OPERAND, "stride given since the dimensions", _of_axis(lambda s: s.strides), (), "strides"),
    "block": several(OPERAND, "block size", _of_axis(lambda s: s.block_size), (), "block_size"),
    "block_then": several(
        OPERAND, "block size when the dimension was set", _of_axis(lambda s: s.block_then), (), "block_size"
    ),
    "span": several(OPERAND, "span of the slice, or the dimension", _of_axis(lambda s: s.spans), (), "span dims"),
    "offset": several(OPERAND, "offset of the slice", _of_axis(lambda s: s.offset), (), "offset"),
    "first": several(NUMBER, "the lowest coordinate that is accessed in memory, -1: none is", _end("first"), (), WHERE),
    "last": several(NUMBER, "the highest coordinate that is accessed in memory", _end("last"), (), WHERE),
    "layout": several("Layout", "its layout or view", lambda s: (Site(s.view, "Layout", s.of.layout),)),
    "of_view": one_of(TRUTH, "of a view", lambda a: isinstance(a.layout.type, ViewType)),
    "access": several("Instruction", "the access", lambda s: (s.view.instructions[s.of.place],)),
}
