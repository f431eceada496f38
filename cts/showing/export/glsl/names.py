"""Identifiers: the case's own names, changed only where GLSL requires it."""

from __future__ import annotations

import re

#: Names of types begin with these, and with a capital: no other identifier does.
TYPE_PREFIXES = ("Matrix_", "Vector_", "Layout_", "View_")

_KEYWORDS = """
attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly atomic_uint layout
centroid flat smooth noperspective patch sample invariant precise break continue do for while switch case default
if else subroutine in out inout true false discard return lowp mediump highp precision struct void bool int uint
float double common partition active asm class union enum typedef template this resource goto inline noinline
public static extern external interface long short half fixed unsigned superp input output hvec2 hvec3 hvec4
fvec2 fvec3 fvec4 filter sizeof cast namespace using sampler texture image tensor spirv_literal nonprivate
workgroupcoherent subgroupcoherent devicecoherent queuefamilycoherent shadercallcoherent nonuniformEXT
demote terminateInvocation VULKAN vector coopmat coopvecNV fcoopmatNV icoopmatNV ucoopmatNV tensorLayoutNV tensorViewNV
"""
_FUNCTIONS = """
main min max abs exp log tanh atan step clamp fma mix barrier controlBarrier memoryBarrier any all not equal mod sin
cos tan pow sqrt floor ceil round trunc fract sign dot cross length normalize transpose inverse determinant
"""
_RESERVED = frozenset((_KEYWORDS + _FUNCTIONS).split())

#: Names of types: scalars, vectors and matrices of any component.
_TYPE = re.compile(
    r"(b|i|u|d|f|bf|fe\dm\d|[iuf]\d+)?vec\d|d?mat\d(x\d)?|f\d+mat\d(x\d)?|u?int\d*(_t)?|b?float\w*_t"
    r"|[iu]?(sampler|image|texture|subpass)\w*"
)


class Names:
    """Gives identifiers, no two alike. `taken` are those that another scope has given already."""

    def __init__(self, taken: Names | None = None) -> None:
        self._used: set[str] = set() if taken is None else set(taken._used)

    def fresh(self, wanted: str) -> str:
        """An identifier as close to `wanted` as GLSL and the identifiers before it allow.

        >>> names = Names()
        >>> [names.fresh(n) for n in ("tile", "tile", "buffer", "0 %", "gl_a__b")]
        ['tile', 'tile_2', 'buffer_', 'x0', 'x_gl_a_b']
        """
        name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", wanted)).strip("_") or "x"
        if name.lower().startswith("gl_"):
            name = f"x_{name}"
        elif name[0].isdigit():
            name = f"x{name}"
        if name in _RESERVED or _TYPE.fullmatch(name) or name.startswith(TYPE_PREFIXES):
            name += "_"
        return self._unused(name)

    def type(self, wanted: str) -> str:
        """The name of a type, which is made of one of TYPE_PREFIXES and of identifiers."""
        return self._unused(wanted)

    def _unused(self, name: str) -> str:
        candidate, n = name, 1
        while candidate in self._used:
            n += 1
            candidate = f"{name.rstrip('_')}_{n}"
        self._used.add(candidate)
        return candidate
