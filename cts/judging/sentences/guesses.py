"""Guesses at a failure, and the writer of its first wrong byte, in words."""

from __future__ import annotations

import numpy as np

from cts.case.model import ComponentType, decode
from cts.case.oracle.trace import Writer, WriterUnknown, WrittenByConversion, WrittenByInstruction, WrittenByNone
from cts.judging import guesses
from cts.judging.number_classes import NumberClass


def writer_text(writer: Writer) -> str:
    """The writer of the first wrong byte, in words."""
    match writer:
        case WrittenByInstruction(instruction, op, place):
            row = "" if place.row is None else f"row {place.row}, "
            part = "component" if place.row is None else "column"
            return f"stored by program[{instruction}] ({op}), instance {place.instance}, {row}{part} {place.col}"
        case WrittenByConversion(conversion, row, col):
            return f"written by conversions[{conversion}], row {row}, column {col}"
        case WrittenByNone():
            return "no instruction may write there"
        case WriterUnknown(offset, error):
            return f"no address steps: the oracle failed to trace byte {offset}: {error}"


def guess_text(guess: guesses.Guess) -> str:
    """The guess as a sentence."""
    match guess:
        case guesses.WrongBeforeStore(place=place):
            at = f"component {place.col}" if place.row is None else f"row {place.row}, column {place.col}"
            return (
                f"{guess.type} {place.of} is already wrong before it is stored: {guess.wrong} of {guess.total} "
                f"elements, first at instance {place.instance}, {at}"
            )
        case guesses.RightBeforeStore():
            return f"every {guess.type} is right; the store is wrong"
        case guesses.BufferOverrun():
            return _overrun_text(guess)
        case guesses.NumbersOfAClass(buffer, kind, count, wrong):
            return class_text(kind, count, wrong, buffer)
        case guesses.ElementsNotWritten(buffer, half):
            where = f", all in the {half} half" if half else ""
            return f"the differing elements of {buffer} were not written: they hold their old values{where}"
        case guesses.ElementsWritten(buffer):
            return f"the differing elements of {buffer} should not have been written"
        case guesses.PartlyWritten(buffer, not_written, written):
            parts = ((not_written, "were not written"), (written, "should not have been written"))
            counts = " and ".join(f"{count} {noun}" for count, noun in parts if count)
            return f"of the differing elements of {buffer}, {counts}"
        case guesses.OneValueEverywhere(buffer, component, bits):
            return f"every differing element of {buffer} holds {value_text(component, bits)}"
        case guesses.BufferTransposed(buffer):
            return f"{buffer} is transposed: rows and columns have changed places"
        case guesses.BufferShifted(buffer, distance):
            direction = "high" if distance > 0 else "low"
            return f"values of {buffer} stand {abs(distance)} elements too {direction}: shifted by {distance}"
        case guesses.ElementReadInstead(buffer, element, source, read, right, alone):
            where = f"{buffer}[{element}] holds the value of {source}[{read}] instead of {source}[{right}]"
            return f"{where} (weak: one element shows it)" if alone else where
        case guesses.ReadAtDistance(source, distance, elements):
            late = "after" if distance > 0 else "before"
            return f"all {elements} elements of {source} are read {abs(distance)} {late} the right ones"
        case guesses.ReadInOtherSteps(buffer, source, read, right):
            return (
                f"{source} is read in steps of {read[0]} per row and {read[1]} per column of {buffer} "
                f"instead of {right[0]} and {right[1]}"
            )


#: Which elements are of a class of numbers, behind "12 of 16 wrong elements of d".
_CLASSES = {
    NumberClass.SIGN_OF_ZERO: "differ in the sign of zero alone",
    NumberClass.EXPECTED_NAN: "should be NaN",
    NumberClass.ACTUAL_NAN: "are NaN, and should be numbers",
    NumberClass.INFINITIES: "are infinite, or should be",
    NumberClass.DENORMALS: "are denormal, or should be",
    NumberClass.TIES: "are ties: the exact result is halfway between two numbers",
    NumberClass.SATURATION: "should be the greatest or least number of their type",
}


def class_text(kind: NumberClass, count: int, wrong: int, of: str) -> str:
    """How many wrong elements of a buffer or matrix are of a class of numbers.

    >>> class_text(NumberClass.TIES, 3, 3, "m")
    'all 3 wrong elements of m are ties: the exact result is halfway between two numbers'
    """
    some = f"all {wrong}" if count == wrong else f"{count} of {wrong}"
    return f"{some} wrong elements of {of} {_CLASSES[kind]}"


def _overrun_text(guess: guesses.BufferOverrun) -> str:
    """Overwritten bytes, among all bytes from the nearest to the farthest one."""
    near, far = (guess.first, guess.last) if guess.past_end else (-1 - guess.last, -1 - guess.first)
    span = far - near + 1
    these = f"{span} byte{'s' if span > 1 else ''} {'after' if guess.past_end else 'before'} {guess.buffer}"
    these += f", {near} bytes away from it," if near else ""
    return (
        f"{f'{guess.count} of the ' if guess.count < span else ''}{these} {'was' if span == 1 else 'were'} overwritten"
    )


def value_text(component: ComponentType, bits: int) -> str:
    """Bits and the value behind them.

    >>> value_text(ComponentType.float16, 0x3C00)
    '0x3c00 (1.0)'
    """
    value = decode(component, np.array([bits], component.bits_dtype))[0]
    shown = float(value) if component.is_float else int(value)
    return f"0x{bits:0{2 * component.size}x} ({shown})"
