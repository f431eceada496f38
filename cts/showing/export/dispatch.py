"""A case as a dispatch file (docs/dispatch.md): its module, its data, and the expected contents of its buffers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.base.plain_yaml import flow
from cts.case import model
from cts.case.oracle.expectation import Allowed, Expectation
from cts.device.job import ModuleJob
from cts.showing.export.cannot import CannotExpress
from cts.spirv.lower import PARAMETERS, Lowered, bind, lower

#: The name of the dispatch file, and of the module beside it.
FILE, MODULE = "dispatch.yaml", "module.spv"

#: Types whose elements NumPy has a name for; those of others are files of their bits.
_NUMPY = {t for t in model.ComponentType if "bfloat" not in t.value and "float8" not in t.value}


def dispatch(
    case: model.Case, subgroup_size: int, expectation: Expectation, *, module: str = MODULE
) -> dict[str, bytes]:
    """The files of a case's dispatch by name: FILE, the suite's own module, and arrays as .npy.

    `module` is what the file names as the module; that of the case's GLSL runs as well there. A buffer of
    which the oracle allows one content has it as `expected`; others are not compared.
    """
    late = next((name for name, buffer in case.buffers.items() if buffer.begins_at), None)
    if late is not None:
        raise CannotExpress(
            f"the contents of {late!r} begin late; those of buffers of a dispatch file do not", case.name
        )
    lowered = lower(case, subgroup_size)
    job = bind(lowered, case, model.initial_memory(case))
    names = _names([*job.buffers, *case.opaque])
    files = {module: lowered.words.astype("<u4").tobytes()}
    lines = [f"module: {flow(module)}", f"dispatch: {flow(list(job.workgroups))}"]
    if job.times > 1:
        lines.append(f"times: {job.times}")
    if job.subgroup_size is not None:
        lines.append(f"subgroup_size: {job.subgroup_size}")
    if job.robust:
        lines.append(f"{'robust2' if job.robust2 else 'robust'}: true")
    if job.spec_constants:
        lines.append(f"spec_constants: {flow(_spec_constants(job, lowered))}")
    if job.push_addresses:
        addresses = [{"at": a.at, "of": names[a.of]} for a in job.push_addresses]
        lines.append(f"push_constants: {flow({'addresses': addresses})}")
    lines.append("buffers:")
    for name, memory in job.buffers.items():
        contents = memory.data[model.GUARD_BYTES : len(memory.data) - model.GUARD_BYTES]
        files[f"{names[name]}.npy"] = _npy(case.buffers.get(name), contents)
        lines.append(f"  {flow(names[name])}: {flow(_source(case.buffers.get(name), f'{names[name]}.npy'))}")
    lines += [f"  {flow(names[name])}: {flow(_matrix(matrix, names))}" for name, matrix in case.opaque.items()]
    bindings = {f"{s}.{b}": names[name] for (s, b), name in job.bindings.items()}
    lines.append(f"bindings: {flow(bindings)}")
    if case.conversions:
        lines += ["conversions:", *(f"  - {flow(_conversion(c, names))}" for c in case.conversions)]
    lines += _expected(case, expectation, names, files)
    files[FILE] = ("\n".join(lines) + "\n").encode()
    return files


def _names(given: Iterable[str]) -> dict[str, str]:
    """The names of the buffers in the file: those of the case where they can be the names of files."""
    names: dict[str, str] = {}
    for name in given:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name.removeprefix("$")).lstrip(".-") or "buffer"
        candidate, n = plain, 1
        while candidate.lower() in (taken.lower() for taken in names.values()):
            n += 1
            candidate = f"{plain}_{n}"
        names[name] = candidate
    return names


def _spec_constants(job: ModuleJob, lowered: Lowered) -> dict[int, bool | int | str]:
    """Numbers as they are, component values of float types as their bits."""
    constants: dict[int, bool | int | str] = {}
    for slot in lowered.spec_slots:
        data = job.spec_constants[slot.spec_id]
        number = int.from_bytes(data, "little")
        if slot.component is not None and slot.component.is_float:
            constants[slot.spec_id] = f"0x{number:0{2 * len(data)}x}"
        elif slot.component is not None and slot.component.is_signed:
            constants[slot.spec_id] = int.from_bytes(data, "little", signed=True)
        else:
            constants[slot.spec_id] = bool(number) if slot.path[-1] in _BOOLEANS else number
    return constants | lowered.size_constants


#: The fields that hold a boolean.
_BOOLEANS = ("has_dimensions", "transpose")


def _source(buffer: model.Buffer | None, file: str) -> dict[str, str]:
    """A file, and of what type its elements are where NumPy has no name for it."""
    if buffer is None or buffer.type in _NUMPY:
        return {"file": file}
    return {"file": file, "type": buffer.type.value}


def _npy(buffer: model.Buffer | None, contents: npt.NDArray[np.uint8]) -> bytes:
    """A buffer's elements in its shape, words for the parameters; of types that NumPy lacks the bits."""
    if buffer is None:
        array: npt.NDArray[Any] = contents.view("<u4")
    else:
        dtype = buffer.type.dtype if buffer.type in _NUMPY else buffer.type.bits_dtype
        shape = (*buffer.shape, buffer.components) if buffer.components > 1 else buffer.shape
        array = contents.view(dtype.newbyteorder("<")).reshape(shape)
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def _expected(case: model.Case, expectation: Expectation, names: dict[str, str], files: dict[str, bytes]) -> list[str]:
    """The lines for the compared buffers, and comments for the others."""
    lines, ignored = [], []
    initial = model.initial_memory(case)
    for name in names:
        if name == PARAMETERS or name in case.opaque:
            continue
        allowed = expectation.buffers[name]
        if allowed.intervals or allowed.identical:
            ignored.append(names[name])
            lines.append(f"# {names[name]} is not compared: {_freedom(case.buffers[name], allowed)}.")
        elif (allowed.exact != initial[name][model.GUARD_BYTES : -model.GUARD_BYTES]).any():
            file = f"{names[name]}.expected.npy"
            files[file] = _npy(case.buffers[name], allowed.exact)
            source = flow(_source(case.buffers[name], file))
            lines += [*(["expected:"] if "expected:" not in lines else []), f"  {flow(names[name])}: {source}"]
    return [*lines, *([f"ignore: {flow(ignored)}"] if ignored else [])]


def _matrix(matrix: model.OpaqueMatrix, names: dict[str, str]) -> dict[str, Any]:
    """A matrix in an optimal layout as a buffer of the file."""
    fields = {
        "layout": matrix.layout.value,
        "component": matrix.component.value,
        "rows": matrix.rows,
        "cols": matrix.cols,
    }
    fields |= {"offset": matrix.offset} if matrix.offset else {}
    fields |= {"zero": True} if matrix.zero else {}
    return fields if matrix.within is None else fields | {"within": names[matrix.within]}


def _conversion(conversion: model.MatrixConversion, names: dict[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "source": _side(conversion.source, names),
        "destination": _side(conversion.destination, names),
        "rows": conversion.rows,
        "cols": conversion.cols,
    }
    return fields | {name: True for name in ("after", "host") if getattr(conversion, name)}


def _side(side: model.ConversionSide, names: dict[str, str]) -> str | dict[str, Any]:
    """A side of a conversion; a matrix in an optimal layout by its name alone."""
    if side.component is None or side.layout is None:
        return names[side.of]
    fields = {"of": names[side.of], "component": side.component.value, "layout": side.layout.value}
    return fields | {name: value for name in ("offset", "stride") if (value := getattr(side, name))}


def _freedom(buffer: model.Buffer, allowed: Allowed) -> str:
    """How much of a buffer may hold more than one value."""
    free = sum(len(i.offsets) for i in allowed.intervals) + sum(len(i.offsets) for i in allowed.identical)
    total = buffer.elements * buffer.components
    return f"{min(free, total)} of {total} elements may hold more than one value"
