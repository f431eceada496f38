"""The picture of one instruction: memory and matrices, what comes from where, and what a driver did instead."""

from __future__ import annotations

from cts.case.model import Case, Store
from cts.case.oracle.expectation import Oracle
from cts.findings.pictures.combined import combined
from cts.findings.pictures.grid import Limits, Scene
from cts.findings.pictures.loads import decoded, loaded
from cts.findings.pictures.observed import Observed
from cts.findings.pictures.stores import remembered, stored
from cts.findings.pictures.work import PictureInputs


def drawable(case: Case, oracle: Oracle) -> list[int]:
    """The instructions of a program that a picture can be drawn of, in its order."""
    expectation = oracle.expect(case)
    return [n for n in range(len(case.program)) if PictureInputs(case, oracle, expectation, n).result is not None]


def scene(case: Case, oracle: Oracle, observed: Observed, limits: Limits, *, driver: bool) -> Scene | None:
    """The picture of program[`observed.index`]; with `driver`, what that did beside it. None where nothing is drawn."""
    work = PictureInputs(case, oracle, oracle.expect(case), observed.index, observed, limits, driver)
    if work.result is None:
        return remembered(work) if driver else None
    if work.reached is None:
        return combined(work)
    if isinstance(work.instruction, Store):
        return stored(work)
    if work.reached.tensor is not None and work.reached.tensor.block is not None:
        return decoded(work)
    return loaded(work) or combined(work)
