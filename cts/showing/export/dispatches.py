"""A dispatch of any module for somebody without this suite."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import numpy as np

import cts
from cts.base.errors import BadInput
from cts.case.model import ComponentType
from cts.case.oracle.expectation import Allowed, Freedom, Intervals
from cts.device.driver import ModuleDriver, Status
from cts.modules.dispatch import Dispatch
from cts.modules.dispatch.comparing import values
from cts.modules.dispatch.elements import Array, ElementType
from cts.modules.dispatch.loaded import Contents
from cts.modules.dispatch.tolerances import Tolerance
from cts.modules.dispatch.written import FILE, files
from cts.plugins import registry
from cts.showing.export.amber import amber
from cts.showing.export.c import program
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.exported import Exported, ExportedBuffer
from cts.spirv.listing import assembly

#: The formats of dispatches.
FORMATS = ("bundle", "c", "spvasm", "amber", "dispatch")

#: The type of a word of 32 bits.
_WORD = next(t for t in ComponentType if t.dtype == np.uint32)

_README = """# {name}

A SPIR-V compute module with its data. {said}

| file | contents |
| --- | --- |
| `module.spv`, `module.spvasm` | the module, and the same disassembled |
| `dispatch.yaml` | the dispatch with its data and the right contents, for `cts dispatch` |
{rows}
{left_out}{result}```sh
cts dispatch dispatch.yaml -d vulkan
cc -std=c11 -O2 -o repro repro.c -ldl && ./repro
```
"""


def export(dispatch: Dispatch, format_name: str, result: str = "") -> dict[str, bytes]:
    """The files of a dispatch in a format of FORMATS; `result` is how it ended on a driver.

    What `expected` does not say is right by the interpreter. Raises CannotExpress, BadInput and HarnessTrouble.
    """
    if format_name not in FORMATS:
        what = f"the format {format_name} is for cases; this is a dispatch file"
        raise BadInput("unknown-format", what, "--format", f"one of: {', '.join(FORMATS)}")
    if format_name == "spvasm":
        return {"module.spvasm": assembly(dispatch.job.words).encode()}
    right, said = _right(dispatch)
    written = files(dispatch, right, said)
    if format_name == "dispatch":
        return written
    exported = _exported(dispatch, right, said, written[FILE].decode())
    if format_name == "c":
        return {"repro.c": program(exported, result).encode()}
    if format_name == "amber":
        return {"case.amber": amber(exported).encode()}
    return {**written, **_bundle(exported, said, result)}


def _bundle(exported: Exported, said: str, result: str) -> dict[str, bytes]:
    made, left_out, rows = {}, "", ""
    kinds = (("repro.c", "one C program that needs only a Vulkan loader"), ("case.amber", "the same for Amber"))
    for name, what in kinds:
        try:
            made[name] = (program(exported, result) if name == "repro.c" else amber(exported)).encode()
            rows += f"| `{name}` | {what} |\n"
        except CannotExpress as e:
            left_out += f"No `{name}`: {e.what}.\n\n"
    shown = f"```\n{result}\n```\n\n" if result else ""
    readme = _README.format(name=exported.name, said=said, rows=rows, left_out=left_out, result=shown)
    return {**made, "README.md": readme.encode()}


def _right(dispatch: Dispatch) -> tuple[dict[str, Array], str]:
    """The right contents of all buffers, and where they are from."""
    with closing(registry.driver("interpreter:check=contract,max_seconds=600")) as driver:
        assert isinstance(driver, ModuleDriver)
        outcome = driver.run_module(dispatch.job)
    if outcome.status is not Status.DONE:
        what = f"nobody knows the right contents: the interpreter says: {outcome.detail}"
        raise BadInput("not-exported", what, str(dispatch.path), "a dispatch that the interpreter runs to its end")
    right = {name: values(dispatch, outcome.memory, name) for name in dispatch.initial}
    given = {name: w.contents.array for name, w in dispatch.expected.items() if w.contents is not None}
    for name, array in given.items():
        right[name] = array.astype(right[name].dtype).reshape(right[name].shape)
    return right, "The right contents are those that the interpreter leaves" + (
        f"; of {', '.join(given)} those of {dispatch.path.name}." if given else "."
    )


def _exported(dispatch: Dispatch, right: Mapping[str, Array], said: str, source: str) -> Exported:
    buffers = {
        name: _buffer(contents, right[name], _tolerance(dispatch, name), free=name in dispatch.ignore)
        for name, contents in dispatch.initial.items()
    }
    name = dispatch.path.stem + (f", {dispatch.case}" if dispatch.case else "")
    return Exported(name, said, f"written by cts {cts.__version__}", source, dispatch.job, buffers)


def _tolerance(dispatch: Dispatch, name: str) -> Tolerance:
    wanted = dispatch.expected.get(name)
    return Tolerance() if wanted is None else wanted.tolerance


def _buffer(contents: Contents, right: Array, tolerance: Tolerance, *, free: bool) -> ExportedBuffer:
    """A buffer in its type; numbers of 64 bits are pairs of words."""
    words = contents.type.value not in ComponentType.__members__
    type_ = _WORD if words else ComponentType[contents.type.value]
    bits = np.ascontiguousarray(contents.array).reshape(-1).view(type_.bits_dtype)
    exact = np.ascontiguousarray(right).reshape(-1).view(np.uint8)
    intervals = () if words and not free else _intervals(contents.type, type_, right, tolerance, free=free)
    shape = contents.array.shape
    return ExportedBuffer(type_, shape, 2 if words else 1, bits, Allowed(exact, intervals))


def _intervals(
    element: ElementType, type_: ComponentType, right: Array, tolerance: Tolerance, *, free: bool
) -> tuple[Intervals, ...]:
    """What elements may be beside what is right: within the tolerance, or of an ignored buffer anything."""
    flat = right.reshape(-1) if not free else np.ascontiguousarray(right).reshape(-1).view(type_.bits_dtype)
    offsets = np.arange(len(flat), dtype=np.int64) * type_.size
    if tolerance.exact and not free:
        nans = np.isnan(flat.astype(np.float64)) if element.is_float else np.zeros(len(flat), np.bool_)
        if not nans.any():
            return ()
        zeros = np.zeros(np.count_nonzero(nans), type_.bits_dtype)
        only = np.full(len(zeros), Freedom.NAN, np.uint8)
        return (Intervals(type_, offsets[nans], flat[nans].view(type_.bits_dtype), zeros, only, ("any NaN",)),)
    if free:
        zeros = np.zeros(len(flat), type_.bits_dtype)
        return (Intervals(type_, offsets, zeros, zeros, np.full(len(flat), Freedom.ANY, np.uint8), ("ignored",)),)
    numbers = right.astype(np.longdouble)
    around = tolerance.around(numbers, element).reshape(-1)
    flags = np.where(np.isnan(numbers.reshape(-1)), Freedom.NAN, Freedom.EITHER_ZERO).astype(np.uint8)
    lo, hi = ((numbers.reshape(-1) + sign * around).astype(right.dtype).view(type_.bits_dtype) for sign in (-1, 1))
    return (Intervals(type_, offsets, lo, hi, flags, ("the tolerance of the dispatch file",)),)
