"""Float execution modes of generated cases."""

from __future__ import annotations

from cts.base.choices import Choices
from cts.case.model import FloatControls, FloatMode, FloatWidth
from cts.case.model.float_modes import COMPUTED_WIDTHS
from cts.device.capabilities import Capabilities
from cts.generators.policy.cases import FloatDraws

#: What a width has of each kind, the simplest first.
_ROUNDINGS: tuple[tuple[FloatMode, ...], ...] = ((), (FloatMode.RoundingModeRTZ,), (FloatMode.RoundingModeRTE,))
_DENORMS: tuple[tuple[FloatMode, ...], ...] = ((), (FloatMode.DenormPreserve,), (FloatMode.DenormFlushToZero,))


def draw_float_modes(
    choices: Choices, capabilities: Capabilities, controls: FloatControls, *, zeros: bool = True
) -> dict[FloatWidth, tuple[FloatMode, ...]]:
    """Modes that the device has: in half of the cases in which they are judged, in few others.

    Each width has each rounding and each treatment of denormals in a third of these, or none, and keeps signs of
    zero, infinities and NaNs in a third where float_controls does not say so already. Without `zeros` none does: the
    case has zeros whose signs are not settled.
    """
    support = capabilities.float_modes
    if not support.modes:
        return {}
    if not choices.chance(FloatDraws.UNDECORATED_MODES if controls is FloatControls.Undecorated else FloatDraws.MODES):
        return {}
    kinds = choices.record(2, 2, 2, 2, 2, 2)
    drawn: dict[FloatWidth, tuple[FloatMode, ...]] = {}
    for n, width in enumerate(COMPUTED_WIDTHS):
        rounding, denormals, special = kinds[3 * n : 3 * n + 3]
        listed = [*_ROUNDINGS[rounding], *_DENORMS[denormals]]
        if special == 2 and zeros and controls is not FloatControls.FastMathNone:
            listed.append(FloatMode.SignedZeroInfNanPreserve)
        if modes := tuple(m for m in listed if (m, width) in support.modes):
            drawn[width] = modes
    if any(support.missing(drawn)):
        # Widths that must agree: all have what the first one has.
        shared = drawn.get(COMPUTED_WIDTHS[0], ())
        drawn = dict.fromkeys(COMPUTED_WIDTHS, shared) if shared else {}
    return {} if any(support.missing(drawn)) else drawn
