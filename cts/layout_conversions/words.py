"""Conversions in words."""

from __future__ import annotations

from cts.device_queries.names import component_name
from cts.layout_conversions.calls import Ask, Convert, Copy, Form, Step, Trial

FUNCTION, COMMAND = "vkConvertCooperativeVectorMatrixNV", "vkCmdConvertCooperativeVectorMatrixNV"

_LAYOUTS = ("row-major", "column-major", "inferencing-optimal", "training-optimal")
_RESULTS = {0: "VK_SUCCESS", 5: "VK_INCOMPLETE"}


def of_form(form: Form) -> str:
    """A matrix in words.

    >>> of_form(Form(0, 1, 3, 5, 8))
    '3x5 float16 column-major stride 8'
    """
    stride = f" stride {form.stride}" if form.stride else ""
    return f"{form.rows}x{form.cols} {component_name(form.component)} {_LAYOUTS[form.layout]}{stride}"


def of_result(result: int) -> str:
    """A VkResult by its name where it is one that a conversion may return."""
    return _RESULTS.get(result, f"VkResult {result}")


def of_ask(ask: Ask) -> str:
    """A question for a size in words."""
    given = ", srcData given" if ask.source_given else ""
    before = f", {ask.before} in *pDstSize" if ask.before else ""
    return f"{FUNCTION}, dstData NULL: {of_form(ask.source)} to {of_form(ask.destination)}{given}{before}"


def of_pair(trial: Trial, source: int, destination: int) -> str:
    """A conversion in words, without its command."""
    return f"{of_form(trial.blocks[source].form)} to {of_form(trial.blocks[destination].form)}"


def of_step(trial: Trial, step: Step) -> str:
    """A step in words."""
    if isinstance(step, Ask):
        return of_ask(step)
    if isinstance(step, Copy):
        return f"a copy of {of_form(trial.blocks[step.source].form)}"
    pairs = ", ".join(of_pair(trial, p.source, p.destination) for p in step.pairs)
    if step.by == "function":
        return f"{FUNCTION}: {pairs}"
    inside = ", in a secondary command buffer" if step.secondary else ""
    times = f", submitted {step.times} times" if step.times > 1 else ""
    return f"{COMMAND}{inside}{times}: {pairs}"


def of_trial(trial: Trial) -> str:
    """All steps in words, one after the other."""
    return "; then ".join(of_step(trial, step) for step in trial.steps if isinstance(step, Convert))
