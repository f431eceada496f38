"""Cases without cooperative matrices and vectors: the programs of vectors, with ordinary ones. docs/generators.md."""

from __future__ import annotations

from dataclasses import replace

from cts.base.choices import Choices, Source
from cts.case.model import Case
from cts.device.capabilities import Capabilities, Feature
from cts.generators.build.supports import VECTOR_ARITHMETIC
from cts.generators.parts.edge_cases import draw_vector_edges
from cts.generators.parts.vector_programs import draw_vector_program
from cts.generators.policy.compute import ComputeDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases for any device: of the types that its buffers hold and its shaders compute with."""
    ordinary = replace(
        capabilities,
        features=capabilities.features - {Feature.REPLICATED_COMPOSITES},
        vector_components=capabilities.ordinary_components,
        min_vector_length=2,
        max_vector_length=4,
    )
    components = [c for c in VECTOR_ARITHMETIC if c in ordinary.vector_components]

    def compute(choices: Choices) -> Case:
        if choices.chance(ComputeDraws.EDGES):
            return draw_vector_edges(choices, ordinary, components)
        return draw_vector_program(choices, ordinary, components)

    return compute
