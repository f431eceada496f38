"""Failures that rest on this suite's policy: requirements that no specification makes.

The accuracy of multiply-adds is such a policy: their order and internal precision are the implementation's
(NU-010), and so is the order of a reduction (CM-023). A driver that fails by it alone breaks no sentence.
"""

from __future__ import annotations

import numpy as np

from cts.case.model import Case, MatrixShape, Product, VectorShape, decode, types_of
from cts.judging.compare import Differing, Divergence, is_nan

#: Errors up to this part of a sum's magnitude may be those of few bits: bfloat16 has 8.
FEW_BITS = 2.0**-7

EXACT = "exact in any order, so judged exactly: the specifications promise no precision of a multiply-add (NU-010)"


def policy_of(case: Case, divergence: Divergence) -> str:
    """The policy that a failure rests on; empty if any difference breaks a sentence of a specification."""
    multiplies = _multiplies_floats(case)
    policies = [(g.policy or (EXACT if multiplies else "")) if _few_bits_explain(g) else "" for g in divergence.groups]
    return "; ".join(dict.fromkeys(policies)) if all(policies) else ""


def _multiplies_floats(case: Case) -> bool:
    types = types_of(case)
    results = (types[name] for i in case.program if isinstance(i, Product) for name in i.defines)
    return any(isinstance(t, (MatrixShape, VectorShape)) and t.component.is_float for t in results)


def _few_bits_explain(group: Differing) -> bool:
    """Whether elements are sums of floats, with errors no larger than those of an accumulation in few bits.

    Half a policy's interval is a multiple of 2^-bits of the sum's magnitude, which is at least its result's.
    """
    component = group.component
    exact = (group.lo == group.hi).all()
    if not component.is_float or component.is_float8 or group.guard or group.rule or not (exact or group.policy):
        return False
    if any(is_nan(component, bits).any() for bits in (group.actual, group.lo, group.hi)):
        return False
    actual, low, high = (decode(component, bits).astype(np.float64) for bits in (group.actual, group.lo, group.hi))
    if not (np.isfinite(actual) & np.isfinite(low) & np.isfinite(high)).all():
        return False
    widest = (high - low) / 2 * 2.0**component.format.fraction_bits
    magnitude = np.maximum(np.maximum(np.abs(low), np.abs(high)), widest)
    return bool((np.maximum(low - actual, actual - high) <= FEW_BITS * magnitude).all())
