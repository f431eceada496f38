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
    """One entry of the vocabulary: what it applies to, its parameters, and how a part is that it made wrong.

    The words follow `is`, with the arguments by number. docs/deviations.md says what it does.
    """

    domain: Domain
    parameters: tuple[type, ...] = ()
    words: str = ""


_MOVED = Domain.ELEMENTS | Domain.PLACES
_PARTLY = Domain.ELEMENTS | Domain.TERMS

#: The vocabulary, by name.
TRANSFORMS: dict[str, Transform] = {
    # Other elements
    "transposed": Transform(_MOVED, words="transposed"),
    "transposed_blocks": Transform(_MOVED, (int,), "transposed within blocks of {0} by {0}"),
    "first": Transform(_MOVED, words="its first element everywhere"),
    "first_row": Transform(_MOVED, words="its first row everywhere"),
    "first_column": Transform(_MOVED, words="its first column everywhere"),
    "moved_rows": Transform(_MOVED, (int,), "moved by {0} rows"),
    "moved_columns": Transform(_MOVED, (int,), "moved by {0} columns"),
    "reversed_rows": Transform(_MOVED, words="in reverse order of rows"),
    "reversed_columns": Transform(_MOVED, words="in reverse order of columns"),
    "rows_below": Transform(_MOVED, (int,), "repeated after {0} rows"),
    "columns_below": Transform(_MOVED, (int,), "repeated after {0} columns"),
    "columns_by_rows": Transform(_MOVED, words="that of column c modulo the number of rows"),
    "rows_by_columns": Transform(_MOVED, words="that of row r modulo the number of columns"),
    "swapped_halves": Transform(_MOVED, words="with both halves of its columns swapped"),
    "first_instance": Transform(_MOVED | Domain.NUMBERS | Domain.BYTES, words="that of the first instance"),
    "last_instance": Transform(_MOVED | Domain.NUMBERS, words="that of the last instance"),
    "instance_before": Transform(_MOVED | Domain.NUMBERS, words="that of the instance before"),
    "first_of_each": Transform(_MOVED | Domain.NUMBERS, (int,), "that of the first of each {0} instances"),
    "columns_of_each": Transform(_MOVED, (int, int), "of each {0} columns the first {1} alone"),
    "rows_of_each": Transform(_MOVED, (int, int), "of each {0} rows the first {1} alone"),
    "tiles_swapped": Transform(Domain.ELEMENTS, (int,), "with tiles of {0} by {0} in each other's places"),
    # Elements as they were
    "before": Transform(Domain.ELEMENTS | Domain.NUMBERS | Domain.BYTES, words="as before"),
    "initial": Transform(Domain.BYTES, words="as before the dispatch"),
    "earlier": Transform(Domain.BYTES, (int,), "as before the last {0} writes"),
    "later": Transform(Domain.BYTES, (int,), "as behind the next {0} writes"),
    "before_from_row": Transform(_PARTLY, (int,), "as before from row {0} on"),
    "before_from_column": Transform(_PARTLY, (int,), "as before from column {0} on"),
    "before_from_instance": Transform(Domain.ELEMENTS, (int,), "as before from instance {0} on"),
    "before_beyond_rows": Transform(_PARTLY, (int,), "as before beyond the last multiple of {0} rows"),
    "before_beyond_columns": Transform(_PARTLY, (int,), "as before beyond the last multiple of {0} columns"),
    "before_in_second_half": Transform(_PARTLY, words="as before in the second half of the columns"),
    "before_in_last_row": Transform(_PARTLY, words="as before in the last row"),
    "before_in_last_column": Transform(_PARTLY, words="as before in the last column"),
    "dealt": Transform(Domain.ELEMENTS | Domain.NUMBERS, (str,), "by components as {0} are dealt"),
    "diagonal": Transform(Domain.TERMS, words="those of the diagonal alone"),
    "padded": Transform(Domain.TERMS, (int,), "padded with zeros (by {0})"),
    "whole_pieces": Transform(Domain.TERMS, (int,), "read in whole pieces of {0}"),
    "last_of_each": Transform(Domain.ELEMENTS, (int,), "that of the last of each {0} instances alone"),
    "elected": Transform(Domain.ELEMENTS, (int,), "that of the first active one of each {0} instances alone"),
    "in_place": Transform(Domain.ELEMENTS, (str,), "made in the place of its operand {0}"),
    "undivided": Transform(Domain.ELEMENTS, (int,), "0 in each {0} instances that part"),
    "alike": Transform(Domain.ELEMENTS, words="that of the last instruction with other results alone"),
    "operand": Transform(Domain.ELEMENTS, (str,), "its operand {0}"),
    "made_of": Transform(Domain.ELEMENTS, (str,), "the {0} of what made it"),
    "unmade": Transform(Domain.ELEMENTS, (str,), "as before the {0} that made it"),
    "first_alike": Transform(Domain.ELEMENTS, words="that of the first instruction of its kind"),
    "exchanged": Transform(Domain.ELEMENTS, (str,), "exchanged with {0}"),
    "cleared": Transform(Domain.ELEMENTS, words="0 afterwards"),
    "read_as": Transform(Domain.ELEMENTS, (str,), "read as {0}"),
    "of_first": Transform(Domain.NUMBERS | Domain.WORDS, (str,), "that of the first instruction of the same {0}"),
    "signed_as": Transform(Domain.OPERANDS, (str,), "signed as {0}"),
    "overwritten": Transform(Domain.ELEMENTS, words="overwritten by the result"),
    "accumulated": Transform(Domain.ELEMENTS, (int,), "overwritten by the sum without the last {0} columns"),
    "tile_alone": Transform(Domain.ELEMENTS, (int,), "reduced by tiles of {0} alone"),
    "apart": Transform(Domain.ELEMENTS, words="not equal where it should be"),
    # Other numbers
    "zero": Transform(Domain.ELEMENTS | Domain.NUMBERS, words="0"),
    "number": Transform(Domain.ELEMENTS | Domain.NUMBERS, (float,), "{0:g}"),
    "negated": Transform(Domain.ELEMENTS | Domain.NUMBERS, words="negated"),
    "magnitude": Transform(Domain.ELEMENTS, words="without its sign"),
    "plus": Transform(Domain.PLACES | Domain.NUMBERS, (int,), "changed by {0:+}"),
    "times": Transform(Domain.NUMBERS, (int,), "{0} times as much"),
    "divided": Transform(Domain.NUMBERS, (int,), "divided by {0}"),
    "low_bits": Transform(Domain.ELEMENTS | Domain.PLACES | Domain.NUMBERS, (int,), "its {0} low bits"),
    "high_bits": Transform(Domain.ELEMENTS, (int,), "its {0} high bits"),
    "sign_extended": Transform(Domain.ELEMENTS, (int,), "its {0} low bits, extended by their sign"),
    "rounded": Transform(Domain.ELEMENTS, (str,), "rounded to {0}"),
    "rounded_towards_zero": Transform(Domain.ELEMENTS, (str,), "rounded to {0} towards zero"),
    "rounded_away": Transform(Domain.ELEMENTS, (str,), "rounded to {0}, with ties away from zero"),
    "flushed": Transform(Domain.ELEMENTS, words="without denormals"),
    "unwrapped": Transform(Domain.ELEMENTS, (str,), "of what {0} gave before it was cut"),
    "saturated": Transform(Domain.ELEMENTS, (int, str), "saturated ({1}, by {0})"),
    "integral": Transform(Domain.ELEMENTS, words="without its fraction"),
    "instead": Transform(Domain.ELEMENTS, (str, str), "{1} instead of {0}"),
    "swapped": Transform(Domain.NUMBERS, (int, int), "with entries {0} and {1} swapped"),
    "reversed": Transform(Domain.NUMBERS, words="in reverse order"),
    "entry": Transform(Domain.NUMBERS, (int,), "entry {0} for all"),
    "with_entry": Transform(Domain.NUMBERS, (int, int), "with {1} as entry {0}"),
    "first_iteration": Transform(Domain.ELEMENTS | Domain.NUMBERS, words="as in the first iteration"),
    "inner_iteration": Transform(Domain.NUMBERS, words="by the index of the inner loop"),
    "adjacent": Transform(Domain.PLACES, (int,), "adjacent in each {0} columns"),
    "whole_blocks": Transform(Domain.STATES, words="without a last block that is not whole"),
    "to_the_end": Transform(Domain.STATES, words="no more than is left to 2^32 - 1"),
    "inside": Transform(Domain.BODIES, (str,), "of each {0} inside"),
    "added": Transform(Domain.WORDS, (str,), "with {0}"),
    "without": Transform(Domain.WORDS, (str,), "without {0}"),
    "repeated": Transform(Domain.COMMANDS, words="done again before each dispatch"),
    "clamped": Transform(Domain.PLACES, (str,), "clamped otherwise ({0})"),
    "through_view": Transform(Domain.PLACES, (str,), "behind the view otherwise ({0})"),
    "advancing": Transform(Domain.PLACES, (int,), "advancing by {0} bytes"),
    "once": Transform(Domain.PLACES, words="of the first store alone"),
    "in_bounds": Transform(Domain.PLACES, words="not checked against bounds"),
    "counted": Transform(Domain.NUMBERS, (str, int), "{0} in {1} bits"),
    "at_most": Transform(Domain.NUMBERS, (int,), "at most {0}"),
    "unless": Transform(Domain.ELEMENTS, (str, str), "unless {0} is {1}"),
    "from_column": Transform(Domain.ELEMENTS, (int,), "from column {0} on"),
    "from_row": Transform(Domain.ELEMENTS, (int,), "from row {0} on"),
    "beside": Transform(Domain.ELEMENTS, (str, str, str), "{2} if {0} is {1}"),
}

#: Parts of the case: 32-bit operands of all instructions, the number of workgroups that run, and the bytes that
#: conversions leave between lines.
OPERANDS, WORKGROUPS, BETWEEN = "operands", "workgroups", "between"

#: The place of what the whole case has, as its float controls. Conversion n is at OF_CASE - 1 - n.
OF_CASE = -1

#: Numbers of a kind: `least` is the least integer, `smallest` the least normal float, `top` the greatest number.
_CLASSES = (
    "nan", "infinity", "positive_infinity", "negative_infinity", "zero", "negative_zero", "denormal", "negative",
    "overflow", "least", "smallest", "top",
)  # fmt: skip

#: Numbers whose exponential, exponential of the double, or square is beyond their type.
_FAR = ("exp_overflows", "exp_of_twice_overflows", "square_overflows")

#: Operations in bodies: those of `cts.case.model.expression`, of which words of Python end in an underscore.
_INSIDE = (
    "neg", "abs", "exp", "invert", "not_", "add", "sub", "mul", "div", "mod", "and_", "or_", "xor", "shl", "shr", "min",
    "max", "lt", "le", "gt", "ge", "eq", "ne", "both", "either", "select", "convert", "bitcast", "call", "branch",
    "float4_e2m1", "float6_e2m3", "float6_e3m2", "float8_e8m0", "mxint8",
)  # fmt: skip

#: The words that arguments of transforms may be; () for other arguments.
WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "clamped": (("as_load", "low_alone", "high_alone", "once", "truncated", "edge_twice", "odd_period", "by_span"),),
    "instead": (_CLASSES, ("zero", "negative_zero", "one", "nan", "infinity", "greatest", "negated")),
    "beside": ((), (*_CLASSES, *_FAR), ("zero", "one", "nan", "infinity", "greatest", "negated", "itself")),
    "counted": (("wg_x", "wg_y", "wg_z", "sg", "loop"), ()),
    "saturated": ((), ("both", "greatest", "least")),
    "through_view": (("wide", "unreduced", "clipped_first"),),
    "unless": ((), _CLASSES),
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
