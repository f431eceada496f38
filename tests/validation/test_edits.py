"""Edits of lines: what each kind does, and what is said of those that do not fit."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.modules.validation.edits import Edit, edited

LINES = [
    "; Version: 1.6",
    "OpCapability Shader",
    "%uint = OpTypeInt 32 0",
    "%uint_1 = OpConstant %uint 1",
    "%uint_16 = OpConstant %uint 16",
    "%main = OpFunction %void None %f",
    "%s = OpIAdd %uint %uint_1 %uint_16",
    "OpReturn",
]


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (Edit(replace="OpIAdd %uint %uint_1", by="OpISub %uint %uint_16"), {6: "%s = OpISub %uint %uint_16 %uint_16"}),
        (Edit(replace="; Version: 1.6", by="; Version: 1.5"), {0: "; Version: 1.5"}),
        (Edit(replace="OpIAdd %uint %uint_1", by="OpIAdd"), {6: "%s = OpIAdd %uint_16"}),
    ],
)
def test_a_part_of_a_line_is_replaced(edit: Edit, changed: dict[int, str]) -> None:
    assert edited(LINES, [edit], "x") == [changed.get(n, line) for n, line in enumerate(LINES)]


def test_lines_are_removed_and_inserted() -> None:
    edits = [
        Edit(remove="OpCapability Shader"),
        Edit(insert="OpA\n  OpB\n", before="OpReturn"),
        Edit(insert="OpC", after="OpReturn"),
    ]
    assert edited(LINES, edits, "x") == [LINES[0], *LINES[2:7], "OpA", "OpB", "OpReturn", "OpC"]


def test_constants_are_defined_where_they_are_needed() -> None:
    edit = Edit(replace="%uint_1 %uint_16", by="%uint_7 %uint_16")
    assert edited(LINES, [edit], "x")[5:7] == ["%uint_7 = OpConstant %uint 7", LINES[5]]
    edit = Edit(insert="%t = OpTypeVector %uint_5\n%u = OpTypeVector %uint_n5", after="%uint_1 =")
    found = edited(LINES, [edit], "x")
    assert found[4:8] == [
        "%uint_5 = OpConstant %uint 5",
        "%t = OpTypeVector %uint_5",
        "%uint_n5 = OpConstant %uint -5",
        "%u = OpTypeVector %uint_n5",
    ]
    # Of a type that is not there nothing can be made.
    assert "%int_7" in " ".join(edited(LINES, [Edit(replace="%uint_1 %uint_16", by="%int_7 %uint_16")], "x"))


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (Edit(remove="OpStore"), "no line of the module has 'OpStore'"),
        (Edit(remove="%uint"), "4 lines of the module have '%uint'"),
        (Edit(remove="OpIAd"), "no line"),
        (Edit(remove=""), "no line"),
        (Edit(), "nothing"),
        (Edit(replace="OpReturn"), "replace"),
        (Edit(remove="OpReturn", by="OpKill"), "by, remove"),
        (Edit(insert="OpKill"), "insert"),
        (Edit(insert="OpKill", before="OpReturn", after="OpReturn"), "after, before, insert"),
    ],
)
def test_an_edit_that_does_not_fit_is_named(edit: Edit, what: str) -> None:
    with pytest.raises(BadInput, match=what) as e:
        edited(LINES, [Edit(replace="OpReturn", by="OpReturn"), edit], "file: rules.x.broken")
    assert e.value.where == "file: rules.x.broken[1]" and e.value.remedy
