"""What trials must leave, as the oracle says: a trial becomes a case whose conversions are its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case import model
from cts.case.oracle.expectation import Oracle
from cts.device.queries.statement import Broken
from cts.device.trials import COLUMN_MAJOR, GUARD, SUCCESS, Block, Convert, Copy, Form, Trial, Tried
from cts.judging.compare import Differing, contents_differing
from cts.modules.layout_conversions import words
from cts.modules.layout_conversions.abilities import COMPONENTS
from cts.modules.layout_conversions.sizes import extent

_LAYOUTS = (
    model.MatrixLayout.RowMajor,
    model.MatrixLayout.ColumnMajor,
    model.MatrixLayout.InferencingOptimal,
    model.MatrixLayout.TrainingOptimal,
)


def differing(oracle: Oracle, trial: Trial, tried: Tried) -> Iterator[Broken]:
    """Where matrices in rows or columns hold what the oracle does not allow, once all steps have succeeded."""
    if len(tried.answers) < len(trial.steps) or not _successful(trial, tried):
        return
    case = case_of(trial)
    allowed = oracle.expect(case).buffers
    for number in sorted({c.destination for c in _copies(trial)} - _opaque(trial)):
        form = trial.blocks[number].form
        actual = np.frombuffer(tried.answers[-1].blocks[number], np.uint8)[GUARD : GUARD + extent(form)]
        name = f"b{number}"
        for group in contents_differing(name, case.buffers[name], allowed[name], actual):
            yield _broken(trial, form, group)


def case_of(trial: Trial) -> model.Case:
    """A case that does the conversions of a trial, those apart that are given too little memory."""
    opaque = _opaque(trial)
    buffers = {f"b{n}": _buffer(block) for n, block in enumerate(trial.blocks) if n not in opaque}
    conversions = tuple(
        model.MatrixConversion(_side(trial, c.source), _side(trial, c.destination), form.rows, form.cols, host=True)
        for c in _copies(trial)
        for form in (trial.blocks[c.destination].form,)
    )
    matrices = {}
    for n in opaque:
        form = trial.blocks[n].form
        matrices[f"b{n}"] = model.OpaqueMatrix(COMPONENTS[form.component], form.rows, form.cols, _LAYOUTS[form.layout])
    return model.Case(1, "trial", buffers, (), model.Dispatch(invocations=1), opaque=matrices, conversions=conversions)


def _copies(trial: Trial) -> Iterator[Copy]:
    """From which block to which one elements go, in order."""
    for step in trial.steps:
        if isinstance(step, Copy):
            yield step
        elif isinstance(step, Convert):
            yield from (Copy(pair.source, pair.destination) for pair in step.pairs if pair.extra >= 0)


def _opaque(trial: Trial) -> set[int]:
    return {n for n, block in enumerate(trial.blocks) if block.form.optimal}


def _successful(trial: Trial, tried: Tried) -> bool:
    results = (
        result
        for step, answer in zip(trial.steps, tried.answers, strict=True)
        if isinstance(step, Convert)
        for pair, result in zip(step.pairs, answer.results, strict=False)
        if pair.extra >= 0
    )
    return all(result == SUCCESS for result in results)


def _buffer(block: Block) -> model.Buffer:
    """A matrix in rows or columns: bytes where it has contents, else elements up to its last one."""
    if block.contents is not None:
        return model.Buffer(model.ComponentType.uint8, (len(block.contents),), model.Data(values=tuple(block.contents)))
    component = COMPONENTS[block.form.component]
    return model.Buffer(component, (extent(block.form) // component.size,), model.Data(fill=0))


def _side(trial: Trial, number: int) -> model.ConversionSide:
    form = trial.blocks[number].form
    if form.optimal:
        return model.ConversionSide(f"b{number}")
    return model.ConversionSide(f"b{number}", COMPONENTS[form.component], _LAYOUTS[form.layout], form.stride)


def _broken(trial: Trial, form: Form, group: Differing) -> Broken:
    line, at = divmod(int(group.offsets[0]), form.stride)
    element = at // COMPONENTS[form.component].size
    row, col = (element, line) if form.layout == COLUMN_MAJOR else (line, element)
    actual = _number(group.component, group.actual[:1])
    low, high = (_number(group.component, bits[:1]) for bits in (group.lo, group.hi))
    many = f"{len(group)} elements differ, the first" if len(group) > 1 else "one element differs,"
    where = f"{words.of_trial(trial)}; {many} at row {row}, column {col}"
    return Broken(where, actual, low if low == high else f"{low} to {high}")


def _number(component: model.ComponentType, bits: np.ndarray[tuple[int, ...], np.dtype[np.unsignedinteger]]) -> str:
    width = 2 * component.size
    return f"{model.decode(component, bits)[0]} (0x{int(bits[0]):0{width}x})"
