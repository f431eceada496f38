"""`cts show`: everything about one case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy.typing as npt

    from cts.expectation import Allowed, Expectation
    from cts.model import Case, ComponentType

#: Characters a row of a matrix may take.
WIDTH = 160

#: Elements printed of an array; larger ones are shown by their corners.
MOST_SHOWN = 4096


def show(
    target: Annotated[str, typer.Argument(help="A case file, or the name of a corpus case.", metavar="CASE")],
    spirv: Annotated[bool, typer.Option("--spirv/--no-spirv", help="Disassemble the SPIR-V module.")] = True,
    expected: Annotated[
        bool, typer.Option("--expected/--no-expected", help="Print expected matrices and memory.")
    ] = True,
    subgroup_size: Annotated[int, typer.Option("--subgroup-size", help="Subgroup size to lower for.")] = 32,
) -> None:
    """Show a case in canonical form, its SPIR-V module, and what it must leave behind."""
    from cts import corpus, registry
    from cts.model import dumps_case

    entry = corpus.one(target)
    oracle = registry.oracle()
    case = corpus.read(entry, oracle)
    typer.echo(f"# {entry.name}, content hash {case.content_hash}")
    typer.echo(dumps_case(case), nl=False)
    if spirv:
        from cts.spirv.listing import assembly
        from cts.spirv.lower import lower

        typer.echo(f"\n# SPIR-V for subgroups of {subgroup_size}")
        typer.echo(assembly(lower(case, subgroup_size).words).rstrip())
    if expected:
        for line in _expected(case, oracle.expect(case)):
            typer.echo(line)


def _expected(case: Case, expectation: Expectation) -> Iterator[str]:
    from cts.model import MatrixShape, initial_bits, types_of

    types = types_of(case)
    for name, bits in expectation.matrices.items():
        shape = types[name]
        assert isinstance(shape, MatrixShape)
        what = f"{shape.rows}x{shape.cols} {shape.component.value} {shape.use.value}, {shape.scope.value} scope"
        for instance, matrix in enumerate(bits):
            yield f"\n# expected matrix {name}, instance {instance} of {len(bits)} ({what})"
            yield _array(shape.component, matrix)
    for name, buffer in case.buffers.items():
        allowed = expectation.buffers[name]
        contents = allowed.exact.view(buffer.type.bits_dtype)
        if not allowed.intervals and (contents == initial_bits(buffer)).all():
            yield f"\n# expected buffer {name}: as before the run"
            continue
        extents = (*buffer.shape, buffer.components) if buffer.components > 1 else buffer.shape
        yield f"\n# expected buffer {name} ({buffer.type.value})"
        yield _array(buffer.type, contents.reshape(extents))
        yield from _freedoms(allowed)


def _array(component: ComponentType, bits: npt.NDArray[Any]) -> str:
    import numpy as np

    from cts.model import decode

    values = decode(component, bits)
    texts = [f"{float(v):g}" if component.is_float else str(v) for v in np.unique(values)]
    width = max(map(len, texts))
    shown = values.astype(np.float64) if component.is_float else values
    return np.array2string(
        shown,
        max_line_width=WIDTH,
        threshold=MOST_SHOWN,
        formatter={"float_kind": lambda v: f"{v:{width}g}", "int_kind": lambda v: f"{v:{width}d}"},
    )


def _freedoms(allowed: Allowed) -> Iterator[str]:
    for intervals in allowed.intervals:
        yield f"# of it {len(intervals.offsets)} elements have more than one allowed value"
