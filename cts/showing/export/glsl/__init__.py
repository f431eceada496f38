"""A case's shader as GLSL that a current glslang accepts. See docs/exporting.md."""

# The modules register what they write when they are imported.
from cts.showing.export.glsl import (  # noqa: F401
    arithmetic,
    arrays,
    atomics,
    by_form,
    callbacks,
    composites,
    control,
    conversions,
    copies,
    layouts,
    memory,
    vector_products,
)
from cts.showing.export.glsl.source import glsl

__all__ = ["glsl"]
