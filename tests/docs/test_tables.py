"""Tables of docs/writing-a-case.md against the model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from cts.case.model import AnyInstruction, Arithmetic, ComponentType, Conversion, CopyPath, FloatControls, MulAddOperand
from cts.case.model.buffer import Data

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "writing-a-case.md").read_text(encoding="utf-8")


def test_every_instruction_has_a_row_with_its_fields() -> None:
    table = PAGE.partition("## Instructions")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| ([A-Z]\w+) \| ([\w, ()]+) \|$", table, re.MULTILINE))
    fields = {i.__name__: ", ".join(sorted(i.__struct_fields__)) or "(nothing)" for i in get_args(AnyInstruction)}
    assert {name: ", ".join(sorted(f.split(", "))) for name, f in rows.items()} == fields


def test_every_component_type_and_source_of_data_is_named() -> None:
    assert ", ".join(t.value for t in ComponentType) in " ".join(PAGE.split())
    for source in Data.__struct_fields__:
        assert f"| `{source}: " in PAGE


def test_every_choice_of_an_instruction_is_named() -> None:
    text = " ".join(PAGE.split())
    for kind in (MulAddOperand, Arithmetic, Conversion, CopyPath, FloatControls):
        for choice in kind:
            assert choice.value in text, choice
