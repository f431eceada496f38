"""Execution modes and liberties of floats other than a module's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Case, FastMath, FloatControls, FloatMode
from cts.case.oracle.deviation import OF_CASE, Step
from cts.findings.explain.change import Change
from cts.findings.explain.deviating import deviation_of
from cts.findings.learning.deed import Deed


def of_freedoms(case: Case, index: int) -> Iterator[Change]:
    """Program[index] with the liberties of fast math, which its module does not give it (NU-017, NU-049, NU-050)."""
    i: Any = case.program[index]
    if case.float_controls is FloatControls.NoContraction:
        undecorated = Deed("float_controls", word=FloatControls.Undecorated.name)
        yield deviation_of(case, OF_CASE, undecorated, ("NU-019",))
    if case.float_controls is FloatControls.FastMathNone and hasattr(i, "fast_math"):
        for fact, own, bits in _LIBERTIES:
            deed = Deed("fast_math", tuple(Step("added", (bit.name,)) for bit in bits))
            yield deviation_of(case, index, deed, (fact, "NU-048") if gives_fast_math(case) else (own,))


def gives_fast_math(case: Case) -> bool:
    """Whether a module says of some instruction or type which liberties of fast math it has (NU-048)."""
    return bool(case.fast_math) or any(getattr(i, "fast_math", None) is not None for i in case.program)


#: The fact that gives a liberty, the fact against it in modules without any fast math, and its bits.
_LIBERTIES = (
    ("NU-049", "NU-019", (FastMath.AllowContract, FastMath.AllowReassoc)),
    ("NU-050", "NU-020", (FastMath.NSZ,)),
)

#: Of each execution mode the fact, and the mode that a driver may take for it.
_MODES = {
    FloatMode.DenormPreserve: ("NU-042", FloatMode.DenormFlushToZero),
    FloatMode.DenormFlushToZero: ("NU-043", FloatMode.DenormPreserve),
    FloatMode.RoundingModeRTE: ("NU-044", FloatMode.RoundingModeRTZ),
    FloatMode.RoundingModeRTZ: ("NU-044", FloatMode.RoundingModeRTE),
    FloatMode.SignedZeroInfNanPreserve: ("NU-045", None),
}


def of_modes(case: Case) -> Iterator[Change]:
    """An execution mode of floats that had no effect, or that of its opposite."""
    for width, modes in case.float_modes.items():
        for mode in modes:
            fact, opposite = _MODES[mode]
            others = tuple(m for m in (opposite if m is mode else m for m in modes) if m is not None)
            changed = {w: m for w, m in {**case.float_modes, width: others}.items() if m}
            what = f"{mode.value} of {width.value} was {'missing' if opposite is None else opposite.value}"
            yield Change(what, (fact,), structs.replace(case, float_modes=changed), simplified=True)
