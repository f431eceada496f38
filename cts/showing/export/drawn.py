"""A drawn program as data that needs nothing of this suite: words or source, inputs, allowed memory, facts, needs."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from cts.case.model import GUARD_BYTES, Case
from cts.case.oracle.expectation import Allowed, Expectation
from cts.device.job import ModuleJob
from cts.plugins import registry

Base64 = Annotated[str, Meta(description="bytes in base 64, little-endian")]


class Interval(Struct, frozen=True, omit_defaults=True):
    """Elements with more than one allowed value: bits in the closed interval from `lo` to `hi` in numeric order.

    `at` are byte offsets. `flags`: 1 any value, 2 also NaN, 4 also either zero. Of `step`, if it is not 0, only
    multiples are allowed.
    """

    type: str
    at: list[int]
    lo: list[int]
    hi: list[int]
    flags: list[int]
    step: list[float] = []


class Same(Struct, frozen=True):
    """Elements whose bits must be the same as those of others in their `group`, or NaNs all of them."""

    type: str
    at: list[int]
    group: list[int]


class Buffer(Struct, frozen=True, omit_defaults=True):
    """A buffer: its bytes before, and after if it changes.

    Elements in `intervals` may have other values than `after`, or `before` if there is no `after`; `same` must hold
    beside. `addresses` are places of 64-bit device addresses that the caller writes: that of buffer `of`, and `offset`.
    """

    type: str
    shape: list[int]
    before: Base64
    after: Base64 | None = None
    intervals: list[Interval] = []
    same: list[Same] = []
    addresses: list[dict[str, Any]] = []


class Program(Struct, frozen=True, omit_defaults=True):
    """A compute program for Vulkan 1.3.

    `file` holds the module or the source. `bindings` are [set, binding, buffer]. `spec_constants` are the bytes of
    constants by SpecId, as hexadecimal digits, little-endian. `push_addresses` are device addresses in the push
    constants. `facts` are numbers of docs/facts.md. `needs`, `opaque` and `conversions` have the numbers of Vulkan
    and SPIR-V: `cts/plugins/needs.py` and `cts/device/job.py` describe their fields.
    """

    name: str
    area: str
    seed: int
    number: int
    suite: str
    content_hash: str
    file: str
    entry: str
    workgroups: tuple[int, int, int]
    local_size: tuple[int, int, int]
    bindings: list[tuple[int, int, str]]
    buffers: dict[str, Buffer]
    facts: list[str]
    needs: dict[str, Any]
    schema: int = 1
    times: int = 1
    subgroup_size: int | None = None
    spec_constants: dict[str, str] = {}
    push_constants: str = ""
    push_addresses: list[dict[str, Any]] = []
    robust: bool = False
    robust2: bool = False
    opaque: dict[str, Any] = {}
    conversions: list[dict[str, Any]] = []


def program(
    case: Case,
    expectation: Expectation,
    job: ModuleJob,
    facts: list[str],
    *,
    area: str,
    seed: int,
    number: int,
    file: str,
    suite: str,
) -> Program:
    """A case as data; `file` is the name of the file with its module or source."""
    needs = registry.needs()(job)
    return Program(
        name=case.name,
        area=area,
        seed=seed,
        number=number,
        suite=suite,
        content_hash=case.content_hash,
        file=file,
        entry=job.entry,
        workgroups=job.workgroups,
        local_size=needs.local_size,
        bindings=[(s, b, name) for (s, b), name in job.bindings.items()],
        buffers={name: _buffer(name, case, expectation, job) for name in job.buffers},
        facts=facts,
        needs=_plain(needs),
        times=job.times,
        subgroup_size=job.subgroup_size,
        spec_constants={str(number): data.hex() for number, data in job.spec_constants.items()},
        push_constants=job.push_constants.hex(),
        push_addresses=[_plain(address) for address in job.push_addresses],
        robust=job.robust,
        robust2=job.robust2,
        opaque={name: _plain(memory) for name, memory in job.opaque.items()},
        conversions=[_plain(conversion) for conversion in job.conversions],
    )


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value)


def _buffer(name: str, case: Case, expectation: Expectation, job: ModuleJob) -> Buffer:
    """A buffer of the case; the words that the module gets as parameters are one more, which does not change."""
    memory = job.buffers[name]
    before = memory.data[GUARD_BYTES : len(memory.data) - GUARD_BYTES]
    addresses = [_plain(address) for address in memory.addresses]
    if name not in case.buffers:
        return Buffer("uint32", [len(before) // 4], _base64(before.tobytes()), addresses=addresses)
    buffer, allowed = case.buffers[name], expectation.buffers[name]
    shape = [*buffer.shape, *([buffer.components] if buffer.components > 1 else [])]
    changed = (allowed.exact != before).any()
    after = _base64(allowed.exact.tobytes()) if changed else None
    return Buffer(
        buffer.type.value, shape, _base64(before.tobytes()), after, _intervals(allowed), _same(allowed), addresses
    )


def _intervals(allowed: Allowed) -> list[Interval]:
    return [
        Interval(
            group.component.value, group.offsets.tolist(), group.lo.tolist(), group.hi.tolist(), group.flags.tolist(),
            group.step.tolist() if group.step is not None else [],
        )
        for group in allowed.intervals
    ]  # fmt: skip


def _same(allowed: Allowed) -> list[Same]:
    return [Same(g.component.value, g.offsets.tolist(), g.group.tolist()) for g in allowed.identical]


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
