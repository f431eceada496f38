"""A case's features as short phrases, for coverage, for novelty, and for features that failing cases share.

"MatrixReduce mode Row" says that some MatrixReduce has the mode Row; "mode Row" that some instruction has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from msgspec import structs

from cts.case.model import Case, Instruction
from cts.features.attributes import NUMBER, OPERAND, TRUTH, WORD, Attribute
from cts.features.instructions import attributes_of
from cts.features.sites import Ordered, Site, view

#: Attributes of what an instruction refers to that are worth saying.
_OF_OTHERS = {
    "Value": ("component", "use", "scope"),
    "Memory": ("component", "storage", "opaque"),
    "Layout": ("clamp", "has_dimensions"),
    "Function": ("kind", "extras", "loops"),
}

#: Attributes that say the same of many instructions, or what another phrase says, and those that the oracle computes:
#: every case that is judged is asked for its phrases.
_LEFT_OUT = frozenset(
    {
        "op", "inputs", "around", "depth", "numbers", "behind_return", "text", "names", "operations", "written",
        "reach", "written_by", "read_by", "modes", "input_type", "everywhere", "branches", "block", "zero",
    }
)  # fmt: skip

#: Operands with so few possible values that a phrase includes the value.
_SMALL = frozenset({"dim", "permutation"})


def phrases(case: Case) -> frozenset[str]:
    """All phrases of a case."""
    root = view(case)
    texts: set[str] = set(_phrases_of(root, ""))
    counts: Counter[str] = Counter()
    for site in root.sites("Instruction"):
        counts[site.kind] += 1
        texts.add(site.kind)
        for phrase in _phrases_of(site, ""):
            texts |= {phrase, f"{site.kind} {phrase}"}
    texts |= {f"several {op}" for op, count in counts.items() if count > 1}
    for function in root.sites("Function"):
        kind = type(function.of).__name__
        texts.add(f"a {kind} function")
        texts |= {f"{kind} {phrase}" for phrase in _phrases_of(function, "")}
        texts |= {f"operation {e['operation'][0]}" for e in function.sites("Expression") if e["operation"]}
    for memory in root.sites("Memory"):
        texts |= {f"memory {phrase}" for phrase in _phrases_of(memory, "")}
    if case.conversions:
        texts.add("conversions of matrices")
    return frozenset(texts)


def _phrases_of(site: Site, prefix: str) -> Iterator[str]:
    """The phrases of a site: from its own attributes, and from the attributes of sites that it refers to."""
    for name, attribute in attributes_of(site.kind).items():
        if name in _LEFT_OUT:
            continue
        values = site[name]
        if values is None:
            continue
        if attribute.kind in _OF_OTHERS:
            if name in _optional(site):
                yield f"with {prefix}{name}"
            for other in values:
                for inner in _OF_OTHERS[attribute.kind]:
                    yield from _plain(f"{prefix}{name}.{inner}", attributes_of(other.kind)[inner], other[inner])
        elif attribute.kind == OPERAND:
            for operand in values:
                yield f"{prefix}{name} {operand['by'][0]}"
                yield from (f"{prefix}{name} by {factor}" for factor in operand["varies"] or ())
        else:
            yield from _plain(f"{prefix}{name}", attribute, values)


def _optional(site: Site) -> frozenset[str]:
    """Fields of an instruction that need not be there."""
    return _optional_fields(type(site.of.instruction)) if isinstance(site.of, Ordered) else frozenset()


@cache
def _optional_fields(kind: type[Instruction]) -> frozenset[str]:
    return frozenset(field.name for field in structs.fields(kind) if field.default is None)


def _plain(name: str, attribute: Attribute, values: tuple[object, ...] | None) -> Iterator[str]:
    if attribute.kind == WORD:
        yield from (f"{name} {value}" for value in values or ())
    elif attribute.kind == TRUTH:
        yield from (name for value in values or () if value)
    elif attribute.kind == NUMBER and name in _SMALL:
        yield from (f"{name} {value}" for value in values or ())
    elif attribute.kind == NUMBER and name in ("workgroups", "subgroups", "y", "z", "times"):
        yield from (f"several {name}" for value in values or () if isinstance(value, int) and value > 1)
