"""Block formats as data: what a block is made of, and the element that a decode function makes of it.

The layouts are those of llama.cpp's quantised tensors (q4_0 to iq4_nl), whose blocks end at a multiple of
their alignment; one bit and float8 with a scale for each block are made after them. The concrete formats of the OCP
Microscaling Formats 1.0 (mxfp4 to mxint8) have a scale of E8M0 for 32 elements, nvfp4 one of E4M3 for 16. In a body,
{k} is the element's place in its block and {F} the float type that the body computes with.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from cts.case.model import BlockField, ComponentType, Feature, Microscaling, block_offsets
from cts.generators.build.value_ranges import Known

_C = ComponentType


@dataclass(frozen=True)
class Format:
    """A block of elements, `known` if its scales are `blocks.SCALES`; `wide`: float16 has too few bits for them."""

    name: str
    elements: int
    fields: tuple[BlockField, ...]
    result: str
    known: Known
    lines: tuple[str, ...] = ()
    wide: bool = False

    @property
    def size(self) -> int:
        """Bytes of a block."""
        return block_offsets(self.fields)[1]

    @property
    def features(self) -> frozenset[Feature]:
        """What a device needs for the types that it names."""
        text = "".join((*self.lines, self.result))
        declared = {field.of for field in self.fields}
        return frozenset(t.feature for t in Microscaling if t in declared or f"as_{t.value}(" in text)

    def body(self, returns: ComponentType, place: str) -> str:
        """The text of a body that returns `returns`, for the element at `place` (an expression) of its block."""
        working = _C.float32 if self.wide or returns is not _C.float16 else _C.float16
        lines = [line.format(F=working.value) for line in (*self.lines, self.result)]
        if returns is not working:
            lines[-1] = f"{returns.value}({lines[-1]})"
        return "\n".join([f"k = {place}", *lines])


_field = BlockField

#: Element k of 32 in 16 bytes: the first half of the elements are the low halves of the bytes.
_NIBBLE = "(block.qs[k & 15] >> uint8((k >> 4) * 4)) & 15"

_TABLE = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)

FORMATS = (
    Format(
        "q8_0",
        32,
        (_field("d", _C.float16), _field("qs", _C.int8, 32)),
        "{F}(block.d) * {F}(block.qs[k])",
        Known(-384, 384, -2),
    ),
    Format(
        "q4_0",
        32,
        (_field("d", _C.float16), _field("qs", _C.uint8, 16)),
        f"{{F}}(block.d) * ({{F}}({_NIBBLE}) - 8)",
        Known(-24, 24, -2),
    ),
    Format(
        "q4_1",
        32,
        (_field("d", _C.float16), _field("m", _C.float16), _field("qs", _C.uint8, 16)),
        f"{{F}}(block.d) * {{F}}({_NIBBLE}) + {{F}}(block.m)",
        Known(-48, 48, -2),
    ),
    Format(
        "q5_0",
        32,
        (_field("d", _C.float16), _field("qh", _C.uint8, 4), _field("qs", _C.uint8, 16)),
        "{F}(block.d) * ({F}(q) - 16)",
        Known(-48, 48, -2),
        ("high = (block.qh[k >> 3] >> uint8(k & 7)) & 1", f"q = ({_NIBBLE}) | (high << 4)"),
    ),
    Format(
        "iq4_nl",
        32,
        (_field("d", _C.float16), _field("qs", _C.uint8, 16)),
        "{F}(block.d) * {F}(value)",
        Known(-381, 381, -2),
        (f"q = uint32({_NIBBLE})", f"value = lookup(q, {', '.join(f'int8({v})' for v in _TABLE)})"),
    ),
    Format(
        "bit",
        32,
        (_field("d", _C.float16), _field("bits", _C.uint8, 4)),
        "{F}(block.d) if ((block.bits[k >> 3] >> uint8(k & 7)) & 1) == 1 else -{F}(block.d)",
        Known(-3, 3, -2),
    ),
    Format(
        "float8_scaled",
        16,
        (_field("d", _C.float32), _field("qs", _C.float8_e4m3fn, 16)),
        "{F}(block.d) * {F}(block.qs[k])",
        Known(-45, 45, -2),
        wide=True,
    ),
    Format(
        "q2_K",
        256,
        (
            _field("scales", _C.uint8, 16),
            _field("qs", _C.uint8, 64),
            _field("d", _C.float16),
            _field("dmin", _C.float16),
        ),
        "{F}(block.d) * {F}(s & 15) * {F}(q) - {F}(block.dmin) * {F}(s >> 4)",
        Known(-180, 180, -2),
        ("s = block.scales[k >> 4]", "q = (block.qs[((k >> 7) << 5) + (k & 31)] >> uint8(((k >> 5) & 3) * 2)) & 3"),
        wide=True,
    ),
    Format(
        "q4_K",
        256,
        (
            _field("d", _C.float16),
            _field("dmin", _C.float16),
            _field("scales", _C.uint8, 12),
            _field("qs", _C.uint8, 128),
        ),
        "{F}(block.d) * {F}(s) * {F}(q) - {F}(block.dmin) * {F}(m)",
        Known(-3024, 3024, -2),
        (
            "j = k >> 5",
            "a = block.scales[j]",
            "b = block.scales[j + 4]",
            "c = block.scales[j & 3]",
            "s = (a & 63) if j < 4 else ((b & 15) | ((c >> 6) << 4))",
            "m = (b & 63) if j < 4 else ((b >> 4) | ((a >> 6) << 4))",
            "q = (block.qs[((k >> 6) << 5) + (k & 31)] >> uint8((j & 1) * 4)) & 15",
        ),
        wide=True,
    ),
    Format(
        "q6_K",
        256,
        (
            _field("ql", _C.uint8, 128),
            _field("qh", _C.uint8, 64),
            _field("scales", _C.int8, 16),
            _field("d", _C.float16),
        ),
        "{F}(block.d) * {F}(block.scales[k >> 4]) * ({F}(low | (high << 4)) - 32)",
        Known(-12288, 12288, -2),
        (
            "j = (k >> 5) & 3",
            "low = (block.ql[((k >> 7) << 6) + ((j & 1) << 5) + (k & 31)] >> uint8((j >> 1) * 4)) & 15",
            "high = (block.qh[((k >> 7) << 5) + (k & 31)] >> uint8(j * 2)) & 3",
        ),
        wide=True,
    ),
)


#: A scale of 32 elements.
_SCALE = BlockField("e", _C.uint8, declared="float8_e8m0")

#: Two elements of 4 bits in a byte, and four of 6 bits in three bytes.
_PAIR = ("low = as_float4_e2m1(block.qs[k >> 1], 0)", "high = as_float4_e2m1(block.qs[k >> 1], 4)")
_SIX = ("g = (k >> 2) * 3", "w = uint32(block.qs[g]) | (uint32(block.qs[g+1]) << 8) | (uint32(block.qs[g+2]) << 16)")


def _scaled(name: str, known: Known, element: str, elements: BlockField, lines: tuple[str, ...] = ()) -> Format:
    """A format of 32 elements with a scale of E8M0."""
    return Format(name, 32, (_SCALE, elements), f"{{F}}(block.e) * {{F}}({element})", known, lines)


#: The formats of scaled elements; `blocks.scales` are their scales.
MICROSCALED = (
    _scaled("mxfp4", Known(-48, 48, -4), "as_float4_e2m1(block.qs[k & 15], (k >> 4) * 4)", _field("qs", _C.uint8, 16)),
    _scaled("mxfp4_pairs", Known(-48, 48, -4), "low if (k & 1) == 0 else high", _field("qs", _C.uint8, 16), _PAIR),
    _scaled("mxfp6_e2m3", Known(-60, 60, -6), "as_float6_e2m3(w, (k & 3) * 6)", _field("qs", _C.uint8, 24), _SIX),
    _scaled("mxfp6_e3m2", Known(-224, 224, -7), "as_float6_e3m2(w, (k & 3) * 6)", _field("qs", _C.uint8, 24), _SIX),
    _scaled("mxfp8_e4m3", Known(-112, 96, -3), "block.qs[k]", _field("qs", _C.float8_e4m3fn, 32)),
    _scaled("mxfp8_e5m2", Known(-112, 96, -3), "block.qs[k]", _field("qs", _C.float8_e5m2, 32)),
    _scaled("mxint8", Known(-16, 16, -9), "block.qs[k]", BlockField("qs", _C.uint8, 32, "mxint8")),
    Format(
        "nvfp4",
        16,
        (_field("d", _C.float8_e4m3fn), _field("qs", _C.uint8, 8)),
        "{F}(block.d) * {F}(as_float4_e2m1(block.qs[k & 7], (k >> 3) * 4))",
        Known(-84, 84, -1),
    ),
)


#: What formats decode to.
FORMATTED = (_C.float16, _C.float32, _C.bfloat16)


def formats_for(
    component: ComponentType, pointees: Sequence[ComponentType], features: Set[Feature], most: int = 256
) -> list[Format]:
    """Formats of at most so many elements that decode to a component type, of fields and types that the driver has."""
    if component not in FORMATTED:
        return []
    known = (f for f in (*FORMATS, *MICROSCALED) if f.features <= features and f.elements <= most)
    return [f for f in known if all(field.type in pointees for field in f.fields)]
