"""Threads for tests: instructions as text, registers before them, registers after them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from cts.drivers.intel import isa
from cts.drivers.intel.interface import Interface
from cts.drivers.intel.listing import parse
from cts.drivers.intel.machine import Dispatch, Program
from cts.drivers.intel.memory import AddressSpace, Surface
from cts.drivers.intel.registry import Context, step
from cts.drivers.intel.thread import DTYPES, Thread, Workgroup
from cts.drivers.machine.memory import BASE, Lds
from cts.drivers.vulkan.worker.protocol import Memory

#: What ends a thread.
END = "(W) send.gtwy (32) null r127 null:0 0x00000000 0x02000000 {EOT}"

#: Register, type, and numbers from its first element on.
Given = Mapping[tuple[int, str], Sequence[float]]

NOTHING: Given = {}
NO_FLAGS: Mapping[int, int] = {}


def run(
    code: str,
    r: Given = NOTHING,
    *,
    lanes: int = 32,
    present: int | None = None,
    grf: int = 64,
    control: int = 0x480,
    flags: Mapping[int, int] = NO_FLAGS,
    shared: bytes = b"",
    buffers: Sequence[bytes] = (),
    max_steps: int = 10_000,
    wraps: bool = True,
    nearest: bool = True,
) -> Thread:
    """The thread after instructions, one a line, of which all are waited for. Raises the executor's problems.

    `buffers` are the surfaces of the binding table in their order, `flags` the bits of flag registers by their number.
    `control` is cr0, by default with denormal numbers kept; `wraps` and `nearest` as in Context.
    """
    isa.load()
    listing = parse(f"{code}\n(W) sync.allwr (1) null {{A@1}}\n{END}\n")
    context = Context(grf, listing.labels, wraps, nearest)
    steps = tuple(step(i, context) for i in listing.instructions)
    program = Program(Interface((lanes, 1, 1), lanes, len(shared), True, (), {}), steps, listing, grf)
    memory = AddressSpace([Memory(b, 0, len(b)) for b in buffers], exact=True)
    surfaces = {n: Surface(memory.window(n) - BASE, len(b)) for n, b in enumerate(buffers)}
    group = Workgroup((0, 0, 0), Lds(len(shared)), memory, surfaces)
    group.shared.data[:] = np.frombuffer(shared, np.uint8)
    t = Thread(lanes, group, lanes if present is None else present, grf)
    t.control = control
    t.written = (1 << 512) - 1
    for (register, kind), values in r.items():
        start = register * grf // DTYPES[kind]().itemsize
        t.views[kind][start : start + len(values)] = values
    for number, bits in flags.items():
        t.flags[32 * number : 32 * number + 32] = [bits >> n & 1 for n in range(32)]
    with np.errstate(all="ignore"):
        Dispatch(program, memory, max_steps, time.monotonic() + 60)._until_barrier(t)
    return t


def seen(t: Thread, register: int, kind: str, count: int, part: int = 0) -> list[float]:
    """Elements of a register from `part` on."""
    start = register * t.grf // DTYPES[kind]().itemsize + part
    values: list[float] = t.views[kind][start : start + count].tolist()
    return values
