"""Conversions in words."""

from __future__ import annotations

from cts.device.queries.names import component_name
from cts.device.trials import Ask, Convert, Copy, Form, Trial

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
    with_source = ", srcData given" if ask.source_given else ""
    before = f", {ask.before} in *pDstSize" if ask.before else ""
    return f"{FUNCTION}, dstData NULL: {of_form(ask.source)} to {of_form(ask.destination)}{with_source}{before}"


def of_pair(trial: Trial, source: int, destination: int) -> str:
    """A conversion in words, without its command: extents and the source's type once."""
    return f"{of_form(trial.blocks[source].form)} {_to(trial, destination)}"


def of_step(trial: Trial, step: Convert) -> str:
    """A step that converts in words."""
    return f"{_call(step)}: {', '.join(of_pair(trial, p.source, p.destination) for p in step.pairs)}"


def of_trial(trial: Trial) -> str:
    """All conversions in words, one after the other: what the one before has said is not said again."""
    told: list[str] = []
    before: Convert | None = None
    for step in trial.steps:
        if isinstance(step, Ask):
            told.append(of_ask(step))
        elif isinstance(step, Copy):
            told.append("moved")
        else:
            again = before is not None and _call(before) == _call(step)
            alone = len(step.pairs) == 1 and before is not None and len(before.pairs) == 1
            pairs = _to(trial, step.pairs[0].destination) if alone else of_step(trial, step).partition(": ")[2]
            told.append(f"then {pairs}" if again else f"{_call(step)}: {pairs}")
            before = step
    return ", ".join(told)


def _to(trial: Trial, destination: int) -> str:
    form = trial.blocks[destination].form
    return f"to {of_form(form).partition(' ')[2]}"


def _call(step: Convert) -> str:
    """What converts."""
    if step.by == "function":
        return FUNCTION
    inside = " in a secondary command buffer" if step.secondary else ""
    return f"{COMMAND}{inside}{f' submitted {step.times} times' if step.times > 1 else ''}"
