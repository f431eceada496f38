"""Cases of vectors: memory, composites, operations, conversions, divergence. docs/generators.md says how often."""

from __future__ import annotations

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case
from cts.device.capabilities import Capabilities
from cts.generators.parts.edge_cases import draw_vector_edges
from cts.generators.parts.vector_operations import components_of
from cts.generators.parts.vector_programs import draw_vector_program
from cts.generators.policy.edges import EdgeDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases for a device with `capabilities`. Raises NothingToGenerate when it has no cooperative vectors."""
    components = components_of(capabilities)
    if not components:
        raise NothingToGenerate("the driver has no cooperative vectors to compute with")

    def vector_arithmetic(choices: Choices) -> Case:
        if choices.chance(EdgeDraws.EDGES):
            return draw_vector_edges(choices, capabilities, components)
        return draw_vector_program(choices, capabilities, components)

    return vector_arithmetic
