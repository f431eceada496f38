"""MUBUF, global memory and scalar loads."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from cts.drivers.amd.memory import AddressSpace
from cts.drivers.machine.memory import FILL
from cts.drivers.machine.problems import Unsupported, Wrong
from cts.drivers.vulkan.worker.protocol import Memory
from tests.amd.tables import Case, State, active, check, name
from tests.amd.test_lds_instructions import loaded, span, stored
from tests.amd.waves import address, run

LANES = range(32)
OLD = 0x0DDC0FFE
MASK = 0xF00F0F05
CONTENTS = random.Random("buffers").randbytes(1024)
BASE = address(AddressSpace([Memory(CONTENTS, 0, len(CONTENTS))]))

#: Bytes in memory, whether they are signed, and the half that they go to; None for the whole register.
LOADS: dict[str, tuple[int, bool, int | None]] = {
    "u8": (1, False, None),
    "i8": (1, True, None),
    "u16": (2, False, None),
    "i16": (2, True, None),
    "b32": (4, False, None),
    "b64": (8, False, None),
    "b96": (12, False, None),
    "b128": (16, False, None),
    "d16_u8": (1, False, 0),
    "d16_i8": (1, True, 0),
    "d16_b16": (2, False, 0),
    "d16_hi_u8": (1, False, 1),
    "d16_hi_i8": (1, True, 1),
    "d16_hi_b16": (2, False, 1),
}
STORES: dict[str, tuple[int, int]] = {
    "b8": (1, 0),
    "b16": (2, 0),
    "d16_hi_b8": (1, 1),
    "d16_hi_b16": (2, 1),
    "b32": (4, 0),
    "b64": (8, 0),
    "b96": (12, 0),
    "b128": (16, 0),
}

#: Code after the registers of data and offsets, EXEC, what the lanes' own offsets begin with, and what all add.
PLACES = [
    ("null offen", 0xFFFFFFFF, 0, 0),
    ("null offen offset:272", MASK, 0, 272),
    ("s9 offen offset:16", 0xFFFFFFFF, 0, 16 + 64),
    ("null offen offset:512", 0xFFFFFFFF, -256, 512),
]


def descriptor(size: int) -> dict[str, int]:
    """s[4:7] as the descriptor of the first bytes of the buffer, and 64 in s9."""
    return {"s[4:7]": BASE | size << 64 | 0x31016FAC << 96, "s9": 64}


def within(offset: int, size: int, records: int) -> bytes:
    """What a load finds: every word of its own, and zeros outside."""
    step = min(size, 4)
    places = range(offset, offset + size, step)
    return b"".join(CONTENTS[at : at + step] if at + step <= records else bytes(step) for at in places)


def offsets(base: int, size: int) -> list[int]:
    return [base + 16 * (31 - n) + (n % 4 if size == 1 else 0) for n in LANES]


def _old(size: int) -> int:
    return int.from_bytes(OLD.to_bytes(4, "little") * 4, "little") & (1 << 8 * max(size, 4)) - 1


def _buffer_loads() -> Iterator[Case]:
    for kind, (size, signed, half) in LOADS.items():
        target, old = span(0, size), _old(size)
        for place, exec_, base, more in PLACES:
            own = offsets(base, size)
            new = [loaded(CONTENTS[o + more : o + more + size], signed, half, old) for o in own]
            before: State = {target: old, "v8": [o & 0xFFFFFFFF for o in own], "exec": exec_, "buffer0": CONTENTS}
            after: State = {target: active(exec_, new, old)}
            yield Case(f"buffer_load_{kind} {target}, v8, s[4:7], {place}", {**before, **descriptor(1024)}, after)
        edge = [100 - size - 8 + n for n in LANES]
        found = [loaded(within(o, size, 100), signed, half, old) for o in edge]
        before = {target: old, "v8": edge, "buffer0": CONTENTS, **descriptor(100)}
        yield Case(f"buffer_load_{kind} {target}, v8, s[4:7], null offen", before, {target: found})
        far: State = {target: old, "v8": 0x80000000, "buffer0": CONTENTS, **descriptor(100)}
        zeros = loaded(bytes(size), signed, half, old)
        yield Case(f"buffer_load_{kind} {target}, v8, s[4:7], null offen", far, {target: zeros})
        uniform: State = {target: old, "buffer0": CONTENTS, **descriptor(1024)}
        one = loaded(CONTENTS[68 : 68 + size], signed, half, old)
        yield Case(f"buffer_load_{kind} {target}, off, s[4:7], s9 offset:4", uniform, {target: one})


def _buffer_stores() -> Iterator[Case]:
    source = random.Random("stores")
    for kind, (size, half) in STORES.items():
        registers = span(0, size)
        values = [source.getrandbits(8 * max(size, 4)) for _ in LANES]
        data = [(x >> 16 * half).to_bytes(16, "little")[:size] for x in values]
        for place, exec_, base, more in PLACES:
            own = offsets(base, size)
            before: State = {registers: values, "v8": [o & 0xFFFFFFFF for o in own], "exec": exec_, "buffer0": CONTENTS}
            after: State = {"buffer0": stored(CONTENTS, [o + more for o in own], data, exec_)}
            yield Case(f"buffer_store_{kind} {registers}, v8, s[4:7], {place}", {**before, **descriptor(1024)}, after)
        own, step = [16 * n for n in LANES], min(size, 4)
        records = 16 * 20 + size - step
        contents = bytearray(CONTENTS)
        for offset, written in zip(own, data, strict=True):
            for at in range(0, size, step):
                if offset + at + step <= records:
                    contents[offset + at : offset + at + step] = written[at : at + step]
        before = {registers: values, "v8": own, "buffer0": CONTENTS, **descriptor(records)}
        yield Case(f"buffer_store_{kind} {registers}, v8, s[4:7], null offen", before, {"buffer0": bytes(contents)})


def _global() -> Iterator[Case]:
    source = random.Random("global")
    for kind, (size, signed, half) in LOADS.items():
        target, old = span(0, size), _old(size)
        for exec_, text, more in ((0xFFFFFFFF, "", 0), (MASK, " offset:-8", -8), (0xFFFFFFFF, " offset:272", 272)):
            own = offsets(16, size)
            new = [loaded(CONTENTS[o + more : o + more + size], signed, half, old) for o in own]
            after: State = {target: active(exec_, new, old)}
            before: State = {target: old, "exec": exec_, "buffer0": CONTENTS}
            places: State = {"v[8:9]": [BASE + o for o in own]}
            yield Case(f"global_load_{kind} {target}, v[8:9], off{text}", {**before, **places}, after)
            places = {"v8": own}
            yield Case(f"global_load_{kind} {target}, v8, s[2:3]{text}", {**before, **places, "s[2:3]": BASE}, after)
    for kind, (size, half) in STORES.items():
        registers = span(0, size)
        values = [source.getrandbits(8 * max(size, 4)) for _ in LANES]
        data = [(x >> 16 * half).to_bytes(16, "little")[:size] for x in values]
        for exec_, text, more in ((0xFFFFFFFF, "", 0), (MASK, " offset:-8", -8), (0xFFFFFFFF, " offset:272", 272)):
            own = offsets(16, size)
            after = {"buffer0": stored(CONTENTS, [o + more for o in own], data, exec_)}
            before = {registers: values, "exec": exec_, "buffer0": CONTENTS}
            places = {"v[8:9]": [BASE + o for o in own]}
            yield Case(f"global_store_{kind} v[8:9], {registers}, off{text}", {**before, **places}, after)
            places = {"v8": own}
            yield Case(
                f"global_store_{kind} v8, {registers}, s[2:3]{text}", {**before, **places, "s[2:3]": BASE}, after
            )
    high: State = {"v8": 0xFFFFFFF0, "s[2:3]": BASE - 0xFFFFFFF0 + 32, "buffer0": CONTENTS}
    yield Case("global_load_b32 v0, v8, s[2:3]", high, {"v0": int.from_bytes(CONTENTS[32:36], "little")})
    wide: State = {"v0": OLD, "v[8:9]": BASE + 12, "exec": 1 << 40, "buffer0": CONTENTS}
    after = {"v0": active(1 << 40, int.from_bytes(CONTENTS[12:16], "little"), OLD, 64)}
    yield Case("global_load_b32 v0, v[8:9], off", wide, after, {"lanes": 64})


def _scalar() -> Iterator[Case]:
    for bits in (32, 64, 96, 128, 256, 512):
        size = bits // 8
        target = "s16" if bits == 32 else f"s[16:{15 + bits // 32}]"
        for code, place in (
            ("s[2:3], 0x0", 0),
            ("s[2:3], 0x44", 0x44),
            ("s[2:3], s9", 64),
            ("s[2:3], s9 offset:0x10", 80),
            ("s[2:3], null", 0),
        ):
            before: State = {"s[2:3]": BASE, "s9": 64, "buffer0": CONTENTS}
            found = int.from_bytes(CONTENTS[place : place + size], "little")
            yield Case(f"s_load_b{bits} {target}, {code}", before, {target: found})
        for records, code, place in (
            (1024, "0x8", 8),
            (1024, "s9 offset:0x4", 68),
            (96, "s9 offset:0x10", 80),
            (96, "0x60", 96),
            (96, "0x1000", 4096),
        ):
            data = b"".join(
                CONTENTS[at : at + 4] if at + 4 <= records else bytes(4) for at in range(place, place + size, 4)
            )
            before = {**descriptor(records), "buffer0": CONTENTS}
            yield Case(
                f"s_buffer_load_b{bits} {target}, s[4:7], {code}", before, {target: int.from_bytes(data, "little")}
            )
    word = int.from_bytes(CONTENTS[64:68], "little")
    # The two lowest bits of every part of an address are ignored.
    yield Case(
        "s_load_b32 s16, s[2:3], s9 offset:0x3", {"s[2:3]": BASE + 3, "s9": 67, "buffer0": CONTENTS}, {"s16": word}
    )
    # Bytes have any address; of halves the lowest bit of each part of an address is ignored. Byte n is 128 + n.
    rising: State = {**descriptor(72), "s[2:3]": BASE, "s9": 67, "buffer0": bytes(range(128, 256))}
    byte, half = 128 + 70, 128 + 70 | 128 + 71 << 8
    for kind, offset, value in (
        ("u8", 3, byte),
        ("i8", 3, byte - (1 << 8) & 0xFFFFFFFF),
        ("u16", 4, half),
        ("u16", 5, half),
        ("i16", 4, half - (1 << 16) & 0xFFFFFFFF),
    ):
        yield Case(f"s_load_{kind} s16, s[2:3], s9 offset:{offset:#x}", rising, {"s16": value})
        yield Case(f"s_buffer_load_{kind} s16, s[4:7], s9 offset:{offset:#x}", rising, {"s16": value})
        yield Case(f"s_buffer_load_{kind} s16, s[4:7], s9 offset:0x6", {**rising, "s16": 9}, {"s16": 0})  # beyond
    unaligned: State = {**descriptor(1024), "s9": 67, "buffer0": CONTENTS}
    yield Case("s_buffer_load_b32 s16, s[4:7], s9 offset:0x3", unaligned, {"s16": word})
    before = {"s[2:3]": BASE + 128, "buffer0": CONTENTS}
    yield Case("s_load_b64 s[2:3], s[2:3], 0x0", before, {"s[2:3]": int.from_bytes(CONTENTS[128:136], "little")})
    yield Case("s_load_b32 vcc_lo, s[2:3], 0x0", before, {"vcc": int.from_bytes(CONTENTS[128:132], "little")})


def _transposed() -> Iterator[Case]:
    """A matrix of 16 rows: each of 32 lanes has the address of half a row, and gets half a column or a quarter.

    Groups of lanes, 8 for halves and 4 for bytes, have the addresses of the same half of adjoining rows.
    """
    for size, group in ((2, 8), (1, 4)):
        matrix = [[CONTENTS[(16 * r + c) * size : (16 * r + c + 1) * size] for c in range(16)] for r in range(16)]
        addresses = []
        for lane in LANES:
            row, half = lane // (2 * group) * group + lane % group, lane // group % 2
            addresses.append((16 * row + 8 * half) * size)
        for lanes in (32, 64):
            count = 8 if lanes == 32 else 4
            columns = []
            for lane in range(lanes):
                first = lane % 32 // 16 * 8 + lane // 32 * 4
                columns.append(int.from_bytes(b"".join(matrix[first + e][lane % 16] for e in range(count)), "little"))
            target, bits = span(0, count * size), 64 * size
            own = [BASE + a for a in addresses] + [0] * (lanes - 32)
            before: State = {"v[8:9]": own, "buffer0": CONTENTS}
            yield Case(f"global_load_tr_b{bits} {target}, v[8:9], off", before, {target: columns}, {"lanes": lanes})
            own = [a + 8 for a in addresses] + [0] * (lanes - 32)
            before = {"v8": own, "s[2:3]": BASE, "buffer0": CONTENTS}
            code = f"global_load_tr_b{bits} {target}, v8, s[2:3] offset:-8"
            yield Case(code, before, {target: columns}, {"lanes": lanes})
    idle: State = {"v0": OLD, "v1": OLD, "v2": OLD, "v3": OLD, "v[8:9]": 0, "exec": 0, "buffer0": CONTENTS}
    yield Case("global_load_tr_b128 v[0:3], v[8:9], off", idle, {})


CASES = [*_buffer_loads(), *_buffer_stores(), *_global(), *_scalar(), *_transposed()]


@pytest.mark.family("case", CASES, ids=name)
def test_memory(case: Case) -> None:
    check(case)


def test_halves_of_a_wave_are_transposed_by_eight_lanes() -> None:
    """Of halves, eight lanes get the columns of the eight rows that they have the addresses of."""
    places = [BASE + 16 * n for n in LANES]
    w = run("global_load_tr_b128 v[0:3], v[8:9], off", v=_pair(places), buffers=[CONTENTS])
    for lane in LANES:
        for element in range(8):
            at = 16 * (lane // 8 * 8 + element) + 2 * (lane % 8)
            found = int(w.v[element // 2, lane]) >> 16 * (element % 2) & 0xFFFF
            assert found == int.from_bytes(CONTENTS[at : at + 2], "little")


def _pair(values: Sequence[int]) -> dict[int, list[int]]:
    return {8: [x & 0xFFFFFFFF for x in values], 9: [x >> 32 for x in values]}


@pytest.mark.parametrize("code", ["global_load_b32 v0, v[8:9], off", "global_store_b32 v[8:9], v0, off"])
def test_an_address_where_no_memory_is(code: str) -> None:
    with pytest.raises(Wrong, match=rf"4 bytes at address 0x64, where no memory is, at line 1, {code[:12]}"):
        run(code, v={0: 0, 8: 100, 9: 0}, buffers=[CONTENTS])


def test_a_scalar_load_where_no_memory_is() -> None:
    with pytest.raises(Wrong, match="8 bytes at address 0x64, where no memory is"):
        run("s_load_b64 s[0:1], s[2:3], 0x0", s={2: 100, 3: 0}, buffers=[CONTENTS])


def test_a_load_with_transpose_needs_all_lanes() -> None:
    with pytest.raises(Wrong, match="inactive lanes"):
        run("global_load_tr_b128 v[0:3], v[8:9], off", v=_pair([BASE] * 32), exec=0xFFFF, buffers=[CONTENTS])


def test_what_a_load_with_transpose_does_not_fit() -> None:
    with pytest.raises(Unsupported, match="4 registers of a load with transpose"):
        run("global_load_tr_b128 v[0:3], v[8:9], off", lanes=64)


def test_buffers_of_records_are_not_known() -> None:
    with pytest.raises(Unsupported, match="a buffer access by index, at line 1"):
        run("buffer_load_b32 v0, v1, s[4:7], null idxen")
    with pytest.raises(Wrong, match="a descriptor with a stride"):
        run("buffer_load_b32 v0, v1, s[4:7], null offen", s={4: 0, 5: 4 << 16, 6: 100, 7: 0}, v={1: 0})


def test_a_scalar_load_may_be_of_more_words_than_there_are_push_constants() -> None:
    space = AddressSpace([Memory(CONTENTS, 0, len(CONTENTS))])
    _, constants = space.describe([], bytes(range(24)))
    assert space.read_one(constants + 8, 64, "") == bytes(range(8, 24)) + bytes([FILL]) * 48
    with pytest.raises(Wrong, match="a load of 64 bytes at address"):
        space.read_one(constants + 4096 - 60, 64, "")
