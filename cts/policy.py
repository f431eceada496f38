"""Failures that rest on this suite's policy: what it asks of a driver where the specifications ask for nothing.

The accuracy of multiply-adds is such a policy: their order and internal precision are the implementation's
(NU-010), and so is the order of a reduction (CM-023). A driver that fails by it alone breaks no sentence.
"""

from __future__ import annotations

import numpy as np

from cts.compare import Differing, Divergence, is_nan
from cts.model import Case, MatrixMulAdd, MatrixShape, VectorMatrixMul, VectorShape, decode, types_of

#: Relative errors up to this one may be those of a multiply-add with few bits: bfloat16 has 8.
FEW_BITS = 2.0**-7

EXACT = "exact in any order, so judged exactly: the specifications promise no precision of a multiply-add (NU-010)"


def policy_of(case: Case, divergence: Divergence) -> str:
    """What policy a failure rests on; empty where anything that differs breaks a sentence of a specification."""
    multiplies = _multiplies_floats(case)
    found = [g.policy or (EXACT if multiplies and _near(g) else "") for g in divergence.groups]
    return "; ".join(dict.fromkeys(found)) if all(found) else ""


def _multiplies_floats(case: Case) -> bool:
    types = types_of(case)
    results = (types[i.id] for i in case.program if isinstance(i, (MatrixMulAdd, VectorMatrixMul)))
    return any(isinstance(t, (MatrixShape, VectorShape)) and t.component.is_float for t in results)


def _near(group: Differing) -> bool:
    """Whether floats that have one allowed value each are off by no more than few bits would explain."""
    component = group.component
    if not component.is_float or group.guard or group.rule or (group.lo != group.hi).any():
        return False
    if is_nan(component, group.actual).any() or is_nan(component, group.lo).any():
        return False
    actual, wanted = (decode(component, bits).astype(np.float64) for bits in (group.actual, group.lo))
    near = np.isfinite(actual) & np.isfinite(wanted) & (np.abs(actual - wanted) <= FEW_BITS * np.abs(wanted))
    return bool(near.all())
