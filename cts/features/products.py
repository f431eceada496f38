"""Attributes of products of vectors: the types that the operand mask makes of its operands."""

from __future__ import annotations

from cts.device.rows import EVERYWHERE, covers, vector_mul
from cts.features.attributes import COMPONENTS, TRUTH, WORD, several
from cts.features.sites import Site, Values


def _input_type(site: Site) -> Values:
    return (vector_mul(site.of.instruction, site.view.types)[0].value,)


def _everywhere(site: Site) -> Values:
    types = vector_mul(site.of.instruction, site.view.types)[:-1]
    return (any(covers(row, (*types, False)) for row in EVERYWHERE),)


VECTOR_PRODUCT = {
    "input_type": several(
        WORD, "type of the input's components, with the sign that `operands` gives it", _input_type, COMPONENTS
    ),
    "everywhere": several(TRUTH, "its types are those that every device multiplies (CV-036)", _everywhere),
}
