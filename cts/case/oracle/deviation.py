"""Deviations: wrong semantics as data, for an oracle that computes the memory which they leave.

An instruction deviates in one of its parts, by transforms that are applied in turn. The parts are the result, the
places that a load or store accesses, the memory that a load sees, an operand, a field, or a member of the state behind
a layout or view. docs/deviations.md has the table for users.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

#: Names of the parts that are no fields of an instruction: its result (of a store: the stored elements), the byte
#: offsets of a load or store, the memory that a load sees, and the elements that a reduction combines to one.
RESULT, ADDRESS, MEMORY, TERMS = "result", "address", "memory", "terms"

#: Another kind of instruction with the same fields, as a word.
KIND = "op"

#: The operations in the bodies of the functions that an instruction calls.
BODY = "body"

#: Stores of the functions of elements; and what decode functions get as coordinates, entry by dimension: both, or one.
OUTPUTS, COORDINATES = "outputs", ("coordinates", "block_coord", "coord_in_block")

Argument: TypeAlias = int | float | str


class Domain(enum.Flag):
    """The arrays that a transform applies to."""

    #: Elements of matrices and vectors, (sets, instances, rows, columns).
    ELEMENTS = enum.auto()
    #: Byte offsets of elements, of the same shape.
    PLACES = enum.auto()
    #: 32-bit operands, (sets, instances) or (sets, instances, n), and members of a state.
    NUMBERS = enum.auto()
    #: All bytes of the buffer that a load sees.
    BYTES = enum.auto()
    #: Members of the state behind a layout or view, given its other members.
    STATES = enum.auto()
    #: Elements that a reduction combines to one, (..., rows, columns).
    TERMS = enum.auto()
    #: An operand of a product, as a whole.
    OPERANDS = enum.auto()
    #: The operations in the body of a function.
    BODIES = enum.auto()
    #: Words of a field that may have several.
    WORDS = enum.auto()
    #: The conversions of a case.
    COMMANDS = enum.auto()


@dataclass(frozen=True)
class Transform:
    """One entry of the vocabulary: what it applies to, and its parameters. docs/deviations.md says what it does."""

    domain: Domain
    parameters: tuple[type, ...] = ()


_MOVED = Domain.ELEMENTS | Domain.PLACES
_PARTLY = Domain.ELEMENTS | Domain.TERMS

#: The vocabulary, by name.
TRANSFORMS: dict[str, Transform] = {
    # Other elements
    "transposed": Transform(_MOVED),
    "transposed_blocks": Transform(_MOVED, (int,)),
    "first": Transform(_MOVED),
    "first_row": Transform(_MOVED),
    "first_column": Transform(_MOVED),
    "moved_rows": Transform(_MOVED, (int,)),
    "moved_columns": Transform(_MOVED, (int,)),
    "reversed_rows": Transform(_MOVED),
    "reversed_columns": Transform(_MOVED),
    "rows_below": Transform(_MOVED, (int,)),
    "columns_below": Transform(_MOVED, (int,)),
    "columns_by_rows": Transform(_MOVED),
    "rows_by_columns": Transform(_MOVED),
    "swapped_halves": Transform(_MOVED),
    "first_instance": Transform(_MOVED | Domain.NUMBERS | Domain.BYTES),
    "last_instance": Transform(_MOVED | Domain.NUMBERS),
    "instance_before": Transform(_MOVED | Domain.NUMBERS),
    "first_of_each": Transform(_MOVED | Domain.NUMBERS, (int,)),
    # Elements as they were
    "before": Transform(Domain.ELEMENTS | Domain.NUMBERS | Domain.BYTES),
    "initial": Transform(Domain.BYTES),
    "earlier": Transform(Domain.BYTES, (int,)),
    "later": Transform(Domain.BYTES, (int,)),
    "before_from_row": Transform(_PARTLY, (int,)),
    "before_from_column": Transform(_PARTLY, (int,)),
    "before_from_instance": Transform(Domain.ELEMENTS, (int,)),
    "before_beyond_rows": Transform(_PARTLY, (int,)),
    "before_beyond_columns": Transform(_PARTLY, (int,)),
    "before_in_second_half": Transform(_PARTLY),
    "before_in_last_row": Transform(_PARTLY),
    "before_in_last_column": Transform(_PARTLY),
    "dealt": Transform(Domain.ELEMENTS | Domain.NUMBERS, (str,)),
    "diagonal": Transform(Domain.TERMS),
    "padded": Transform(Domain.TERMS, (int,)),
    "whole_pieces": Transform(Domain.TERMS, (int,)),
    "last_of_each": Transform(Domain.ELEMENTS, (int,)),
    "undivided": Transform(Domain.ELEMENTS, (int,)),
    "alike": Transform(Domain.ELEMENTS),
    "operand": Transform(Domain.ELEMENTS, (str,)),
    "made_of": Transform(Domain.ELEMENTS, (str,)),
    "unmade": Transform(Domain.ELEMENTS, (str,)),
    "first_alike": Transform(Domain.ELEMENTS),
    "exchanged": Transform(Domain.ELEMENTS, (str,)),
    "cleared": Transform(Domain.ELEMENTS),
    "signed_as": Transform(Domain.OPERANDS, (str,)),
    "overwritten": Transform(Domain.ELEMENTS),
    "accumulated": Transform(Domain.ELEMENTS, (int,)),
    "tile_alone": Transform(Domain.ELEMENTS, (int,)),
    "apart": Transform(Domain.ELEMENTS),
    # Other numbers
    "zero": Transform(Domain.ELEMENTS | Domain.NUMBERS),
    "number": Transform(Domain.ELEMENTS | Domain.NUMBERS, (float,)),
    "negated": Transform(Domain.ELEMENTS | Domain.NUMBERS),
    "magnitude": Transform(Domain.ELEMENTS),
    "plus": Transform(Domain.PLACES | Domain.NUMBERS, (int,)),
    "times": Transform(Domain.NUMBERS, (int,)),
    "divided": Transform(Domain.NUMBERS, (int,)),
    "low_bits": Transform(Domain.ELEMENTS | Domain.PLACES | Domain.NUMBERS, (int,)),
    "high_bits": Transform(Domain.ELEMENTS, (int,)),
    "sign_extended": Transform(Domain.ELEMENTS, (int,)),
    "rounded": Transform(Domain.ELEMENTS, (str,)),
    "rounded_towards_zero": Transform(Domain.ELEMENTS, (str,)),
    "flushed": Transform(Domain.ELEMENTS),
    "unwrapped": Transform(Domain.ELEMENTS, (str,)),
    "saturated": Transform(Domain.ELEMENTS, (int, str)),
    "integral": Transform(Domain.ELEMENTS),
    "instead": Transform(Domain.ELEMENTS, (str, str)),
    "swapped": Transform(Domain.NUMBERS, (int, int)),
    "reversed": Transform(Domain.NUMBERS),
    "entry": Transform(Domain.NUMBERS, (int,)),
    "with_entry": Transform(Domain.NUMBERS, (int, int)),
    "first_iteration": Transform(Domain.NUMBERS),
    "inner_iteration": Transform(Domain.NUMBERS),
    "adjacent": Transform(Domain.PLACES, (int,)),
    "whole_blocks": Transform(Domain.STATES),
    "unreduced": Transform(Domain.STATES),
    "to_the_end": Transform(Domain.STATES),
    "inside": Transform(Domain.BODIES, (str,)),
    "added": Transform(Domain.WORDS, (str,)),
    "without": Transform(Domain.WORDS, (str,)),
    "repeated": Transform(Domain.COMMANDS),
    "clamped": Transform(Domain.PLACES, (str,)),
    "wide_index": Transform(Domain.PLACES),
    "advancing": Transform(Domain.PLACES, (int,)),
    "once": Transform(Domain.PLACES),
    "in_bounds": Transform(Domain.PLACES),
    "counted": Transform(Domain.NUMBERS, (str, int)),
    "at_most": Transform(Domain.NUMBERS, (int,)),
    "beside": Transform(Domain.ELEMENTS, (str, str, str)),
}

#: Parts of the case: 32-bit operands of all instructions, the number of workgroups that run, and the bytes that
#: conversions leave between lines.
OPERANDS, WORKGROUPS, BETWEEN = "operands", "workgroups", "between"

#: The place of what the whole case has, as its float controls. Conversion n is at OF_CASE - 1 - n.
OF_CASE = -1

#: Numbers of a kind: `least` is the least integer, `smallest` the least normal float, `top` the greatest number.
_CLASSES = ("nan", "infinity", "zero", "negative_zero", "denormal", "negative", "overflow", "least", "smallest", "top")

#: Numbers whose exponential, exponential of the double, or square is beyond their type.
_FAR = ("exp_overflows", "exp_of_twice_overflows", "square_overflows")

#: Operations in bodies: those of `cts.case.model.expression`, of which words of Python end in an underscore.
_INSIDE = (
    "neg", "abs", "exp", "invert", "not_", "add", "sub", "mul", "div", "mod", "and_", "or_", "xor", "shl", "shr", "min",
    "max", "lt", "le", "gt", "ge", "eq", "ne", "both", "either", "select", "convert", "bitcast", "call",
)  # fmt: skip

#: The words that arguments of transforms may be; () for other arguments.
WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "clamped": (("as_load", "low_alone", "high_alone", "once", "truncated", "edge_twice", "odd_period", "by_span"),),
    "instead": (_CLASSES, ("zero", "negative_zero", "one", "nan", "infinity", "greatest", "negated")),
    "beside": ((), (*_CLASSES, *_FAR), ("zero", "one", "nan", "infinity", "greatest", "negated")),
    "counted": (("wg_x", "wg_y", "wg_z", "sg", "loop"), ()),
    "saturated": ((), ("both", "greatest", "least")),
    "dealt": (("tiles_4x4", "tiles_8x8", "tiles_16x8", "rows", "columns"),),
    "inside": (_INSIDE,),
    "unwrapped": (("IAdd", "ISub", "IMul", "SNegate"),),
}


class Step(NamedTuple):
    """A transform of the vocabulary with its arguments."""

    name: str
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Deviation:
    """What the instruction at a place of the program, or the case (OF_CASE), does wrong in one of its parts.

    `steps` are transforms, applied in turn; or the part is a field that is no number, and `word` is its other value.
    """

    place: int
    part: str
    steps: tuple[Step, ...] = ()
    word: str = ""


#: Members of the states behind tensor layouts and views, which instructions that make these may leave wrong. As parts
#: they have STATE before their name: some operands are named alike.
STATE = "state_"
LAYOUT_MEMBERS = ("block_size", "layout_dimension", "stride", "offset", "span", "clamp_value")
VIEW_MEMBERS = (
    "view_dimension", "view_stride", "clip_row_offset", "clip_row_span", "clip_col_offset", "clip_col_span",
)  # fmt: skip

#: The parts of instructions that are no fields.
_STATES = tuple(STATE + member for member in (*LAYOUT_MEMBERS, *VIEW_MEMBERS))
PARTS = (KIND, RESULT, ADDRESS, MEMORY, TERMS, BODY, OUTPUTS, *COORDINATES, *_STATES)
