"""What a case needs that a shader stage cannot give it, whatever the device: docs/stages.md.

All else that a case does leaves the same in memory when an invocation runs twice: none reads what it or another one
writes, unless a barrier lies between (TA-044).
"""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import Accumulation, Case, ControlBarrier, Scope, StorageClass
from cts.case.stages import Stage


def missing_in_stage(case: Case, stage: Stage) -> Iterator[str]:
    """Why a case cannot be run in a stage, in words; nothing where it can."""
    if stage is Stage.COMPUTE:
        return
    where = f"in the stage {stage.value}"
    if case.dispatch.invocations is None:
        yield f"cooperative matrices {where} (ST-002)"
        return
    if case.dispatch.times > 1:
        yield f"{case.dispatch.times} dispatches {where} (one only)"
    if case.dispatch.subgroup_size is not None:
        yield f"a required subgroup size {where} (VK-042)"
    if not stage.has_workgroups:
        yield from _of_workgroups(case, where)
    if stage.may_repeat and any(isinstance(i, Accumulation) for i in case.program):
        yield f"additions to memory {where}, which may run an invocation more than once (ST-004)"


def _of_workgroups(case: Case, where: str) -> Iterator[str]:
    if any(b.storage is StorageClass.Workgroup for b in case.buffers.values()):
        yield f"workgroup memory {where} (ST-003)"
    if any(isinstance(i, ControlBarrier) and i.scope is Scope.Workgroup for i in case.program):
        yield f"a barrier of the workgroup {where} (ST-003)"
