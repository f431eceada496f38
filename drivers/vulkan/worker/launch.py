"""How the invocations of a pipeline are started that is no compute pipeline."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from .protocol import Run


class Shader(NamedTuple):
    """A stage of shaders: its VkShaderStageFlagBits, and its VkPipelineStageFlagBits, for barriers."""

    flag: int
    synchronised: int


COMPUTE = Shader(0x20, 0x800)


class Launch(Protocol):
    """What starts the invocations of a pipeline, whose module under test is of the stage `shader`.

    `point` is the VkPipelineBindPoint. Between `begin` and `end` each parameter set is bound and started.
    """

    point: int
    shader: Shader

    def begin(self, commands: Any, run: Run) -> None:
        """Record what comes before the first start; the pipeline is bound."""

    def start(self, commands: Any, run: Run) -> None:
        """Record the start of all invocations of one parameter set."""

    def end(self, commands: Any) -> None:
        """Record what comes after the last start."""

    def close(self) -> None:
        """Give back what is not the pipeline's own."""
