"""Waves for tests: instructions as text, registers before them, registers after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cts.drivers.amd import isa
from cts.drivers.amd.interface import Interface
from cts.drivers.amd.listing import parse
from cts.drivers.amd.machine import Dispatch, Program
from cts.drivers.amd.memory import AddressSpace, Lds
from cts.drivers.amd.modes import USUAL, Freedoms, Modes
from cts.drivers.amd.registry import Context, step
from cts.drivers.amd.wave import Wave, Workgroup
from cts.drivers.vulkan.worker.protocol import Memory

#: A value of a vector register: one for all lanes, or one for each.
Lanes = int | Sequence[int]

#: Those of code that asks for nothing.
MODES = Modes()


def run(
    code: str | Sequence[str],
    s: Mapping[int, int] = {},
    v: Mapping[int, Lanes] = {},
    *,
    lanes: int = 32,
    exec: int | None = None,  # noqa: A002 the name of the register
    vcc: int = 0,
    scc: int = 0,
    modes: Modes = MODES,
    lds: bytes | int = 0,
    buffers: Sequence[bytes] = (),
    vectors: int = 64,
    generation: int = 4,
    freedoms: Freedoms = USUAL,
) -> Wave:
    """The wave after instructions, one a line; the end of the program is added. All loads are delivered by then.

    `buffers` are memory whose addresses `address` gives; `generation` is that of RDNA. Raises the executor's problems.
    """
    isa.load()
    text = code if isinstance(code, str) else "\n".join(code)
    listing = parse(text + "\ns_wait_idle\ns_endpgm\n")
    context = Context(lanes, modes, listing.labels, generation, freedoms)
    program = Program(
        Interface((lanes, 1, 1), lanes, 0, 0, ()),
        tuple(step(i, context) for i in listing.instructions),
        vectors,
        listing,
    )
    size = lds if isinstance(lds, int) else len(lds)
    memory = AddressSpace([Memory(b, 0, len(b)) for b in buffers])
    group = Workgroup((0, 0, 0), Lds(size), memory)
    if not isinstance(lds, int):
        group.lds.data[:] = np.frombuffer(lds, np.uint8)
    w = Wave(lanes, group, (1 << lanes) - 1, vectors)
    for number, value in s.items():
        w.s[number] = value & 0xFFFFFFFF
    for number, values in v.items():
        w.v[number] = np.asarray(values, np.int64).astype(np.uint32)
    w.s[106], w.s[107] = vcc & 0xFFFFFFFF, vcc >> 32
    w.scc = scc
    w.written = set(range(512))
    if exec is not None:
        w.set_exec(exec)
    dispatch = Dispatch(program, memory, 100_000, float("inf"))
    with np.errstate(all="ignore"):
        while not w.done:
            w.waits = False
            dispatch._until_barrier(w)
    return w


def address(w: AddressSpace | Wave, buffer: int = 0) -> int:
    """Where a buffer is."""
    return (w if isinstance(w, AddressSpace) else w.group.memory).window(buffer)


def pair(value: int, first: int) -> dict[int, int]:
    """A value of 64 bits in two scalar registers."""
    return {first: value & 0xFFFFFFFF, first + 1: value >> 32}


def f32(x: float) -> int:
    """The bits of a single."""
    return int(np.float32(x).view(np.uint32))


def f16(x: float) -> int:
    """The bits of a half."""
    return int(np.float16(x).view(np.uint16))
