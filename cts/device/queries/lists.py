"""Statements about arrays that commands fill: results, counts, and what is written."""

from __future__ import annotations

from collections.abc import Iterator

from cts.device.queries.answers import Answers, Call, Listing
from cts.device.queries.statement import Broken, Condition, statement

SUCCESS, INCOMPLETE = 0, 5
_RESULTS = {0: "VK_SUCCESS", 5: "VK_INCOMPLETE"}

#: The commands without which an extension is of no use, and the sType of their elements.
S_TYPES = {
    "MatrixPropertiesKHR": 1000506001,
    "MatrixFlexibleDimensionsPropertiesNV": 1000593001,
    "MatrixProperties2EXT": 1000659002,
    "VectorPropertiesNV": 1000491002,
    "MatrixPropertiesNV": 1000249001,
}
_HEADER = ("sType", "pNext")


def _of_lists() -> tuple[str, Condition]:
    return "a list of matrices or vectors", lambda a: bool(a.lists)


def _result(number: int) -> str:
    return _RESULTS.get(number, f"VkResult {number}")


def _calls(answers: Answers) -> Iterator[tuple[Listing, Call, int, str]]:
    """Each call with an array, the array's length, and the call in words."""
    for listing in answers.lists:
        for call in listing.calls:
            if call.length is not None:
                yield listing, call, call.length, f"{listing.about} with an array of {call.length}"


def _members(element: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in element.items() if name not in _HEADER}


@statement("DQ-001", *_of_lists())
def the_number_is_returned_without_an_array(answers: Answers) -> Iterator[Broken]:
    for listing in answers.lists:
        if not listing.calls:
            yield Broken(listing.command, "no such command", "a command of the extension that the device lists")
        for call in listing.calls:
            if call.length is None and call.result != SUCCESS:
                yield Broken(f"{listing.about} without an array", _result(call.result), "VK_SUCCESS")


@statement("DQ-002", *_of_lists())
def a_short_array_is_incomplete(answers: Answers) -> Iterator[Broken]:
    for listing, call, length, where in _calls(answers):
        if length < listing.total and call.result != INCOMPLETE:
            yield Broken(where, _result(call.result), f"VK_INCOMPLETE, for there are {listing.total}")


@statement("DQ-003", *_of_lists())
def a_short_array_is_filled(answers: Answers) -> Iterator[Broken]:
    for listing, call, length, where in _calls(answers):
        if length < listing.total and call.result in _RESULTS and call.count != length:
            yield Broken(where, f"a count of {call.count}", f"{length}, as many as are written")


@statement("DQ-004", *_of_lists())
def a_long_array_gets_all(answers: Answers) -> Iterator[Broken]:
    for listing, call, length, where in _calls(answers):
        if length >= listing.total and (call.result, call.count) != (SUCCESS, listing.total):
            reported = f"{_result(call.result)} and a count of {call.count}"
            yield Broken(where, reported, f"VK_SUCCESS and a count of {listing.total}")


@statement("DQ-005", *_of_lists())
def nothing_is_written_behind_the_count(answers: Answers) -> Iterator[Broken]:
    for _, call, length, where in _calls(answers):
        for place in range(min(call.count, length), len(call.elements)):
            written = {n: v for n, v in _members(call.elements[place]).items() if v != answers.pattern}
            if written:
                name, value = next(iter(written.items()))
                right = f"what was there before: only {min(call.count, length)} elements are counted"
                yield Broken(f"{where}, element {place}", f"{name} {value}", right)


@statement("DQ-006", *_of_lists())
def what_is_counted_is_written(answers: Answers) -> Iterator[Broken]:
    for _, call, length, where in _calls(answers):
        for place, element in enumerate(call.elements[: min(call.count, length)]):
            left = [n for n, v in _members(element).items() if v == answers.pattern]
            if left:
                right = "a value, for the element is counted as written"
                yield Broken(f"{where}, element {place}", f"nothing written to {', '.join(left)}", right)


@statement("DQ-007")
def headers_are_left_alone(answers: Answers) -> Iterator[Broken]:
    for listing, call, _, where in _calls(answers):
        s_type = S_TYPES.get(listing.command.partition("Cooperative")[2])
        for place, element in enumerate(call.elements):
            header = element.get("sType"), element.get("pNext")
            if header != (s_type, 0):
                reported = f"sType {header[0]} and pNext {header[1]}"
                yield Broken(f"{where}, element {place}", reported, f"sType {s_type} and pNext 0, as they were given")
    for name, structure in answers.structures[0].items():
        if not structure.kept:
            yield Broken(name, "sType, pNext or memory behind the structure has changed", "what was there before")


@statement("DQ-008", *_of_lists())
def lists_do_not_change(answers: Answers) -> Iterator[Broken]:
    for listing in answers.lists:
        for call in listing.calls:
            if call.length is None and call.result == SUCCESS and call.count != listing.total:
                where = f"{listing.about} without an array, again"
                yield Broken(where, f"{call.count} elements", f"{listing.total}, as in the first call")
    for listing, call, length, where in _calls(answers):
        whole = length >= listing.total and call.result == SUCCESS
        if whole and call.elements[: call.count] != listing.rows and call.count == listing.total:
            yield Broken(where, "other elements than in another call", "the same elements in the same order")


@statement("DQ-009", *_of_lists())
def a_part_is_of_the_whole(answers: Answers) -> Iterator[Broken]:
    for listing, call, length, where in _calls(answers):
        for place, element in enumerate(call.elements[: min(call.count, length)]):
            if length < listing.total and element not in listing.rows:
                what = ", ".join(f"{n} {v}" for n, v in _members(element).items())
                yield Broken(f"{where}, element {place}", what, "one of the elements that the whole list has")


@statement("DQ-010")
def structures_do_not_change(answers: Answers) -> Iterator[Broken]:
    first, second = answers.structures
    for name, structure in first.items():
        again = second[name].members if name in second else {}
        for member, value in structure.members.items():
            if again.get(member) != value:
                yield Broken(f"{name}::{member}", f"{value}, then {again.get(member)}", "the same value both times")
