"""Cases that are larger or deeper than any case needs are refused soon, with the limit, and not by an exception."""

from __future__ import annotations

import pytest

from cts.base.errors import BadInput
from cts.case.model import loads_case
from cts.case.model.functions import MAX_CALL_DEPTH
from cts.case.model.resolve import MAX_BUFFERS, MAX_FUNCTIONS, MAX_INSTRUCTIONS

HELPER = "{kind: Helper, parameters: [{name: x, type: uint32}], returns: uint32, body: '%s'}"
BUFFER = "{type: uint32, shape: [2], data: {fill: 1}}"
CONSTANT = (
    "{op: MatrixConstant, id: %s, type: {component: uint16, scope: Subgroup, rows: 2, cols: 8, use: A}, value: 5}"
)


def case(functions: list[str], buffers: int = 1, instructions: int = 1, buffer: str = BUFFER) -> str:
    """A case of so many parts; the functions are called f0, f1 and so on."""
    lines = ["schema: 1", "name: limits", "functions:"]
    lines += [f"  f{n}: {HELPER % body}" for n, body in enumerate(functions)]
    lines += ["buffers:", *(f"  b{n}: {buffer}" for n in range(buffers))]
    lines += ["program:", *(f"  - {CONSTANT % f'm{n}'}" for n in range(instructions))]
    return "\n".join(lines)


def chain(length: int) -> list[str]:
    return ["x", *(f"f{n}(x)" for n in range(length - 1))]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (case(chain(MAX_CALL_DEPTH + 2)), "'f0', which is called, is wrong: functions call one another too deeply"),
        (case(chain(3000)), "3000 functions"),
        (case(["x"] * (MAX_FUNCTIONS + 1)), f"{MAX_FUNCTIONS + 1} functions"),
        (case(["x"], buffers=MAX_BUFFERS + 1), f"{MAX_BUFFERS + 1} buffers"),
        (case(["x"], instructions=MAX_INSTRUCTIONS + 1), f"{MAX_INSTRUCTIONS + 1} instructions"),
        (case(["x"], instructions=20_000), "more than 262144 values"),
        (
            case(["x"], buffer=BUFFER.replace("{fill: 1}", f"{{values: [{'1, ' * 300_000}]}}")),
            "more than 262144 values",
        ),
        (case(["x"], buffer=BUFFER.replace("[2]", f"[{'1, ' * 17}]")), "of length <= 16"),
        (case(["x"], buffer=BUFFER.replace("{fill: 1}", f"{{iota: {{step: {2**64}}}}}")), "Expected `int`"),
        (case(["x"], buffer=BUFFER.replace("{fill: 1}", f"{{iota: {{step: -{10**30}}}}}")), "Expected `int`"),
        (case(["-" * 3000 + "x"]), "the body is "),
        (case(["-" * 1_000_000 + "x"]), "the body is "),
        (case(["x" + "+x" * 100_000]), "the body is "),
        (case(["(" * 3000 + "x" + ")" * 3000]), "too many nested parentheses"),
        (case(["1" * 100_000]), "not an expression"),
    ],
)
def test_too_much_is_bad_input(text: str, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        loads_case(text, "f.yaml")
    error = caught.value
    assert what in error.what
    assert error.where.startswith("f.yaml:") and error.remedy


def test_as_much_as_is_allowed_is_read() -> None:
    functions = [*chain(MAX_CALL_DEPTH), *["x"] * (MAX_FUNCTIONS - MAX_CALL_DEPTH)]
    assert len(loads_case(case(functions, MAX_BUFFERS, MAX_INSTRUCTIONS)).functions) == MAX_FUNCTIONS
