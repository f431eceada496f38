"""Attributes of a case as a whole, and of conversions of its matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cts.case import model
from cts.case.model.case import WorkgroupSizeMode
from cts.features.attributes import COMPONENTS, NUMBER, TRUTH, WORD, one_of, several, word_of, words_of
from cts.features.sites import Site, Values


def _side(side: str, name: str) -> Callable[[Any], Any]:
    def got(conversion: Any) -> Any:
        value = getattr(getattr(conversion, side), name)
        return None if value is None else word_of(value)

    return got


def _component(side: str) -> Callable[[Site], Values]:
    """The type of the elements on a side, which an opaque matrix knows for itself."""

    def got(site: Site) -> Values:
        place = getattr(site.of, side)
        matrix = site.view.case.opaque.get(place.of, place)
        return None if matrix.component is None else (matrix.component.value,)

    return got


CONVERSION = {
    "host": one_of(TRUTH, "by a function of the host", lambda c: c.host),
    "after": one_of(TRUTH, "after the dispatch", lambda c: c.after),
    "rows": one_of(NUMBER, "rows", lambda c: c.rows),
    "cols": one_of(NUMBER, "columns", lambda c: c.cols),
    "source": several("Memory", "where from", lambda s: (s.view.memory(s.of.source.of),)),
    "destination": several("Memory", "where to", lambda s: (s.view.memory(s.of.destination.of),)),
    "source_layout": one_of(WORD, "layout there", _side("source", "layout"), words_of(model.MatrixLayout)),
    "destination_layout": one_of(WORD, "layout there", _side("destination", "layout"), words_of(model.MatrixLayout)),
    "source_component": several(WORD, "type of the elements there", _component("source"), COMPONENTS),
    "destination_component": several(WORD, "type of the elements there", _component("destination"), COMPONENTS),
    "source_stride": one_of(NUMBER, "stride there, in bytes; 0: none is given", lambda c: c.source.stride),
    "destination_stride": one_of(NUMBER, "stride there, in bytes; 0: none is given", lambda c: c.destination.stride),
}


def _float_modes(site: Site) -> Values:
    return tuple(f"{mode.value} {width.value}" for width, modes in site.of.float_modes.items() for mode in modes)


def _default_math(site: Site) -> Values:
    return tuple(dict.fromkeys(bit.value for bits in site.of.fast_math.values() for bit in bits))


def _scopes(site: Site) -> Values:
    return tuple({t.scope.value for t in model.types_of(site.of).values() if isinstance(t, model.MatrixShape)})


CASE = {
    "workgroups": one_of(NUMBER, "workgroups", lambda c: int(np.prod(c.dispatch.workgroups))),
    "subgroups": one_of(NUMBER, "subgroups of a workgroup", lambda c: c.dispatch.subgroups),
    "invocations": one_of(NUMBER, "invocations of a workgroup, of vectors", lambda c: c.dispatch.invocations),
    "x": one_of(NUMBER, "extent of a workgroup in x, with subgroups of 32", lambda c: c.dispatch.local_size(32)[0]),
    "y": one_of(NUMBER, "extent of a workgroup in y", lambda c: c.dispatch.shape.y),
    "z": one_of(NUMBER, "extent of a workgroup in z", lambda c: c.dispatch.shape.z),
    "size_by": one_of(
        WORD, "how the module gives the size", lambda c: c.dispatch.size_by.value, words_of(WorkgroupSizeMode)
    ),
    "scopes": several(WORD, "scopes of its matrices", _scopes, words_of(model.Scope)),
    "times": one_of(NUMBER, "dispatches", lambda c: c.dispatch.times),
    "robustness": one_of(WORD, "robustness", lambda c: c.robustness and c.robustness.value, words_of(model.Robustness)),
    "float_controls": one_of(
        WORD, "what binds roundings", lambda c: c.float_controls.value, words_of(model.FloatControls)
    ),
    "float_modes": several(WORD, "execution modes of floats, with their width", _float_modes),
    "default_math": several(WORD, "what the defaults of types allow", _default_math, words_of(model.FastMath)),
    "multiply_adds": several(NUMBER, "multiply-adds in all products of matrices", lambda s: (_multiply_adds(s),)),
}  # fmt: skip


def _multiply_adds(site: Site) -> int:
    count = 0
    for product_ in site.sites("MatrixMulAdd"):
        i = product_.of.instruction
        a, b = site.view.types[i.a], site.view.types[i.b]
        assert isinstance(a, model.MatrixShape) and isinstance(b, model.MatrixShape)
        count += a.rows * a.cols * b.cols
    return count
