"""Blocks for decode functions: random fields, random bodies over them, and memory full of distinct blocks."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from cts.base.choices import Choices
from cts.case.model import BlockField, ComponentType, Data, RandomBits, block_alignment, block_offsets, encode
from cts.case.model.component import Number
from cts.generators.build.contents import Contents, cycle
from cts.generators.build.specials import specials
from cts.generators.build.value_ranges import UNBOUNDED, Known, anything
from cts.generators.parts.expressions import Term
from cts.generators.parts.microscaled import DECLARED
from cts.generators.policy.programs import BlockLoadDraws

_C = ComponentType

#: What float fields of blocks hold: few bits, so that products with them are exact.
SCALES = (1.0, 0.5, 2.0, -1.0, 1.5, 0.25, 3.0, -0.5)
_KNOWN_SCALE = Known(-1, 3, -2)

#: What float8 fields hold.
_SMALL = (1.0, -2.0, 0.0, 3.0, 7.0, -5.0, 12.0, -14.0, 6.0)

#: Distinct blocks in memory, by size: a prime number, so that no alignment hides which is read.
_COUNTS = ((40, 7), (100, 5), (1 << 30, 3))


def known_of(component: ComponentType) -> Known:
    """What is known of fields of a type."""
    if not component.is_float:
        return anything(component)
    return Known(-14, 12) if component.size == 1 else _KNOWN_SCALE


#: Kinds of special numbers in scales: what is multiplied with them stays few values.
_SPECIAL = ("infinities", "zeros", "nans")


@lru_cache(maxsize=512)
def block_bytes(fields: tuple[BlockField, ...], count: int, seed: int, special: bool = False) -> bytes:
    """`count` blocks with random fields, some `special`; what lies between and behind fields is random, too."""
    rng = random.Random(seed)
    offsets, size = block_offsets(fields)
    memory = bytearray(rng.randbytes(count * size))
    for n in range(count):
        for field in fields:
            if field.declared is not None and not (special and field.declared == "float8_e8m0"):
                start = n * size + offsets[field.name]
                patterns = rng.choices(DECLARED[field.declared], k=field.count or 1)
                memory[start : start + len(patterns)] = bytes(patterns)
            elif field.type.is_float:
                options: Sequence[Number] = _SMALL if field.type.size == 1 else SCALES
                if special and rng.random() < 0.4:
                    options = [n for kind in _SPECIAL for n in specials(field.type, kind)]
                numbers = encode(field.type, [rng.choice(options) for _ in range(field.count or 1)])
                start = n * size + offsets[field.name]
                memory[start : start + numbers.nbytes] = numbers.tobytes()
    return bytes(memory)


def draw_memory(
    choices: Choices, fields: tuple[BlockField, ...], pointees: Sequence[ComponentType], *, special: bool = False
) -> tuple[ComponentType, Contents, int]:
    """A pointee type, contents of blocks, and the alignment in bytes at which whole blocks begin, 16 at least.

    `special`: some of their floats are special numbers.
    """
    which, seed = choices.record(5, 30)
    _, size = block_offsets(fields)
    options = [c for c in (_C.uint16, _C.uint8, _C.uint32) if c in pointees]
    pointee = options[which % len(options)]
    if not any(f.type.is_float or f.declared for f in fields) and which >= 3:
        return pointee, random_words(seed), math.lcm(16, size)
    count = next(n for most, n in _COUNTS if size <= most)
    memory = block_bytes(fields, count * (pointee.size // math.gcd(pointee.size, size)), seed, special)
    numbers = np.frombuffer(memory, pointee.dtype)
    return pointee, cycle([int(n) for n in numbers]), math.lcm(16, size)


def random_words(seed: int) -> Contents:
    """Any bits, in any type."""
    return Contents(Known(0, 0, None), Data(random_bits=RandomBits(seed=seed)))


def draw_fields(choices: Choices, components: Sequence[ComponentType]) -> tuple[BlockField, ...]:
    """One to three fields, padding between them where their types ask for it, and bytes up to their alignment."""
    fields = []
    for n in range(choices.pick(BlockLoadDraws.FIELDS)):
        which, count = choices.record(len(components) - 1, 9)
        component = components[which]
        # A power of two, by which indices are masked.
        fields.append(BlockField("abc"[n], component, None if count < 5 else 1 << (count - 4)))
    end = _end(fields)
    rest = -end % block_alignment(tuple(fields))
    if rest:
        fields.append(BlockField("rest", _C.uint8, rest))
    return tuple(fields)


def _end(fields: Sequence[BlockField]) -> int:
    end = 0
    for field in fields:
        end = -(-end // field.type.size) * field.type.size + field.type.size * (field.count or 1)
    return end


def reread(fields: tuple[BlockField, ...], body: str) -> tuple[tuple[BlockField, ...], str]:
    """The same block and function with the bits of the first scalar field declared as another type (AM-41)."""
    for n, field in enumerate(fields):
        if field.count is None and field.type.size > 1:
            other = _C.uint16 if field.type.size == 2 else _C.uint32
            if field.type is other:
                other = ComponentType(f"int{8 * other.size}")
            read = re.compile(rf"\bblock\.{field.name}\b")
            declared = BlockField(field.name, other)
            return (*fields[:n], declared, *fields[n + 1 :]), read.sub(
                f"as_{field.type.value}(block.{field.name})", body
            )
    return fields, body


def field_terms(fields: Sequence[BlockField], index: str, *, special: bool = False) -> list[Term]:
    """The fields as terms of a body; arrays at `index`, an expression, masked; some floats are `special`."""
    terms = []
    for field in fields:
        if field.name == "rest":
            continue
        known = UNBOUNDED if special and field.type.is_float else known_of(field.type)
        text = f"block.{field.name}"
        terms.append(Term(text if field.count is None else f"{text}[({index}) & {field.count - 1}]", field.type, known))
    return terms
