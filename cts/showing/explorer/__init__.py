"""The layout explorer: a page, without a server, on what one tensor load or store accesses.

The addresses are computed in the page, by `addressing.js`: by the facts, and by neither oracle nor drivers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cts.base.errors import BadInput
from cts.case import model
from cts.case.model.types import MatrixShape
from cts.case.oracle.expectation import Oracle
from cts.features.coverage.facts import text_of
from cts.findings.pictures.names import MEANINGS, TEXTURE_NAMES
from cts.findings.pictures.svg import HIGH, strokes
from cts.running import corpus
from cts.showing.report.html import rendered

#: Cases of the corpus that the page offers, and what it calls them.
PRESETS = {
    "A tile within a tensor": "tensor_addressing.slice.offsets_accumulate",
    "Beyond the border: the last element again": "tensor_addressing.clamp.edge_high_load",
    "Beyond the border: mirrored": "tensor_addressing.clamp.mirrored_two_rows",
    "Rows with padding": "tensor_addressing.layout.padded_rows",
    "Columns become rows": "tensor_addressing.view.column_major",
    "Windows that overlap": "tensor_addressing.view.sliding_windows",
    "Space to depth": "tensor_addressing.view.space_to_depth",
    "A clip": "tensor_addressing.clip.inner_rectangle",
    "Blocks of two by two": "tensor_addressing.block.two_by_two",
    "Blocks that are decoded": "block_loads.coordinates.slice_inside_a_block",
    "A store beyond the border": "tensor_addressing.store.corner_of_five_dimensions",
}

#: The facts that the page cites.
FACTS = (
    "TA-031", "TA-032", "TA-033", "TA-034", "TA-035", "TA-036", "TA-037", "TA-038", "TA-042",
    "TA-060", "TA-061", "TA-062", "TA-063", "TA-064", "TA-065", "TA-066", "TA-067", "TA-068", "TA-069", "TA-070",
)  # fmt: skip

#: The widths of cells that the page draws, in pixels.
WIDTHS = (26, 34, 42, 50, 66, 90)

#: The most rows or columns of a matrix, and elements of one, as in `programs.js`.
MOST_EXTENT, MOST_ELEMENTS = 256, 4096

SCRIPTS = ("addressing.js", "programs.js", "drawing.js", "form.js")


def page(oracle: Oracle, case: model.Case | None = None, instruction: int | None = None) -> str:
    """The page as one HTML file. It begins with the first preset, or a tensor load or store of a case.

    Raises BadInput where the case has no such instruction, or its matrix is too large.
    """
    presets = [(title, link_of(corpus.read(corpus.find_one(name), oracle), oracle)) for title, name in PRESETS.items()]
    start, varies = presets[0][1], False
    if case is not None:
        number = chosen(case, instruction)
        start, varies = link_of(case, oracle, number), _varies(case, number)
    shown: Mapping[str, Any] = {
        "presets": presets,
        "case": "" if case is None else case.name,
        "start": start,
        "varies": varies,
        "data": {
            "start": start,
            "facts": {fact: text_of(fact).replace("`", "") for fact in FACTS},
            "meanings": MEANINGS,
            "high": HIGH,
            "strokes": {
                width: {name: strokes(name, 0, 0, width - 1, HIGH - 1) for name in TEXTURE_NAMES.values()}
                for width in WIDTHS
            },
        },
        "style": (Path(__file__).parent / "explorer.css").read_text(encoding="utf-8"),
        "scripts": script(SCRIPTS),
    }
    return rendered("explorer.html.jinja", {**shown, "data": _embedded(shown["data"])}, package="cts.showing.explorer")


def script(names: Sequence[str]) -> str:
    """Scripts of the page, one after the other."""
    return "\n".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in names)


def _embedded(data: Any) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def chosen(case: model.Case, instruction: int | None) -> int:
    """The number of a tensor load or store of a case: this one, or the first. Raises BadInput if the case has none."""
    possible = [n for n, i in enumerate(case.program) if isinstance(i, model.TensorInstruction)]
    if not possible:
        raise BadInput("no-tensor-access", "the case has no tensor load or store", case.name, "one that has")
    if instruction is None:
        return possible[0]
    if instruction not in possible:
        what = f"program[{instruction}] is no tensor load or store"
        raise BadInput("no-tensor-access", what, case.name, f"--instruction {' or '.join(map(str, possible))}")
    return instruction


def link_of(case: model.Case, oracle: Oracle, instruction: int | None = None) -> str:
    """The text that a link to the page has for a tensor load or store of a valid case: see `programs.js`.

    Operands are those of the first instance, and of the first iteration. Raises BadInput where there is no such
    instruction, its matrix is too large to be drawn, or its buffer's contents begin late.
    """
    instruction = chosen(case, instruction)
    access = case.program[instruction]
    assert isinstance(access, model.TensorInstruction)
    load = hasattr(access, "object")
    shape = model.types_of(case)[access.object if load else access.matrix]  # type: ignore[union-attr]
    assert isinstance(shape, MatrixShape)
    if max(shape.rows, shape.cols) > MOST_EXTENT or shape.rows * shape.cols > MOST_ELEMENTS:
        what = f"a matrix of {shape.rows}x{shape.cols} is too large to be drawn"
        right = f"at most {MOST_EXTENT} rows and columns, and {MOST_ELEMENTS} elements"
        raise BadInput("matrix-too-large", what, f"{case.name}: program[{instruction}]", right)
    reached = oracle.reached(case, instruction)
    if reached is None or reached.tensor is None:
        where = f"{case.name}: program[{instruction}]"
        raise BadInput("not-taken", "no instance of the case comes here", where, "another instruction")
    tensor, buffer = reached.tensor, case.buffers[reached.buffer]
    if buffer.begins_at:
        what = f"the contents of {reached.buffer!r} begin at byte {buffer.begins_at}; the page draws from byte 0 on"
        remedy = "a buffer without `begins_at`, with offsets less by as much"
        raise BadInput("begins-late", what, f"{case.name}: buffers.{reached.buffer}.begins_at", remedy)
    decodes = tensor.block is not None
    parts: list[list[Any]] = [
        [
            "load" if load else "store", shape.rows, shape.cols, shape.component.value, shape.use.value,
            shape.scope.value,
        ],
        *([["block", tensor.size]] if decodes else []),
        *([["pointer", int(tensor.pointer[0])]] if tensor.pointer[0] else []),
        ["memory", buffer.size],
        *_setters(case, access.layout, instruction),
        *(_setters(case, access.view, instruction) if access.view is not None else []),
    ]  # fmt: skip
    return "/".join(",".join(map(str, part)) for part in parts)


def _varies(case: model.Case, instruction: int) -> bool:
    """Whether operands of the layout or view of a tensor load or store are others in other instances or iterations."""
    access = case.program[instruction]
    assert isinstance(access, model.TensorInstruction)
    behind = [*_chain(case, access.layout, instruction), *_chain(case, access.view, instruction)]
    operands = [access.offset, *(o for step in behind for part in _operands(step) for o in part)]
    return any(model.factors_of(operand).any_set for operand in operands)


def _chain(case: model.Case, name: str | None, before: int) -> list[Any]:
    """The instructions before `before` that made a layout or view, the first one first."""
    chain: list[Any] = []
    while name is not None:
        number = next(n for n in range(before - 1, -1, -1) if getattr(case.program[n], "id", None) == name)
        chain.insert(0, case.program[number])
        name, before = getattr(case.program[number], "of", None), number
    return chain


def _setters(case: model.Case, name: str, before: int) -> Iterator[list[Any]]:
    for step in _chain(case, name, before):
        if isinstance(step, model.TensorLayout):
            yield ["Layout", model.constant_of(step.dim), model.constant_of(step.clamp).value]  # type: ignore[attr-defined]
        elif isinstance(step, model.TensorView):
            own = "own" if model.constant_of(step.has_dimensions) else "spans"
            yield ["View", model.constant_of(step.dim), own, *(model.constant_of(p) for p in step.permutation)]
        else:
            op = type(step).__name__.removeprefix("TensorLayout").removeprefix("TensorView")
            yield [op, *(_first(o) for part in _operands(step) for o in part)]


def _operands(step: Any) -> list[Sequence[model.Operand]]:
    """The operands of a setter, as `programs.js` has them."""
    fields = step.given.values() if isinstance(step, model.Setter) else ()
    return [operands if isinstance(operands, tuple) else (operands,) for operands in fields]


def _first(operand: model.Operand) -> int:
    """An operand in the first instance and iteration."""
    base, modulus = model.base_of(operand), model.modulus_of(operand)
    return base if modulus is None else (base & 0xFFFFFFFF) % modulus
