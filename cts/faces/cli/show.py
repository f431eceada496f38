"""`cts show`: everything about one case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.options import CaseHtmlFile
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    import numpy.typing as npt

    from cts.case.model import Buffer, Case, ComponentType
    from cts.case.oracle.expectation import Allowed, Expectation, Intervals, Spread

#: Characters a row of a matrix may take.
WIDTH = 160

#: Elements printed of an array; larger ones are shown by their corners.
MOST_SHOWN = 4096

#: Elements with several allowed values whose range is printed, of each kind of freedom of a buffer.
RANGES_SHOWN = 8


def show(
    target: Annotated[
        str | None,
        typer.Argument(
            help="A case file, the name of a corpus case, or the journal of a crash. Optional with --explorer.",
            metavar="CASE",
            autocompletion=completion.cases,
        ),
    ] = None,
    spirv: Annotated[bool, typer.Option("--spirv/--no-spirv", help="Disassemble the SPIR-V module.")] = True,
    expected: Annotated[
        bool, typer.Option("--expected/--no-expected", help="Print expected matrices and memory.")
    ] = True,
    subgroup_size: Annotated[int, typer.Option("--subgroup-size", help="Subgroup size to lower for.")] = 32,
    html: CaseHtmlFile = None,
    explorer: Annotated[
        Path | None,
        typer.Option(
            "--explorer",
            help="Write the layout explorer instead: a page on which you can change the layout, view and matrix of a "
            "tensor load or store. It needs no server and no network.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    instruction: Annotated[
        int | None,
        typer.Option(
            "--instruction",
            help="With --explorer: the tensor load or store, by number in `program`. Default: the first.",
            metavar="N",
        ),
    ] = None,
) -> None:
    """Show a case in canonical form, its SPIR-V module, and what it must leave behind."""
    from cts.base.errors import BadInput
    from cts.case.model import dumps_case
    from cts.faces.cli.target import read, tell_if_not_validated
    from cts.plugins import registry
    from cts.running.outputs import check_file

    if explorer is not None:
        write_explorer(explorer, target, instruction)
        return
    if instruction is not None:
        raise BadInput("no-explorer", "--instruction without --explorer", "cts show", "--explorer FILE --instruction N")
    if target is None:
        raise BadInput("no-case", "no case to show", "cts show", "CASE: `cts list` has all; or --explorer FILE")
    check_file(html, "--html")
    oracle = registry.oracle()
    case = read(target, oracle)
    typer.echo(f"# {target}, content hash {case.content_hash}")
    typer.echo(dumps_case(case), nl=False)
    if spirv:
        from cts.spirv.listing import assembly
        from cts.spirv.lower import lower

        tell_if_not_validated()
        typer.echo(f"\n# SPIR-V for subgroups of {subgroup_size}")
        typer.echo(assembly(lower(case, subgroup_size).words).rstrip())
    if expected:
        for line in _expected(case, oracle.expect(case)):
            typer.echo(line)
    if html is not None:
        from cts.faces.cli.report import write
        from cts.showing.report.html import page_of_case

        write(html, page_of_case(case, oracle).encode())


def write_explorer(html: Path, target: str | None, instruction: int | None) -> None:
    """Write the page, and print its address: it begins with a tensor load or store of a case, or a tile in a tensor."""
    from cts.base.errors import BadInput
    from cts.faces.cli.report import write
    from cts.faces.cli.target import read
    from cts.plugins import registry
    from cts.running.outputs import check_file
    from cts.showing.explorer import page

    check_file(html, "--explorer")
    if instruction is not None and target is None:
        raise BadInput("no-case", "an instruction of no case", "--instruction", "a case before it")
    oracle = registry.oracle()
    case = None if target is None else read(target, oracle)
    write(html, page(oracle, case, instruction).encode())
    typer.echo(html.resolve().as_uri())


def _expected(case: Case, expectation: Expectation) -> Iterator[str]:
    for name, bits in expectation.matrices.items():
        yield from _result(case, name, bits)
        if name in expectation.spreads:
            several = _choices(expectation.spreads[name])
            yield f"# {several} of its {bits.size} elements have more than one allowed value"
    for name in case.opaque:
        yield _opaque(case, name)
    for name, buffer in case.buffers.items():
        yield from _buffer(name, buffer, expectation.buffers[name])


def _result(case: Case, name: str, bits: npt.NDArray[Any]) -> Iterator[str]:
    """A matrix in each instance of its scope, or a vector in each invocation, a row for each."""
    from cts.case.model import MatrixShape, VectorShape, types_of

    shape = types_of(case)[name]
    if isinstance(shape, MatrixShape):
        what = f"{shape.rows}x{shape.cols} {shape.component.value} {shape.use.value}, {shape.scope.value} scope"
        for instance, matrix in enumerate(bits):
            yield f"\n# expected matrix {name}, instance {instance} of {len(bits)} ({what})"
            yield _array(shape.component, matrix)
        return
    assert isinstance(shape, VectorShape), "an expectation has matrices and vectors"
    what = f"{shape.length} components of {shape.component.value}"
    yield f"\n# expected vector {name} ({what}), a row for each of {len(bits)} invocations"
    yield _array(shape.component, bits)


def _opaque(case: Case, name: str) -> str:
    """A matrix in a layout that only the device knows: its declaration, and the steps that use it."""
    matrix = case.opaque[name]
    kind = f"{matrix.rows}x{matrix.cols} {matrix.component.value}, {matrix.layout.value}, {matrix.storage.value}"
    parts = ["zeros at first"] if matrix.zero else []
    if matrix.within is not None:
        parts.append(f"at byte {matrix.offset} of the memory of {matrix.within}")
    for n, conversion in enumerate(case.conversions):
        if conversion.destination.of == name:
            parts.append(f"converted from {conversion.source.of} by conversions[{n}]")
        if conversion.source.of == name:
            parts.append(f"converted to {conversion.destination.of} by conversions[{n}]")
    used = [n for n, instruction in enumerate(case.program) if getattr(instruction, "matrix", None) == name]
    parts += [f"used by program[{n}] ({type(case.program[n]).__name__})" for n in used]
    return f"\n# opaque matrix {name} ({kind}): only the device knows its bytes; {', '.join(parts) or 'never used'}"


def _buffer(name: str, buffer: Buffer, allowed: Allowed) -> Iterator[str]:
    from cts.case.model import StorageClass, initial_bits
    from cts.judging.sentences import reasons_text

    contents = allowed.exact.view(buffer.type.bits_dtype)
    if not allowed.intervals and not allowed.identical and (contents == initial_bits(buffer)).all():
        yield f"\n# expected buffer {name}: as before the run"
        return
    extents = (*buffer.shape, buffer.components) if buffer.components > 1 else buffer.shape
    where = "" if buffer.storage is StorageClass.StorageBuffer else f", {buffer.storage.value}"
    yield f"\n# expected buffer {name} ({buffer.type.value}{where})"
    yield _array(buffer.type, contents.reshape(extents))
    for intervals in allowed.intervals:
        reason = f": {reasons_text(intervals.reasons)}" if intervals.reasons else ""
        yield f"# of it {len(intervals.offsets)} elements have more than one allowed value{reason}"
        yield from _ranges(intervals)
    for identical in allowed.identical:
        groups = len(set(identical.group.tolist()))
        yield f"# of it {len(identical.offsets)} elements in {groups} groups: one bit pattern, or NaNs, in each"


def _ranges(intervals: Intervals) -> Iterator[str]:
    """The allowed values of the first elements that may not be anything."""
    from cts.case.oracle.expectation import Freedom
    from cts.judging.sentences import value_text

    named = 0
    for offset, lo, hi, flags in zip(intervals.offsets, intervals.lo, intervals.hi, intervals.flags, strict=True):
        if Freedom(int(flags)) & Freedom.ANY:
            continue
        if named == RANGES_SHOWN:
            yield "#   ..."
            return
        named += 1
        ends = [value_text(intervals.component, int(bits)) for bits in (lo, hi)]
        zero = " or either zero" if Freedom(int(flags)) & Freedom.EITHER_ZERO else ""
        nan = " or NaN" if Freedom(int(flags)) & Freedom.NAN else ""
        yield f"#   byte {int(offset)}: {' to '.join(dict.fromkeys(ends))}{nan}{zero}"


def _choices(spread: Spread) -> int:
    """How many elements have more than one allowed value."""
    return int(((spread.lo != spread.hi) | (spread.flags != 0)).sum())


def _array(component: ComponentType, bits: npt.NDArray[Any]) -> str:
    import numpy as np

    from cts.case.model import decode

    values = decode(component, bits)
    with np.errstate(invalid="ignore"):  # some processors raise it for signalling NaNs
        shown = values.astype(np.float64) if component.is_float else values
    width = max(len(f"{v:g}" if component.is_float else str(v)) for v in np.unique(shown))
    return np.array2string(
        shown,
        max_line_width=WIDTH,
        threshold=MOST_SHOWN,
        formatter={"float_kind": lambda v: f"{v:{width}g}", "int_kind": lambda v: f"{v:{width}d}"},
    )
