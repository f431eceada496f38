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
    match i:
        case model.TensorView():
            permutation = tuple(int(str(model.constant_of(p))) for p in i.permutation)
            inverse = tuple(permutation.index(n) for n in range(len(permutation)))
            for text, other in (("was inverted", inverse), ("did not permute", tuple(range(len(permutation))))):
                if other != permutation:
                    changed = structs.replace(i, permutation=other)
                    yield f"{text}: permutation {list(other)}", ("TA-033", "TA-011"), changed
        case model.MatrixPerElement():
            for field, words in (("matrices", "matrices"), ("scalars", "scalars")):
                items = getattr(i, field)
                if len(set(map(str, items))) > 1:
                    yield f"had its extra {words} in reverse", ("CM-030",), structs.replace(i, **{field: items[::-1]})
                instead = i.matrix if field == "matrices" else next(iter(items), None)
                if items and set(items) != {instead}:
                    changed = structs.replace(i, **{field: (instead,) * len(items)})
                    yield f"had its first {words[:-1]} for every extra one", ("CM-030",), changed
        case model.VectorConstruct() if len(i.parts) > 1:
            yield "had its parts in reverse", ("CV-011",), structs.replace(i, parts=i.parts[::-1])
        case _:
            return
