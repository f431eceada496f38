"""Which float execution modes a device has, and which of them together (NU-047)."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from cts.case.model import DENORMS, ROUNDINGS, FloatMode, FloatModes, FloatWidth


class Independence(enum.Enum):
    """Which widths may have modes of one kind that differ (NU-047); values are VkShaderFloatControlsIndependence."""

    FLOAT32 = 0
    ALL = 1
    NONE = 2

    def missing(self, modes: FloatModes, kind: tuple[FloatMode, ...]) -> str | None:
        """What modes of the kind (denormals, or roundings) may not be together, in words; None: they may."""
        of = {w: next((m.value for m in modes.get(w, ()) if m in kind), None) for w in FloatWidth}
        together = [] if self is Independence.ALL else [FloatWidth.float16, FloatWidth.float64]
        if self is Independence.NONE:
            together = [FloatWidth.float16, FloatWidth.float32, FloatWidth.float64]
        # What no module here computes with needs no mode of its own.
        together = [w for w in together if w is not FloatWidth.float64 or of[w] is not None]
        if len({of[w] for w in together}) <= 1:
            return None
        texts = " and ".join(f"{of[w] or 'nothing'} for {w.value}" for w in together)
        return f"float modes {texts}, which must be the same (NU-047)"


@dataclass(frozen=True)
class FloatModeSupport:
    """The float execution modes of a device, by width, and which may differ between widths (NU-047)."""

    modes: frozenset[tuple[FloatMode, FloatWidth]] = frozenset()
    denormals: Independence = Independence.ALL
    roundings: Independence = Independence.ALL

    def missing(self, modes: FloatModes) -> Iterator[str]:
        """What of a module's modes the device lacks, in words."""
        for width, listed in modes.items():
            for mode in listed:
                if (mode, width) not in self.modes:
                    yield f"float mode {mode.value} for {width.value} (NU-047)"
        for kind, independence in ((DENORMS, self.denormals), (ROUNDINGS, self.roundings)):
            if (text := independence.missing(modes, kind)) is not None:
                yield text


#: A device that has all of them.
EVERY_FLOAT_MODE = FloatModeSupport(frozenset((mode, width) for mode in FloatMode for width in FloatWidth))

#: A device that has none.
NO_FLOAT_MODE = FloatModeSupport()
