"""Instructions of the same kind that a driver may confuse with an instruction, where no deviation says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import structs

from cts.case import model

#: What is different, the facts that forbid it, and the instruction that differs.
Alternatives: TypeAlias = Iterator[tuple[str, tuple[str, ...], model.AnyInstruction]]


def alternatives(i: Any) -> Alternatives:
    """The instructions that differ from an instruction in the order or the choice of what it lists."""
    fields = i.__struct_fields__
    if "permutation" in fields:
        permutation = tuple(int(str(model.constant_of(p))) for p in i.permutation)
        inverse = tuple(permutation.index(n) for n in range(len(permutation)))
        for text, other in (("was inverted", inverse), ("did not permute", tuple(range(len(permutation))))):
            if other != permutation:
                changed = structs.replace(i, permutation=other)
                yield f"{text}: permutation {list(other)}", ("TA-033", "TA-011"), changed
    for field, word in (("matrices", "matrix"), ("scalars", "scalar")):
        items = getattr(i, field, ())
        if len(set(map(str, items))) > 1:
            yield f"had its extra {field} in reverse", ("CM-030",), structs.replace(i, **{field: items[::-1]})
        first = (i.matrix if field == "matrices" else items[0],) * len(items) if items else ()
        if first != items:
            yield f"had its first {word} for every extra one", ("CM-030",), structs.replace(i, **{field: first})
    if len(getattr(i, "parts", ())) > 1:
        yield "had its parts in reverse", ("CV-011",), structs.replace(i, parts=i.parts[::-1])
