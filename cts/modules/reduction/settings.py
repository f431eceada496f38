"""Smaller dispatches: fewer invocations, simpler data, constants in place of specialization."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from msgspec import structs

from cts.base.memory import GUARD_BYTES, guarded
from cts.modules.dispatch.interface import read
from cts.modules.dispatch.loaded import Contents
from cts.modules.reduction.cleaning import clean
from cts.modules.reduction.subject import DEBUG, Subject, copied, local_size
from cts.spirv.encode import Value
from cts.spirv.forms.layout import Op

Bytes = npt.NDArray[np.uint8]

#: The most parts of a buffer that are tried as zeros.
_PARTS = 64

#: Lengths that a buffer may get, the shortest first.
_LENGTHS = tuple(1 << n for n in range(24))


def strip_debug(subject: Subject) -> Iterator[Subject]:
    """No lines, sources and debug information."""
    new = copied(subject.layout)
    sets = {op.result for op in new.imports if str(op.values[0]).startswith("NonSemantic")}
    for section in new.sections:
        section[:] = [
            op for op in section if op.name not in DEBUG and not (op.name == "OpExtInst" and op.values[1] in sets)
        ]
    new.extensions[:] = [op for op in new.extensions if op.values[0] != "SPV_KHR_non_semantic_info"]
    yield subject.with_layout(clean(new))


def clean_up(subject: Subject) -> Iterator[Subject]:
    """Nothing that is unused."""
    yield subject.with_layout(clean(subject.layout))


def specialise(subject: Subject) -> Iterator[Subject]:
    """Constants in place of specialization constants, with the values that the dispatch gives them."""
    layout, job = subject.layout, subject.dispatch.job
    reader = read(subject.words)
    numbers = reader.numbers(job.spec_constants)
    ids = {op.values[0]: op.values[2] for op in layout.annotations if op.values[1:2] == ("SpecId",)}
    new = copied(layout)
    signed = {op.result for op in layout.globals if op.name == "OpTypeInt" and op.values[1] == 1}
    width = {op.result: op.values[0] for op in layout.globals if op.name in ("OpTypeInt", "OpTypeFloat")}
    for n, op in enumerate(new.globals):
        if not op.name.startswith("OpSpecConstant") or op.result is None:
            continue
        type_ = op.values[0]
        given = job.spec_constants.get(ids.get(op.result, -1))  # type: ignore[arg-type]
        value = numbers.get(op.result)
        if op.name in ("OpSpecConstantTrue", "OpSpecConstantFalse") or (
            op.name == "OpSpecConstantOp" and type_ not in width and value is not None
        ):
            new.globals[n] = Op("OpConstantTrue" if value else "OpConstantFalse", op.result, (type_,))
        elif op.name == "OpSpecConstantComposite":
            new.globals[n] = Op("OpConstantComposite", op.result, op.values)
        elif op.name == "OpSpecConstant":
            number: Value = int.from_bytes(given, "little", signed=type_ in signed) if given else op.values[1]
            new.globals[n] = Op("OpConstant", op.result, (type_, number))
        elif value is not None and type_ in width:
            bits = width[type_]  # type: ignore[index]
            assert isinstance(bits, int)
            plain = value & ((1 << bits) - 1)
            new.globals[n] = Op(
                "OpConstant", op.result, (type_, plain - ((plain >> bits - 1) << bits) if type_ in signed else plain)
            )
    new.annotations[:] = [op for op in new.annotations if op.values[1:2] != ("SpecId",)]
    size = reader.interface(job.spec_constants).local_sizes[job.entry]
    extents = tuple(extent.value or 1 for extent in size)
    entry = next(op.values[1] for op in new.entry_points if op.values[2] == job.entry)
    built = {op.values[0] for op in new.annotations if op.values[1:] == ("BuiltIn", "WorkgroupSize")}
    new.annotations[:] = [op for op in new.annotations if op.values[1:] != ("BuiltIn", "WorkgroupSize")]
    sizes = [op for op in new.execution_modes if op.values[1] in ("LocalSize", "LocalSizeId")]
    new.execution_modes[:] = [op for op in new.execution_modes if op not in sizes]
    new.execution_modes.append(Op("OpExecutionMode", None, (entry, "LocalSize", *extents)))
    if built or job.spec_constants or ids or new.execution_modes != layout.execution_modes:
        yield Subject(clean(new), subject.dispatch).with_job(spec_constants={}).with_layout(clean(new))


def shrink_dispatch(subject: Subject) -> Iterator[Subject]:
    """Fewer workgroups and dispatches."""
    job = subject.dispatch.job
    if job.times > 1:
        yield subject.with_job(times=1)
    if math.prod(job.workgroups) > 1:
        yield subject.with_job(workgroups=(1, 1, 1))
    for axis, count in enumerate(job.workgroups):
        for smaller in dict.fromkeys((1, 2, count // 2, count - 1)):
            if 1 <= smaller < count:
                yield subject.with_job(workgroups=(*job.workgroups[:axis], smaller, *job.workgroups[axis + 1 :]))


def shrink_workgroups(subject: Subject) -> Iterator[Subject]:
    """Fewer invocations in a workgroup."""
    layout, size = subject.layout, local_size(subject.layout)
    if len(size) != 3:
        return
    x, y, z = size
    sizes = [
        (1, 1, 1),
        (2, 1, 1),
        (4, 1, 1),
        (8, 1, 1),
        (32, 1, 1),
        (x, 1, 1),
        (x, y, 1),
        (x // 2, y, z),
        (x, y // 2, z),
        (x, y, z // 2),
    ]
    for new in dict.fromkeys(sizes):
        if min(new) >= 1 and math.prod(new) < math.prod(size):
            changed = copied(layout)
            changed.execution_modes[:] = [
                op._replace(values=(op.values[0], "LocalSize", *new)) if op.values[1] == "LocalSize" else op
                for op in changed.execution_modes
            ]
            yield subject.with_layout(changed)


def drop_settings(subject: Subject) -> Iterator[Subject]:
    """No required size of subgroups, no robustness, a conversion less."""
    job = subject.dispatch.job
    if job.subgroup_size is not None:
        yield subject.with_job(subgroup_size=None)
        yield subject.with_job(subgroup_size=None, full_subgroups=False)
    if job.full_subgroups:
        yield subject.with_job(full_subgroups=False)
    if job.robust:
        yield subject.with_job(robust=False, robust2=False)
    for n in reversed(range(len(job.conversions))):
        yield subject.with_job(conversions=(*job.conversions[:n], *job.conversions[n + 1 :])).with_layout(
            subject.layout
        )


def shrink_buffers(subject: Subject) -> Iterator[Subject]:
    """A shorter buffer."""
    for name, contents in subject.dispatch.initial.items():
        if not subject.dispatch.job.buffers[name].addresses:
            step = contents.type.size if contents.type.size > 1 else 4
            bytes_ = contents.array.reshape(-1).view(np.uint8)
            for count in _LENGTHS:
                if count * step >= len(bytes_):
                    break
                yield _with(subject, name, bytes_[: count * step])


def simplify_contents(subject: Subject) -> Iterator[Subject]:
    """Simpler contents of a buffer."""
    for name, contents in subject.dispatch.initial.items():
        flat = contents.array.reshape(-1)
        if subject.dispatch.job.buffers[name].addresses:
            continue
        for new in (
            flat * 0,
            flat * 0 + 1,
            np.full_like(flat, flat[0]),
            np.arange(len(flat)),
            np.arange(len(flat)) % 7,
        ):
            made = new.astype(flat.dtype)
            if not np.array_equal(made.view(np.uint8), flat.view(np.uint8)):
                yield _with(subject, name, made.view(np.uint8))
        kept = np.flatnonzero(flat.view(contents.type.bits))
        parts = 2
        while len(kept) > 1 and parts // 2 < min(len(kept), _PARTS):
            for places in np.array_split(kept, min(parts, len(kept))):
                made = flat.copy()
                made[places] = 0
                yield _with(subject, name, made.view(np.uint8))
            parts *= 2


def lower_push_constants(subject: Subject) -> Iterator[Subject]:
    """A word of the push constants nearer to zero."""
    push = np.frombuffer(subject.dispatch.job.push_constants, np.uint8)
    addresses = {a.at // 4 + k for a in subject.dispatch.job.push_addresses for k in (0, 1)}
    for n, word in enumerate(push.view("<u4") if len(push) % 4 == 0 else ()):
        for smaller in dict.fromkeys((0, 1, int(word) // 2, int(word) - 1)) if n not in addresses else ():
            if 0 <= smaller < int(word):
                words = push.view("<u4").copy()
                words[n] = smaller
                yield subject.with_job(push_constants=words.tobytes())


def _with(subject: Subject, name: str, data: Bytes) -> Subject:
    """The subject with other contents of a buffer, in one dimension if its length changes."""
    dispatch = subject.dispatch
    old, memory = dispatch.initial[name], dispatch.job.buffers[name]
    array = np.ascontiguousarray(data).view(old.array.dtype)
    if array.size == old.array.size:
        array = array.reshape(old.array.shape)
    buffers = {**dispatch.job.buffers, name: replace(memory, data=guarded(data), start=GUARD_BYTES, size=len(data))}
    job = replace(dispatch.job, buffers=buffers)
    initial = {**dispatch.initial, name: Contents(old.type, array)}
    return Subject(subject.layout, structs.replace(dispatch, job=job, initial=initial))
