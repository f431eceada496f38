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
    #: The conversions of a case.
    COMMANDS = enum.auto()


@dataclass(frozen=True)
class Transform:
    """One entry of the vocabulary: what it applies to, its parameters, and its words."""

    domain: Domain
    parameters: tuple[type, ...]
    words: str


_MOVED = Domain.ELEMENTS | Domain.PLACES
_PARTLY = Domain.ELEMENTS | Domain.TERMS

#: The vocabulary, by name.
TRANSFORMS: dict[str, Transform] = {
    # Other elements
    "transposed": Transform(_MOVED, (), "rows and columns change places, of square matrices"),
    "transposed_blocks": Transform(_MOVED, (int,), "rows and columns change places within blocks of N by N"),
    "first": Transform(_MOVED, (), "the first element stands for all"),
    "first_row": Transform(_MOVED, (), "the first row stands for all"),
    "first_column": Transform(_MOVED, (), "the first column stands for all"),
    "moved_rows": Transform(_MOVED, (int,), "row r is row r + N, modulo their number"),
    "moved_columns": Transform(_MOVED, (int,), "column c is column c + N, modulo their number"),
    "reversed_rows": Transform(_MOVED, (), "the rows in reverse order"),
    "reversed_columns": Transform(_MOVED, (), "the columns in reverse order"),
    "rows_below": Transform(_MOVED, (int,), "row r is row r modulo N"),
    "columns_below": Transform(_MOVED, (int,), "column c is column c modulo N"),
    "columns_by_rows": Transform(_MOVED, (), "column c is column c modulo the number of rows"),
    "rows_by_columns": Transform(_MOVED, (), "row r is row r modulo the number of columns"),
    "swapped_halves": Transform(_MOVED, (), "the first and the second half of the columns change places"),
    "first_instance": Transform(_MOVED | Domain.NUMBERS, (), "the first subgroup's or invocation's stands for all"),
    "last_instance": Transform(_MOVED | Domain.NUMBERS, (), "the last subgroup's or invocation's stands for all"),
    "instance_before": Transform(_MOVED | Domain.NUMBERS, (), "that of the subgroup or invocation before"),
    "first_of_each": Transform(_MOVED | Domain.NUMBERS, (int,), "the first of each N instances stands for all of them"),
    # Elements as they were
    "before": Transform(
        Domain.ELEMENTS | Domain.NUMBERS | Domain.BYTES,
        (),
        "as before the instruction: a result unset (0) or of the last iteration, memory not stored to, a member of a "
        "state unchanged; of the memory that a load sees, as before the last store",
    ),
    "initial": Transform(Domain.BYTES, (), "as memory was before the dispatch"),
    "later": Transform(
        Domain.BYTES, (int,), "as memory is behind the next N writes to the buffer, or where the loaded value is used"
    ),
    "before_from_row": Transform(_PARTLY, (int,), "as before the instruction from row N on"),
    "before_from_column": Transform(_PARTLY, (int,), "as before the instruction from column N on"),
    "before_from_instance": Transform(Domain.ELEMENTS, (int,), "as before the instruction from instance N on"),
    "before_beyond_rows": Transform(_PARTLY, (int,), "as before in rows beyond the last multiple of N"),
    "before_beyond_columns": Transform(_PARTLY, (int,), "as before in columns beyond the last multiple of N"),
    "before_in_last_row": Transform(_PARTLY, (), "as before the instruction in the last row"),
    "before_in_last_column": Transform(_PARTLY, (), "as before the instruction in the last column"),
    "diagonal": Transform(Domain.TERMS, (), "those in row n and column n alone"),
    "padded": Transform(
        Domain.TERMS,
        (int,),
        "with N zeros more (0: up to a power of two) of rows, of columns, that are no power of two",
    ),
    "last_of_each": Transform(
        Domain.ELEMENTS, (int,), "of additions to one place by each N instances, that of the last one alone"
    ),
    "undivided": Transform(
        Domain.ELEMENTS, (int,), "of a result: 0 in each N instances of which some do not take the instruction"
    ),
    "alike": Transform(Domain.ELEMENTS, (), "what the last instruction before gave that differs in its result alone"),
    "operand": Transform(Domain.ELEMENTS, (str,), "the instruction's operand of this name"),
    "made_of": Transform(
        Domain.ELEMENTS, (str,), "of an operand: what the instruction that made it had as its operand of this name"
    ),
    "unmade": Transform(
        Domain.ELEMENTS,
        (str,),
        "of an operand, or of several: what an instruction of this kind (or any `Instruction`) that made it had as "
        "its first operand of this type and shape",
    ),
    "cleared": Transform(Domain.ELEMENTS, (), "an operand is 0 once the instruction has run"),
    "signed_as": Transform(Domain.OPERANDS, (str,), "integers are signed if those of the operand of this name are"),
    "overwritten": Transform(Domain.ELEMENTS, (), "an operand is the result once the instruction has run"),
    "accumulated": Transform(
        Domain.ELEMENTS, (int,), "the C of a product is, once it has run, the sum without the last N columns of A"
    ),
    "tile_alone": Transform(
        Domain.ELEMENTS,
        (int,),
        "of a reduction along rows (columns), rows (columns) of the Ith tile of N by N but the first are made of the "
        "Ith tile of the matrix alone",
    ),
    "apart": Transform(Domain.ELEMENTS, (), "equal elements need not be equal, each within its bounds"),
    # Other numbers
    "zero": Transform(Domain.ELEMENTS | Domain.NUMBERS, (), "0"),
    "number": Transform(Domain.ELEMENTS | Domain.NUMBERS, (float,), "this number"),
    "negated": Transform(Domain.ELEMENTS | Domain.NUMBERS, (), "with the other sign"),
    "magnitude": Transform(Domain.ELEMENTS, (), "without its sign"),
    "plus": Transform(Domain.PLACES | Domain.NUMBERS, (int,), "N more (of places: N elements further)"),
    "times": Transform(Domain.NUMBERS, (int,), "N times as much"),
    "divided": Transform(Domain.NUMBERS, (int,), "divided by N, rounded down"),
    "low_bits": Transform(
        Domain.ELEMENTS | Domain.PLACES | Domain.NUMBERS, (int,), "the N low bits alone (of places: of their index)"
    ),
    "high_bits": Transform(Domain.ELEMENTS, (int,), "the N high bits alone"),
    "sign_extended": Transform(Domain.ELEMENTS, (int,), "the N low bits, extended by the highest of them"),
    "rounded": Transform(Domain.ELEMENTS, (str,), "rounded to a component type in between, or to that of the `result`"),
    "rounded_towards_zero": Transform(Domain.ELEMENTS, (str,), "the same, rounded towards zero"),
    "flushed": Transform(Domain.ELEMENTS, (), "denormals are zeros of their sign"),
    "integral": Transform(Domain.ELEMENTS, (), "without its fraction"),
    "instead": Transform(Domain.ELEMENTS, (str, str), "numbers of a class as another number"),
    "swapped": Transform(Domain.NUMBERS, (int, int), "entries N and M change places"),
    "reversed": Transform(Domain.NUMBERS, (), "entries in reverse order"),
    "entry": Transform(Domain.NUMBERS, (int,), "entry N stands for all"),
    "with_entry": Transform(Domain.NUMBERS, (int, int), "entry N is the number M"),
    "first_iteration": Transform(Domain.NUMBERS, (), "as in the first iteration of the loops around it"),
    "inner_iteration": Transform(Domain.NUMBERS, (), "by the index of the inner loop instead of the outer one's"),
    "adjacent": Transform(Domain.PLACES, (int,), "of each N columns the others follow the first one in memory"),
    "whole_blocks": Transform(
        Domain.STATES,
        (),
        "of `state_stride`: as if the last block of a dimension, where it is no whole one, was not there",
    ),
    "unreduced": Transform(
        Domain.STATES, (), "of `state_view_dimension`: the outermost digit of an index is not reduced by it"
    ),
    "to_the_end": Transform(
        Domain.STATES, (), "of the span of a clip: no more than is left to 2^32 - 1 behind its offset"
    ),
    "repeated": Transform(Domain.COMMANDS, (), "those before the first dispatch are done before each dispatch"),
    "as_load": Transform(Domain.PLACES, (), "of a tensor store: as a load has them, clamped into bounds"),
    "in_bounds": Transform(Domain.PLACES, (), "elements out of bounds are accessed all the same"),
}

#: The place of what the whole case has, as its float controls. Conversion n is at OF_CASE - 1 - n.
OF_CASE = -1

#: The classes of `instead`, and what may stand in their place. `least` is the least integer.
CLASSES = ("nan", "infinity", "zero", "negative_zero", "denormal", "negative", "overflow", "least")
INSTEAD = ("zero", "negative_zero", "one", "nan", "infinity", "greatest", "negated")


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
