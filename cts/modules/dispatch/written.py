"""A dispatch as files: the module, its assembly, a dispatch file that any driver can be run with, and long arrays."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cts.base.plain_yaml import flow
from cts.device.job import Address, LayoutConversion, MatrixRegion, OpaqueMemory
from cts.modules.dispatch.elements import Array, ElementType
from cts.modules.dispatch.interface import interface
from cts.modules.dispatch.loaded import Dispatch
from cts.spirv.grammar import grammar
from cts.spirv.listing import assembly

#: The names of the files beside the arrays.
FILE, MODULE, ASSEMBLY = "dispatch.yaml", "module.spv", "module.spvasm"

#: So many values are listed in the file itself.
_LISTED = 128


def files(dispatch: Dispatch, right: Mapping[str, Array], said: str) -> dict[str, bytes]:
    """The files by name. `right` are the contents that buffers must have afterwards; `said` says so in a comment."""
    arrays: dict[str, bytes] = {}
    text = "\n".join(_lines(dispatch, right, said, arrays)) + "\n"
    words = dispatch.job.words
    return {
        FILE: text.encode(),
        MODULE: words.astype("<u4").tobytes(),
        ASSEMBLY: assembly(words).encode(),
        **arrays,
    }


def _lines(dispatch: Dispatch, right: Mapping[str, Array], said: str, arrays: dict[str, bytes]) -> Iterator[str]:
    job = dispatch.job
    yield f"module: {MODULE}  # {ASSEMBLY} is the same, to be read"
    yield f"dispatch: {flow(list(job.workgroups))}"
    if len(interface(job.words).entry_points) > 1:
        yield f"entry: {flow(job.entry)}"
    settings: dict[str, Any] = {
        "times": job.times if job.times > 1 else None, "subgroup_size": job.subgroup_size,
        "full_subgroups": job.full_subgroups or None, "robust": (job.robust and not job.robust2) or None,
        "robust2": job.robust2 or None, "timeout": job.timeout,
    }  # fmt: skip
    yield from (f"{name}: {flow(value)}" for name, value in settings.items() if value is not None)
    if job.spec_constants:
        yield f"spec_constants: {flow({k: '0x' + v[::-1].hex() for k, v in job.spec_constants.items()})}"
    if job.push_constants:
        push: dict[str, Any] = {"bytes": "0x" + job.push_constants.hex()}
        yield f"push_constants: {flow({**push, **_addresses(job.push_addresses)})}"
    yield "buffers:" if dispatch.initial or job.opaque else "buffers: {}"
    for name, contents in dispatch.initial.items():
        source = {**_source(name, contents.type, contents.array, arrays), **_addresses(job.buffers[name].addresses)}
        yield f"  {flow(name)}: {flow(source)}"
    for name, memory in job.opaque.items():
        yield f"  {flow(name)}: {flow(_matrix(memory))}"
        for n, beside in enumerate(memory.beside):
            yield f"  {flow(f'{name}_{n}')}: {flow({**_matrix(beside), 'within': name})}"
    places = {f"{s}.{b}": name for (s, b), name in job.bindings.items()}
    places |= {f"{s}.{b}[{k}]": name for (s, b, k), name in job.array_bindings.items()}
    yield f"bindings: {flow(places)}"
    if job.conversions:
        yield "conversions:"
        yield from (f"  - {flow(_conversion(c, job.opaque))}" for c in job.conversions)
    initial = dispatch.initial
    outputs = [n for n in initial if n not in dispatch.ignore and right[n].tobytes() != initial[n].array.tobytes()]
    outputs = outputs or list(dispatch.outputs)
    yield f"outputs: {flow(outputs)}"
    if dispatch.ignore:
        yield f"ignore: {flow(sorted(dispatch.ignore))}"
    yield f"# {said}"
    yield "expected:" if outputs else "expected: {}"
    for name in outputs:
        source = _source(f"{name}.expected", dispatch.initial[name].type, right[name], arrays)
        wanted = dispatch.expected.get(name)
        if wanted is not None:
            t = wanted.tolerance
            tolerances = {"atol": t.atol, "rtol": t.rtol, "ulp": t.ulp}
            source |= {key: float(np.max(value)) for key, value in tolerances.items() if np.any(value)}
        yield f"  {flow(name)}: {flow(source)}"


def _source(name: str, type_: ElementType, array: Array, arrays: dict[str, bytes]) -> dict[str, Any]:
    """The contents as briefly as the file can say them; otherwise an array beside it."""
    shape: dict[str, Any] = {"type": type_.value, "shape": list(array.shape)}
    flat = array.reshape(-1)
    bits = flat.view(type_.bits)
    if (bits == bits[0]).all() and _is_plain(flat[:1], type_):
        return {**shape, "fill": _number(flat[0], type_)}
    if not type_.is_float and np.array_equal(flat, np.arange(len(flat)).astype(flat.dtype)):
        return {**shape, "iota": {}}
    if len(flat) <= _LISTED and _is_plain(flat, type_):
        return {**shape, "values": [_number(v, type_) for v in flat]}
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(array if array.dtype.kind in "iuf" else array.view(type_.bits)))
    arrays[f"{name}.npy"] = out.getvalue()
    return {"file": f"{name}.npy", "type": type_.value}


def _is_plain(values: Array, type_: ElementType) -> bool:
    """Whether the file can write the values as numbers: finite ones, and no negative zeros."""
    if not type_.is_float:
        return True
    numbers = values.astype(np.float64)
    return bool(np.isfinite(numbers).all() and not (np.signbit(numbers) & (numbers == 0)).any())


def _number(value: Any, type_: ElementType) -> int | float:
    return float(value) if type_.is_float else int(value)


def _addresses(addresses: tuple[Address, ...]) -> dict[str, Any]:
    if not addresses:
        return {}
    return {"addresses": [{"at": a.at, "of": a.of, **({"offset": a.offset} if a.offset else {})} for a in addresses]}


def _component(number: int) -> str:
    from cts.case.model.component import ComponentType

    return next(c.value for c in ComponentType if c.descriptor.number == number)


def _layout(number: int) -> str:
    return grammar().name("CooperativeVectorMatrixLayout", number).removesuffix("NV")


def _matrix(memory: OpaqueMemory) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "layout": _layout(memory.layout), "component": _component(memory.component),
        "rows": memory.rows, "cols": memory.cols,
    }  # fmt: skip
    return fields | ({"offset": memory.offset} if memory.offset else {}) | ({"zero": True} if memory.zero else {})


def _conversion(c: LayoutConversion, opaque: dict[str, OpaqueMemory]) -> dict[str, Any]:
    fields: dict[str, Any] = {"source": _side(c.source, opaque), "destination": _side(c.destination, opaque)}
    fields |= {"rows": c.rows, "cols": c.cols}
    return fields | ({"after": True} if c.after else {}) | ({"host": True} if c.host else {})


def _side(region: MatrixRegion, opaque: dict[str, OpaqueMemory]) -> Any:
    if region.of in opaque:
        for n, beside in enumerate(opaque[region.of].beside):
            if beside.offset == region.offset:
                return f"{region.of}_{n}"
        return region.of
    fields: dict[str, Any] = {
        "of": region.of, "component": _component(region.component), "layout": _layout(region.layout),
        "offset": region.offset,
    }  # fmt: skip
    return fields if not region.stride else {**fields, "stride": region.stride}
