"""The mode register as compiled code begins with it: rounding, and denormals; and what no mode says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cts.drivers.amd.formats import Round

#: Bits of Mesa's float_controls_execution_mode (src/compiler/shader_enums.h).
_FLUSH_16, _PRESERVE_32, _TO_ZERO_16, _TO_ZERO_32 = 0x8, 0x2, 0x200, 0x400

_CONTROLS = re.compile(r"^float_controls_execution_mode: 0x([0-9a-f]+)", re.MULTILINE)


@dataclass(frozen=True)
class Modes:
    """RDNA 4 ISA, "Mode register": how singles and halves are rounded, and whether their denormals are kept.

    Mesa keeps those of halves and flushes those of singles where a shader asks for nothing.
    """

    round32: Round = "even"
    round16: Round = "even"
    keep32: bool = False
    keep16: bool = True

    def flushes(self, kind: str) -> bool:
        """Whether denormals of a kind are flushed."""
        return (kind == "f32" and not self.keep32) or (kind == "f16" and not self.keep16)


@dataclass(frozen=True)
class Freedoms:
    """What no document says, so that hardware may do either.

    `chained`: a product of matrices adds its terms one by one, each sum rounded to a single; else all at once. `low`:
    reciprocals, roots, exponentials and logarithms of singles that are not exact are the next number towards zero.
    """

    chained: bool = False
    low: bool = False


#: What is done where nobody asks for anything else.
USUAL = Freedoms()


def of_shader(nir: str) -> Modes:
    """The modes that a shader asks for, from the head of its NIR."""
    controls = _CONTROLS.search(nir)
    bits = int(controls[1], 16) if controls else 0
    return Modes(
        "zero" if bits & _TO_ZERO_32 else "even",
        "zero" if bits & _TO_ZERO_16 else "even",
        bool(bits & _PRESERVE_32),
        not bits & _FLUSH_16,
    )
