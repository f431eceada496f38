"""Pictures of where elements come from: of a case without any driver, and of what a driver did instead."""

from __future__ import annotations

from cts.base.errors import BadInput
from cts.case.model import Case
from cts.case.oracle.expectation import Oracle
from cts.findings.explain import Explanation
from cts.findings.pictures import observed as seen
from cts.findings.pictures.grid import Limits, Scene
from cts.findings.pictures.scenes import drawable, scene
from cts.findings.pictures.svg import standalone
from cts.judging.events import Finding
from cts.plugins import registry

__all__ = [
    "Limits",
    "Scene",
    "of_case",
    "of_explanation",
    "of_finding",
    "scene_of_explanation",
    "scene_of_finding",
    "scenes_of_case",
]

#: The most pictures on a case's page.
MOST = 16

#: What a case is most likely about, the first that its program has.
_TELLING = (
    "MatrixLoadTensor", "MatrixStoreTensor", "VectorMatrixMul", "MatrixReduce", "MatrixConvert", "MatrixTranspose",
    "MatrixPerElement", "MatrixMulAdd",
)  # fmt: skip


def of_case(
    case: Case, oracle: Oracle | None = None, instruction: int | None = None, limits: Limits | None = None
) -> str:
    """One SVG file: where the elements of program[`instruction`] come from, or go to, without any driver.

    Without a number, of the instruction that the case is most likely about. Raises BadInput where there is nothing to
    draw, and for a case that is not valid.
    """
    oracle, limits = oracle or registry.oracle(), limits or Limits()
    possible = _possible(case, oracle)
    if instruction is None:
        kinds = {type(case.program[n]).__name__: n for n in reversed(possible)}
        instruction = next((kinds[k] for k in _TELLING if k in kinds), possible[0] if possible else None)
    drawn = None
    if instruction in possible and instruction is not None:
        drawn = scene(case, oracle, seen.Observed(instruction), limits, driver=False)
    if drawn is None:
        what = "nothing to draw" if instruction is None else f"there is no picture of program[{instruction}]"
        right = f"one of {', '.join(map(str, possible))}" if possible else "a case with loads, stores or computations"
        raise BadInput("no-picture", what, case.name, right)
    return standalone(drawn, limits)


def of_finding(
    finding: Finding, explanation: Explanation | None = None, oracle: Oracle | None = None, limits: Limits | None = None
) -> str | None:
    """One SVG file of a finding, by its explanation where there is one; None where it has nothing to draw."""
    limits = limits or Limits()
    drawn = scene_of_finding(finding, explanation, oracle, limits)
    return None if drawn is None else standalone(drawn, limits)


def scenes_of_case(case: Case, oracle: Oracle | None = None, limits: Limits | None = None) -> list[Scene]:
    """The pictures of a case's instructions in the order of its program, without any driver: at most MOST."""
    oracle, limits = oracle or registry.oracle(), limits or Limits()
    scenes = (scene(case, oracle, seen.Observed(n), limits, driver=False) for n in _possible(case, oracle)[:MOST])
    return [s for s in scenes if s is not None]


def scene_of_finding(
    finding: Finding, explanation: Explanation | None = None, oracle: Oracle | None = None, limits: Limits | None = None
) -> Scene | None:
    """The picture of a finding as data; None where it has nothing to draw."""
    oracle, limits = oracle or registry.oracle(), limits or Limits()
    listed = seen.of_finding(finding, oracle)
    observed = seen.of_explanation(explanation) if explanation is not None else listed
    drawn = None if observed is None else scene(finding.case, oracle, observed, limits, driver=True)
    if drawn is None and listed is not None:
        drawn = scene(finding.case, oracle, listed.of_memory, limits, driver=True)
    return drawn


def scene_of_explanation(
    case: Case, explanation: Explanation, oracle: Oracle | None = None, limits: Limits | None = None
) -> Scene | None:
    """The picture of an explained failure of a case; None where it has nothing to draw."""
    observed = seen.of_explanation(explanation)
    if observed is None:
        return None
    return scene(case, oracle or registry.oracle(), observed, limits or Limits(), driver=True)


def of_explanation(
    case: Case, explanation: Explanation, oracle: Oracle | None = None, limits: Limits | None = None
) -> str | None:
    """One SVG file of an explained failure of a case; None where it has nothing to draw."""
    limits = limits or Limits()
    drawn = scene_of_explanation(case, explanation, oracle, limits)
    return None if drawn is None else standalone(drawn, limits)


def _possible(case: Case, oracle: Oracle) -> list[int]:
    broken = oracle.violations(case)
    if broken:
        raise BadInput("no-picture", broken[0].what, broken[0].path, broken[0].remedy)
    return drawable(case, oracle)
